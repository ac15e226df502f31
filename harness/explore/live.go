package explore

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/server"
	"github.com/doublegrant/doublegrant/harness/explore/internal/visited"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// live makes schedules happen with real clients and a real Redis.
type live struct{ ex *execution }

func (b live) tell(a *actor, heard model.Event) error {
	a.heard = heard
	b.ex.hear(a, heard)
	if a.parkedAt.Kind == model.InCommand {
		a.parkedAt.conn.reply <- true
	} else {
		a.awake <- true
	}
	return b.ex.awaitClient(a)
}

// crash tells all threads of a client, which are parked, that it has crashed. Their goroutines go on to their end, but its
// connections send nothing more.
func (b live) crash(client int) error {
	main := b.ex.actors[client]
	if kill := b.ex.spec.Program.Kill; kill != nil && client < len(b.ex.w.gates.addresses) {
		kill(b.ex.w.gates.addresses[client])
	}
	b.ex.hear(main, model.Event{Kind: model.Crashed})
	for _, c := range b.ex.waitersOf(client) {
		if err := b.ex.cutOff(c, errCrashed); err != nil {
			return err
		}
	}
	var told []*actor
	for _, a := range b.ex.threadsOf(client) {
		a.heard = model.Event{Kind: model.Crashed}
		switch {
		case a.done || a.astray: // there is nobody to tell
			continue
		case a.sends != nil:
			a.done = true
			continue
		case a.parkedAt.Kind == model.InCommand || a.parkedAt.Kind == model.InRead:
			a.parkedAt.conn.reply <- false
		default:
			a.awake <- false
		}
		told = append(told, a)
	}
	var first error
	for _, a := range told { // each has been told, so each is waited for
		first = cmp.Or(first, b.ex.awaitClient(a))
	}
	return first
}

func (b live) send(a *actor) (heard model.Event, kept bool, err error) {
	gate := a.parkedAt.conn
	before := len(gate.out)
	if kept, err = b.sendNext(a, gate); err != nil || kept {
		return heard, kept, err
	}
	if gate.failed == nil {
		return model.Event{Kind: model.Answered, Text: string(gate.out[before:])}, false, nil
	}
	return b.whyFailed(gate), false, nil
}

// whyFailed returns what a client hears of a connection that fails. A failure that memory does not know ends its use.
func (b live) whyFailed(gate *conn) (heard model.Event) {
	switch gate.failed {
	case errUnanswered:
		heard.Kind = model.Unanswered
	case errLost:
		heard.Kind = model.Cut
	default:
		b.ex.memory.Disable("a connection fails: %v", gate.failed)
	}
	return heard
}

func (b live) sendUnanswered(a *actor) error {
	gate := a.parkedAt.conn
	kept, err := b.sendNext(a, gate)
	if kept { // the connection breaks before there is an answer
		err = errors.Join(err, b.ex.cutOff(gate, errUnanswered))
		gate.release()
		a.wakeAt = 0
	}
	gate.out, gate.failed = nil, errUnanswered
	return err
}

func (b live) drop(a *actor) { a.parkedAt.conn.failed = errUnanswered }

func (b live) giveUp(a *actor) (left lateCommand, heard model.Event, err error) {
	gate := a.parkedAt.conn
	if left, err = gate.giveUp(); err != nil {
		return left, heard, err
	}
	left.arrived = left.wire == nil
	return left, b.whyFailed(gate), nil
}

func (b live) execute(l *lateCommand) error {
	for _, c := range l.commands {
		reply, err := b.executeAndLearn(l, c)
		if err != nil {
			return err
		}
		b.ex.trace.Arrived(l.client, c, reply)
		b.noteReply(c, reply)
	}
	return nil
}

// executeAndLearn executes a late command and keeps its outcome.
func (b live) executeAndLearn(l *lateCommand, c command.Command) (reply []byte, err error) {
	if c.WantedAcks() > 0 || b.ex.memory == nil {
		return b.executeLate(l, c)
	}
	lesson, err := b.ex.beginLearning(&c, l.pending, nil, l.watched)
	if err != nil {
		return nil, err
	}
	if reply, err = b.executeLate(l, c); err == nil {
		err = b.ex.finishLearning(lesson, reply)
	}
	return reply, err
}

// executeLate executes a late command. One that Redis would keep finds its connection closed instead of an answer.
func (b live) executeLate(l *lateCommand, c command.Command) (reply []byte, err error) {
	if !c.Blocks() {
		return l.wire.Ask(c.Raw, 1)
	}
	id, err := l.wire.ID()
	if err == nil {
		err = b.ex.w.Post(l.wire, l.node, c.WithoutTimeout())
	}
	if err == nil {
		_, err = b.ex.w.Ask(l.node, "PING") // Redis has read it by then: see conn.listen
	}
	if err == nil {
		_, err = b.ex.w.Ask(l.node, "PING") // and what it brings about has come
	}
	if err == nil {
		reply, err = l.wire.Poll()
	}
	if err != nil || len(reply) > 0 {
		return reply, err
	}
	_, err = b.ex.w.Ask(l.node, "CLIENT", "KILL", "ID", id)
	return []byte("*-1\r\n"), err
}

