package explore

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/server"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file brings commands to Redis and answers to clients, in time, late or never.

// deliver brings a client's command to Redis and its answer to the client, unless the choice says that one of them is
// lost. It returns true if Redis keeps the command, so that there is no answer yet.
func (ex *execution) deliver(c interleave.Choice, a *actor) (heard event, kept bool, err error) {
	if ex.recalls {
		heard, err = ex.recallDelivery(c, a)
		return heard, false, err
	}
	gate := a.parkedAt.conn
	before := len(gate.out)
	if kept, err = ex.deliverReally(c, a); err != nil || kept {
		return heard, kept, err
	}
	switch {
	case gate.failed == nil:
		heard = event{kind: answered, text: string(gate.out[before:])}
	case gate.failed == errUnanswered:
		heard.kind = unanswered
	case gate.failed == errLost:
		heard.kind = cut
	default:
		ex.memory.disable("a connection fails: %v", gate.failed)
	}
	return heard, false, nil
}

// deliverReally does so with the real client and the real Redis. It returns true if Redis keeps the command.
func (ex *execution) deliverReally(c interleave.Choice, a *actor) (kept bool, err error) {
	gate := a.parkedAt.conn
	if a.lost != nil && bytes.Equal(a.lost, gate.queue[0].Raw) {
		ex.noteSituation(harness.SentAgain)
	}
	switch c.Kind() {
	case interleave.LosesAnswers:
		ex.remaining.LostAnswers--
		if gate.queue[0].Changes() {
			a.lost = gate.queue[0].Raw
		}
		if kept, err = ex.sendNext(a, gate); kept { // the connection breaks before there is an answer
			err = errors.Join(err, ex.cutOff(gate, errUnanswered))
			gate.release()
			a.wakeAt = 0
		}
		gate.out, gate.failed = nil, errUnanswered
		ex.trace.unanswered("the answer is lost")
		ex.noteSituation(harness.AnswerLost)
		return false, err
	case interleave.LosesCommands:
		ex.remaining.LostCommands--
		ex.trace.unsent(ex, gate.queue[0], "the command is lost")
		gate.failed = errUnanswered
		ex.noteSituation(harness.CommandLost)
	case interleave.Delays:
		ex.remaining.Late--
		ex.trace.unsent(ex, gate.queue[0], "no answer: the command is late")
		left, err := gate.giveUp()
		if err != nil {
			return false, err
		}
		left.client, left.at, left.arrived = a.index, len(ex.path), left.wire == nil
		if !left.arrived {
			left.watched, a.watched = takeWatched(left.gate, a.watched)
		}
		ex.lateCommands = append(ex.lateCommands, left)
	default:
		return ex.sendNext(a, gate)
	}
	return false, nil
}

// arrive executes a command that its client has given up.
func (ex *execution) arrive(n int) (did schedule.Move, err error) {
	if n >= len(ex.lateCommands) || ex.lateCommands[n].arrived {
		return did, fmt.Errorf("%w: there is no late command %d", schedule.ErrDiverged, n+1)
	}
	l := &ex.lateCommands[n]
	l.arrived = true
	ex.noteSituation(harness.CommandLate)
	did.Access = l.access()
	if ex.recalls {
		return did, ex.recallArrival(l)
	}
	for _, c := range l.commands {
		reply, err := ex.executeAndLearn(l, c)
		if err != nil {
			return did, err
		}
		ex.trace.arrived(ex, *l, c, reply)
		ex.noteEffects(c, reply)
	}
	return did, nil
}

// executeAndLearn executes a late command and keeps its outcome.
func (ex *execution) executeAndLearn(l *lateCommand, c command.Command) (reply []byte, err error) {
	if c.WantedAcks() > 0 || ex.memory == nil {
		return ex.executeLate(l, c)
	}
	lesson, err := ex.beginLearning(&c, l.gate, nil, l.watched)
	if err != nil {
		return nil, err
	}
	if reply, err = ex.executeLate(l, c); err == nil {
		err = ex.finishLearning(lesson, reply)
	}
	return reply, err
}

