package explore

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
	"github.com/doublegrant/doublegrant/harness/explore/internal/visited"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file detects that a live schedule reaches a known state: see states.go. Clients that wait, subscribe or have
// several threads have no mind in the model. Instead each has a trail: a hash of everything that its threads have read,
// in order.

// trails holds each client's trail (a hash of what its threads have read), and what else identifies the state of a live
// schedule.
type trails struct {
	byClient      []visited.ID   // each client's trail
	unpredictable bool           // the outcome of some command depends on more than the store
	strays        int64          // commands that clients had sent out of turn when the schedule began
	stored        []keyspace.Key // current content of the store
	loaded        []byte         // which scripts are cached, if the cache was emptied in this schedule
}

// followsTrails reports whether live schedules look up whether another schedule has reached the same state.
func (s *search) followsTrails(w *world) bool {
	return !s.spec.WithoutMemory && !s.spec.WithoutReduction && w.SetsClocks() &&
		s.spec.Program.Gate == interleave.InProcess
}

// noteEvent adds what a client's thread has read or noticed to the client's trail.
func (ex *live) noteEvent(a *actor, event model.Event) {
	if ex.trails == nil {
		return
	}
	trail := &ex.trails.byClient[ex.process(a.index)]
	b := visited.AppendInts(visited.AppendID(nil, *trail), int64(a.thread), int64(event.Kind), int64(event.At))
	*trail = visited.IDOf(visited.AppendText(visited.AppendBools(b, ex.promoted), event.Text))
}

// noteReceived adds to the trail what a thread got on a connection on which it waited: an error, a time-out, or the
// unread replies from index offset on.
func (ex *live) noteReceived(a *actor, on *conn, offset int) {
	switch {
	case on.failed != nil:
		ex.noteEvent(a, model.Event{Kind: model.Cut, Text: on.failed.Error()})
	case on.timedOut:
		ex.noteEvent(a, model.Event{Kind: model.Unanswered})
	default:
		ex.noteEvent(a, model.Event{Kind: model.Answered, Text: string(on.unread[offset:])})
	}
}

// noteOutcome records whether the store and the blocked commands decide the outcome of a connection's next command.
func (ex *live) noteOutcome(pending *command.Pending) {
	if ex.trails == nil || ex.trails.unpredictable {
		return
	}
	all := [][][]byte{pending.Next().Args}
	if command.Name(all[0]) == "exec" {
		all = append(all, resp.ParseAll(pending.OpenTransaction())...)
	}
	for _, args := range all {
		if !command.Repeats(args) && !(command.Command{Args: args}).Blocks() ||
			!ex.w.Scripts.TraitsOf(ex.w.Scripts.Of(args)).Repeats {
			ex.trails.unpredictable = true
		}
	}
}

// hasState reads the store, and reports whether everything is known that decides how the schedule goes on. It returns
// false if a connection has a state at Redis that cannot be read, such as watched keys.
func (ex *live) hasState() (ok bool, err error) {
	t := ex.trails
	if t == nil || t.unpredictable || ex.Disturbed() || ex.stoodStill() || len(ex.w.stateful) > 0 ||
		ex.w.outOfTurn > t.strays {
		return false, nil
	}
	for i := range ex.actors {
		if ex.w.dialers[i].watching() > 0 {
			return false, nil
		}
	}
	for _, l := range ex.lateCommands {
		if l.pending != nil && len(l.pending.Watched) > 0 {
			return false, nil
		}
	}
	hashes := []string(nil)
	if ex.w.Flushed || ex.promoted {
		hashes = ex.w.Scripts.Hashes()
	}
	if len(hashes) > 0 {
		reply, err := ex.w.Ask(ex.w.Primary, append([]string{"SCRIPT", "EXISTS"}, hashes...)...)
		if err != nil {
			return false, err
		}
		t.loaded = append([]byte(strings.Join(hashes, " ")), reply...)
	}
	t.stored, err = ex.w.StoredKeys(ex.w.Primary)
	return err == nil, err
}

