package explore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/server"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// live runs a schedule with real clients and a real Redis.
type live struct {
	modelled
	learning bool // the model learns from this schedule
	// current call of Observe or Finally; nil: there is none, or the model does not learn from it
	observation *observation

	member func(i int) harness.Client // makes the clients of the process that is being started

	running   *actor         // the actor that the scheduler waits for; nil: none
	waiters   []*conn        // connections on which something may arrive: a blocked command, a subscription
	failure   error          // why the schedule cannot go on, found in a client's goroutine; nil: no reason
	ends      []keyspace.End // when keys expire; valid if endsKnown
	endsKnown bool
	stored    []keyspace.Key // keys with values; valid if not nil. Some may have expired since
	trails    *trails        // what identifies the schedule's state; nil: not needed
	leases    givenLeases
}

func (ex *live) notify(a *actor, event model.Event) error {
	a.lastEvent = event
	ex.noteEvent(a, event)
	if a.parkedAt.Kind == model.InCommand {
		a.parkedAt.conn.reply <- true
	} else {
		a.awake <- true
	}
	return ex.awaitClient(a)
}

// crash tells all threads of a client, which are parked, that it has crashed. Their goroutines run to their ends, but
// the client's connections send nothing more.
func (ex *live) crash(client int) error {
	main := ex.actors[client]
	if kill := ex.spec.Program.Kill; kill != nil && client < len(ex.w.gates.addresses) {
		kill(ex.w.gates.addresses[client])
	}
	ex.noteEvent(main, model.Event{Kind: model.Crashed})
	for _, c := range ex.waitersOf(client) {
		if err := ex.cutOff(c, errCrashed); err != nil {
			return err
		}
	}
	var notified []*actor
	for _, a := range ex.threadsOf(client) {
		a.lastEvent = model.Event{Kind: model.Crashed}
		switch {
		case a.done || a.neverParked: // it is not parked
			continue
		case a.subscriptionConn != nil:
			a.done = true
			continue
		case a.parkedAt.Kind == model.InMemory: // it runs when another thread of its process has ended
		case a.parkedAt.Kind == model.InCommand || a.parkedAt.Kind == model.InRead:
			a.parkedAt.conn.reply <- false
		default:
			a.awake <- false
		}
		notified = append(notified, a)
	}
	var first error
	for _, a := range notified { // each was notified, so wait for each
		first = cmp.Or(first, ex.awaitClient(a))
	}
	return first
}

func (ex *live) send(a *actor) (event model.Event, blocks bool, err error) {
	if ex.slowNow {
		ex.w.SetTimeDuring(ex.nextMillisecond())
	}
	gate := a.parkedAt.conn
	before := len(gate.unread)
	if blocks, err = ex.sendNext(a, gate); err != nil || blocks {
		return event, blocks, err
	}
	if gate.failed == nil {
		return model.Event{Kind: model.Answered, Text: string(gate.unread[before:])}, false, nil
	}
	return ex.whyFailed(gate), false, nil
}

// whyFailed returns what a client notices of its failed connection: that an answer is lost (Unanswered), or that the
// connection's state was lost with its primary (Cut). After any other failure memory is no longer used, unless this
// process or Redis stood still.
func (ex *live) whyFailed(gate *conn) (event model.Event) {
	switch gate.failed {
	case errUnanswered:
		event.Kind = model.Unanswered
	case errLost:
		event.Kind = model.Cut
	default:
		if !ex.stoodStill() {
			ex.memory.Disable("a connection fails: %v", gate.failed)
		}
	}
	return event
}

func (ex *live) sendUnanswered(a *actor) error {
	gate := a.parkedAt.conn
	blocks, err := ex.sendNext(a, gate)
	if blocks { // the connection breaks before there is an answer
		err = errors.Join(err, ex.cutOff(gate, errUnanswered))
		gate.clearBlocked()
		a.wakeAt = 0
	}
	gate.unread, gate.failed = nil, errUnanswered
	return err
}

func (ex *live) drop(a *actor) { a.parkedAt.conn.failed = errUnanswered }

func (ex *live) giveUp(a *actor) (late lateCommand, event model.Event, err error) {
	gate := a.parkedAt.conn
	if late, err = gate.giveUp(); err != nil {
		return late, event, err
	}
	late.arrived = late.wire == nil
	return late, ex.whyFailed(gate), nil
}

func (ex *live) execute(l *lateCommand) error {
	for _, c := range l.commands {
		ex.readServerClock(&c, l.pending)
		reply, err := ex.executeAndLearn(l, c)
		if err != nil {
			return err
		}
		ex.trace.Arrived(l.client, c, reply)
		ex.noteReply(c, reply)
	}
	return nil
}

// executeAndLearn executes a late command and learns its outcome.
func (ex *live) executeAndLearn(l *lateCommand, c command.Command) (reply []byte, err error) {
	if c.WantedAcks() > 0 {
		return ex.executeLate(l, c)
	}
	lesson, err := ex.beginLearning(&c, l.pending, nil, l.watched)
	if err != nil {
		return nil, err
	}
	return ex.sendWatched(lesson, l.client, c, l.pending.OpenTransaction(), func() ([]byte, error) {
		return ex.executeLate(l, c)
	})
}