// executeLate executes a late command. One that Redis would keep finds its connection closed instead of an answer.
func (ex *execution) executeLate(l *lateCommand, c command.Command) (reply []byte, err error) {
	if !c.Blocks() {
		return l.wire.Ask(c.Raw, 1)
	}
	id, err := l.wire.ID()
	if err == nil {
		err = ex.w.Post(l.wire, l.node, c.WithoutTimeout())
	}
	if err == nil {
		_, err = ex.w.Ask(l.node, "PING")
	}
	if err == nil {
		_, err = ex.w.Ask(l.node, "PING")
	}
	if err == nil {
		reply, err = l.wire.Poll()
	}
	if err != nil || len(reply) > 0 {
		return reply, err
	}
	_, err = ex.w.Ask(l.node, "CLIENT", "KILL", "ID", id)
	return []byte("*-1\r\n"), err
}

// sendNext sends the next command of a connection and looks at the reply. It returns true if Redis keeps the command.
func (ex *execution) sendNext(a *actor, c *conn) (kept bool, err error) {
	next := c.queue[0]
	switch {
	case next.Monitors():
		return false, schedule.Stopped("client %d's %s shows what others do, which cannot be explored", a.index+1, strings.ToUpper(command.Name(next.Args)))
	case ex.w.Scripts.ReadsIdleTime(next.Args):
		return false, schedule.Stopped("client %d's %s asks how long a key was not used, which Redis measures by the machine's time and not by the schedule's: put it under load instead", a.index+1, strings.ToUpper(command.Name(next.Args)))
	case c.goesWithMessages():
		return false, ex.sendSubscribing(a, c)
	case next.Blocks() && !c.multi:
		return ex.sendBlocking(a, c)
	}
	before := len(c.out)
	lesson, err := ex.beginLearningNext(a, c)
	if err != nil {
		return false, err
	}
	if err := c.send(); err != nil {
		return false, err
	}
	reply := c.out[before:]
	if c.failed == nil {
		if err := ex.finishLearning(lesson, reply); err != nil {
			return false, err
		}
	}
	ex.trace.sent(ex, next, reply, c.failed)
	ex.waitCutShort = ex.waitCutShort || ex.lacksAcks(next, reply)
	ex.noteEffects(next, reply)
	if wait := next.WaitTimeout(); wait > 0 && next.WantedAcks() > ex.hearingReplicas() {
		return false, ex.passTo(ex.now + wait)
	}
	return false, nil
}

// noteEffects notes the effects of an executed command on what can happen next.
func (ex *execution) noteEffects(c command.Command, reply []byte) {
	if c.Changes() {
		ex.endsKnown = false
		ex.wroteSinceStop = ex.wroteSinceStop || ex.replicationStopped
	}
	ex.noteClock(c)
	if saysNoScript(reply) {
		ex.noteSituation(harness.ScriptMissing)
		if ex.recalls {
			return
		}
		ex.missesScript = ex.missesScript || ex.w.Primary == server.FirstPrimary && !ex.w.Flushed
	}
}

// noteClock notes whether a command gives a key a TTL or depends on the time of day.
func (ex *execution) noteClock(c command.Command) {
	if ex.recalls && c.Meaning != nil {
		ex.TTLSet, ex.ClockRead = ex.TTLSet || c.Meaning.Sets, ex.ClockRead || c.Meaning.Clock
		return
	}
	ex.TTLSet = ex.TTLSet || c.SetsTTL()
	if c.Scripts && !ex.recalls {
		ex.w.Scripts.Learn(c.Args)
	}
	ex.ClockRead = ex.ClockRead || ex.w.Scripts.ReadsClock(c.Args)
}

// beginLearningNext prepares to keep the outcome of the next command of a connection.
func (ex *execution) beginLearningNext(a *actor, c *conn) (*pendingOutcome, error) {
	if !ex.learns() || c.isGone() || ex.losesState(c) {
		return nil, nil
	}
	return ex.beginLearning(&c.queue[0], c, a, a.watched)
}

// lacksAcks reports whether a WAIT got fewer acknowledgements than it asked for, or than there are replicas that hear the primary
// if those are fewer.
func (ex *execution) lacksAcks(c command.Command, reply []byte) bool {
	wanted := min(c.WantedAcks(), ex.hearingReplicas())
	got, err := resp.Integer(reply)
	return wanted > 0 && err == nil && got < wanted
}