// describe appends to b the store, what every client has read, and what its threads wait for.
func (ex *live) describe(b []byte) []byte {
	b = appendKeys(visited.AppendBools(b, false), ex.trails.stored)
	if ex.replicationStopped {
		b = appendKeys(b, ex.w.HeldKeys())
	}
	b = visited.AppendText(b, string(ex.trails.loaded))
	for client, trail := range ex.trails.byClient {
		if slices.ContainsFunc(ex.threadsOf(client), func(a *actor) bool { return !a.done }) {
			b = visited.AppendID(b, trail)
		}
	}
	return ex.appendWaiters(append(ex.appendThreads(b), 0))
}

// appendThreads appends to b the time and the state of every thread, but not what clients have read.
func (ex *execution) appendThreads(b []byte) []byte {
	b = visited.AppendInts(b, ex.millisecond(ex.now), ex.idleFor.Round(keyspace.Grain))
	b = visited.AppendBools(visited.AppendInts(b, ex.earlyWakes), ex.WakesCut)
	for _, a := range ex.all {
		b = a.appendThread(b)
	}
	for _, a := range ex.sleepers() { // the order in which they wake
		b = visited.AppendInts(b, a.index, a.thread)
	}
	return b
}

func appendKeys(b []byte, all []keyspace.Key) []byte {
	for _, k := range all {
		b = visited.AppendInts(visited.AppendText(visited.AppendText(append(b, 1), k.Name), k.Dump), k.End)
	}
	return append(b, 0)
}

// millisecond returns t in whole milliseconds, which is all that matters until a client or a script reads a clock.
// After that it returns t itself.
func (ex *execution) millisecond(t time.Duration) time.Duration {
	if ex.ClockRead {
		return t
	}
	return t.Truncate(keyspace.Grain)
}

// appendThread appends a thread's state to b. The thread's position in the code follows from what its client has read.
func (a *actor) appendThread(b []byte) []byte {
	b = visited.AppendInts(b, a.index, a.thread, int(a.parkedAt.Kind))
	if a.done {
		return append(b, 2)
	}
	b = visited.AppendBools(b, a.started, a.done, a.crashed, a.cutOffUnrecorded, a.inOp, a.commands > 0,
		a.parkedAt.isCancelled())
	b = a.appendCall(b)
	if a.wakeAt > a.ex.now {
		b = visited.AppendInts(b, a.ex.millisecond(a.wakeAt))
	}
	b = visited.AppendText(append(b, 0), string(a.unansweredCommand))
	if a.subscriptionConn != nil {
		b = a.live.appendWait(b, a.index, a.subscriptionConn)
	}
	return b
}

// sleepers lists the threads that sleep or wait for a time, in the order in which they wake.
func (ex *execution) sleepers() []*actor {
	out := slices.DeleteFunc(slices.Clone(ex.all), func(a *actor) bool { return a.done || a.wakeAt <= ex.now })
	slices.SortStableFunc(out, func(a, b *actor) int { return cmp.Compare(a.wakeAt, b.wakeAt) })
	return out
}

// appendWaiters appends to b what Redis holds for clients and what they have not read. These are blocked commands, in
// the order in which Redis answers them, and then subscriptions.
func (ex *live) appendWaiters(b []byte) []byte {
	for _, c := range ex.waiters {
		if c.blockedID != "" {
			client := slices.IndexFunc(ex.actors, func(a *actor) bool { return ex.dialerOf(a.index) == c.dialer })
			b = ex.appendWait(b, client, c)
		}
	}
	for i := range ex.actors {
		for _, c := range ex.waitersOf(i) {
			if c.blockedID == "" {
				b = ex.appendWait(b, i, c)
			}
		}
	}
	return append(b, 0)
}

// appendWait appends to b the state of a connection on which a client waits.
func (ex *live) appendWait(b []byte, client int, c *conn) []byte {
	b = visited.AppendInts(append(b, 1), client, c.Node, len(c.Queue))
	b = visited.AppendBools(b, c.blockedID != "", c.subscription != nil, c.failed != nil, c.timedOut, c.isGone())
	for _, next := range c.Queue {
		b = visited.AppendText(b, string(next.Raw))
	}
	for _, t := range ex.threadsOf(client) {
		b = visited.AppendBools(b, t.parkedAt.conn == c || t.subscriptionConn == c)
	}
	return visited.AppendText(b, string(c.inbox))
}