// executeLate executes a late command. If Redis blocks the command, there is no answer, since its connection is closed.
func (ex *live) executeLate(l *lateCommand, c command.Command) (reply []byte, err error) {
	if !c.Blocks() {
		return l.wire.Ask(c.Raw, 1)
	}
	id, err := l.wire.ID()
	if err == nil {
		err = ex.w.Post(l.wire, l.node, c.WithoutTimeout())
	}
	if err == nil {
		_, err = ex.w.Ask(l.node, "PING") // its effects have arrived by then: see conn.receive
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

// sendNext sends a connection's next command and handles the reply. It returns whether Redis blocks the command.
func (ex *live) sendNext(a *actor, c *conn) (blocks bool, err error) {
	next := c.Queue[0]
	switch {
	case next.Monitors():
		return false, schedule.Stopped("client %d's %s depends on what others do, which cannot be explored", a.index+1,
			strings.ToUpper(command.Name(next.Args)))
	case ex.w.Scripts.ReadsIdleTime(next.Args):
		return false, schedule.Stopped("client %d's %s asks how long a key was idle, which Redis measures by the "+
			"machine's time and not by the schedule's: run it under load instead", a.index+1,
			strings.ToUpper(command.Name(next.Args)))
	case c.isAnsweredAmongMessages():
		return false, ex.sendSubscribing(a, c)
	case next.Blocks() && !c.Multi:
		return ex.sendBlocking(a, c)
	}
	if err := ex.checkReplicas(&next); err != nil {
		return false, err
	}
	before := len(c.unread)
	lesson, err := ex.beginLearningNext(a, c)
	if err != nil {
		return false, err
	}
	reply, err := ex.sendWatched(lesson, a.index, next, c.OpenTransaction(), func() ([]byte, error) {
		asking := ex.w.asking
		ex.w.asking = false // a client's thread may send a command while Observe or Finally waits
		err := c.send()
		ex.w.asking = asking
		return c.unread[before:], err
	})
	if err != nil {
		return false, err
	}
	ex.trace.Sent(next, reply, c.failed)
	ex.waitCutShort = ex.waitCutShort || ex.lacksAcks(next, reply)
	ex.noteReply(next, reply)
	return false, ex.passTo(ex.now + ex.waitsInVain(&next))
}

// noteReply records the effects of an executed command, and what its reply says about scripts at Redis.
func (ex *live) noteReply(c command.Command, reply []byte) {
	if c.Scripts {
		ex.w.Scripts.Learn(c.Args)
	}
	if c.Changes() {
		ex.endsKnown, ex.stored = false, nil
	}
	ex.noteEffects(c, reply)
	if saysNoScript(reply) {
		ex.missesScript = ex.missesScript || ex.w.Primary == server.FirstPrimary && !ex.w.Flushed
	}
}

// beginLearningNext prepares to learn the outcome of a connection's next command.
func (ex *live) beginLearningNext(a *actor, c *conn) (*pendingOutcome, error) {
	if !ex.learns() || c.isGone() || ex.losesState(&c.Pending) {
		return nil, nil
	}
	return ex.beginLearning(c.Next(), &c.Pending, a, a.watched)
}

// lacksAcks reports whether a WAIT got too few acknowledgements: fewer than it asked for, and fewer than there are
// replicas that follow the primary.
func (ex *live) lacksAcks(c command.Command, reply []byte) bool {
	wanted := min(c.WantedAcks(), ex.followers())
	got, err := resp.Integer(reply)
	return wanted > 0 && err == nil && got < wanted
}

func (ex *live) change(c interleave.Choice) error {
	ex.changeStore(c)
	switch c {
	case interleave.StopReplication:
		return ex.w.StopReplication()
	case interleave.Promote:
		ex.endsKnown, ex.stored = false, nil
		if err := ex.w.Promote(ex.now); err != nil {
			return err
		}
		return ex.loseWaits()
	default:
		return ex.w.Flush()
	}
}

func (ex *live) setTime() { ex.w.SetTime(ex.now) }

func (ex *live) passTime(from, to time.Duration) error {
	if !ex.w.SetsClocks() {
		ex.endsKnown, ex.stored = false, nil
	}
	return ex.w.PassTime(from, to)
}

// keyEnds lists when keys expire. It asks Redis only if a command may have changed that.
func (ex *live) keyEnds() (_ []keyspace.End, err error) {
	if !ex.endsKnown {
		ex.ends, err = ex.w.KeyEnds(ex.now, ex.roundingUnit())
		ex.endsKnown = err == nil
	}
	return ex.ends, err
}

// namedInstants lists the instants that stored values name. It asks Redis only if the content is not known.
func (ex *live) namedInstants() (_ []time.Duration, err error) {
	if ex.learns() {
		return ex.store.At(ex.memory, ex.now).Named(), nil
	}
	if ex.stored == nil {
		if ex.stored, err = ex.w.StoredKeys(ex.w.Primary); err != nil {
			return nil, err
		}
	}
	ex.stored = slices.DeleteFunc(ex.stored, func(k keyspace.Key) bool {
		return k.End != keyspace.NoEnd && keyspace.HasEnded(k.End, ex.now)
	})
	return keyspace.Named(ex.stored), nil
}

func (ex *live) probe(ctx context.Context, firstEvent model.Event, look func(context.Context, *live)) error {
	if ex.learns() {
		ex.observation = &observation{mind: &ex.memory.Root, lastEvent: firstEvent}
	}
	func() {
		ex.w.asking = true
		defer func() { ex.w.asking = false }()
		defer ex.w.giveTurn()() // look may use the connection of a client that is done
		look(harness.WithTime(ctx, harnessClock{ex}), ex)
	}()
	ex.observationAsks(model.Ask{Kind: model.AsksNothing})
	return nil
}

func (ex *live) hasRealClients() bool { return true }