// sendNext sends the next command of a connection and looks at the reply. It returns true if Redis keeps the command.
func (b live) sendNext(a *actor, c *conn) (kept bool, err error) {
	next := c.Queue[0]
	switch {
	case next.Monitors():
		return false, schedule.Stopped("client %d's %s shows what others do, which cannot be explored", a.index+1, strings.ToUpper(command.Name(next.Args)))
	case b.ex.w.Scripts.ReadsIdleTime(next.Args):
		return false, schedule.Stopped("client %d's %s asks how long a key was not used, which Redis measures by the machine's time and not by the schedule's: put it under load instead", a.index+1, strings.ToUpper(command.Name(next.Args)))
	case c.goesWithMessages():
		return false, b.ex.sendSubscribing(a, c)
	case next.Blocks() && !c.Multi:
		return b.ex.sendBlocking(a, c)
	}
	before := len(c.out)
	lesson, err := b.beginLearningNext(a, c)
	if err != nil {
		return false, err
	}
	if err := c.send(); err != nil {
		return false, err
	}
	reply := c.out[before:]
	if c.failed == nil {
		if err := b.ex.finishLearning(lesson, reply); err != nil {
			return false, err
		}
	}
	b.ex.trace.Sent(next, reply, c.failed)
	b.ex.waitCutShort = b.ex.waitCutShort || b.lacksAcks(next, reply)
	b.noteReply(next, reply)
	if wait := next.WaitTimeout(); wait > 0 && next.WantedAcks() > b.ex.hearingReplicas() {
		return false, b.ex.passTo(b.ex.now + wait)
	}
	return false, nil
}

// noteReply notes the effects of a command that was executed, and what its reply tells of the scripts at Redis.
func (b live) noteReply(c command.Command, reply []byte) {
	if c.Scripts {
		b.ex.w.Scripts.Learn(c.Args)
	}
	b.ex.noteEffects(c, reply)
	if saysNoScript(reply) {
		b.ex.missesScript = b.ex.missesScript || b.ex.w.Primary == server.FirstPrimary && !b.ex.w.Flushed
	}
}

// beginLearningNext prepares to keep the outcome of the next command of a connection.
func (b live) beginLearningNext(a *actor, c *conn) (*pendingOutcome, error) {
	if !b.ex.learns() || c.isGone() || b.ex.losesState(&c.Pending) {
		return nil, nil
	}
	return b.ex.beginLearning(c.Next(), &c.Pending, a, a.watched)
}

// lacksAcks reports whether a WAIT got fewer acknowledgements than it asked for, or than there are replicas that hear the primary
// if those are fewer.
func (b live) lacksAcks(c command.Command, reply []byte) bool {
	wanted := min(c.WantedAcks(), b.ex.hearingReplicas())
	got, err := resp.Integer(reply)
	return wanted > 0 && err == nil && got < wanted
}

func (b live) change(c interleave.Choice) error {
	b.ex.changeStore(c)
	switch c {
	case interleave.StopReplication:
		return b.ex.w.StopReplication()
	case interleave.Promote:
		b.ex.endsKnown = false
		if err := b.ex.w.Promote(b.ex.now); err != nil {
			return err
		}
		return b.ex.loseWaits()
	default:
		return b.ex.w.Flush()
	}
}

func (b live) endStep() error { return b.ex.listen() }

func (b live) setTime() { b.ex.w.SetTime(b.ex.now) }

func (b live) passTime(from, to time.Duration) error {
	if !b.ex.w.SetsClocks() {
		b.ex.endsKnown = false
	}
	return b.ex.w.PassTime(from, to)
}

// keyEnds asks Redis only if some command may have changed them.
func (b live) keyEnds() (_ []keyspace.End, err error) {
	if !b.ex.endsKnown {
		b.ex.ends, err = b.ex.w.KeyEnds(b.ex.now, b.ex.roundingUnit())
		b.ex.endsKnown = err == nil
	}
	return b.ex.ends, err
}

func (b live) look(ctx context.Context, began model.Event, look func(context.Context)) error {
	b.ex.beginObservation(began)
	b.ex.askForProgram(ctx, look)
	b.ex.observationAsks(model.Ask{Kind: model.AsksNothing})
	return nil
}

func (b live) fingerprintAfter(c interleave.Choice) uint64 { return b.ex.fingerprintWith(c) }

func (b live) hasState() (bool, error) { return b.ex.seesState() }

func (b live) describe(text []byte) []byte {
	return b.ex.appendTrails(visited.AppendBools(text, false))
}

func (b live) lasts() bool { return true }
