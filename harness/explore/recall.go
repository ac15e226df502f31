package explore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/server"
	"github.com/doublegrant/doublegrant/harness/explore/internal/visited"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file runs schedules from memory: a client's actions come from its mind, Redis's answers from transitions. The
// rest of the schedule is the same as in a live one.

// modelled is a schedule with a model of its store: one that the model learns from, or one that is run from memory.
type modelled struct {
	*execution
	memory  *model.Memory // nil: there is no model
	store   *model.Contents
	replica *model.Contents // content that the replica will have when it is promoted
}

// recalled runs a schedule from memory.
type recalled struct{ modelled }

// beginFromMemory starts a schedule from memory. The error is model.ErrUnknown if a client's beginning is unknown.
func beginFromMemory(spec *Spec, budget interleave.Budget, w *world, m *model.Memory) (*execution, error) {
	ex := &recalled{modelled{execution: newExecution(spec, budget, w), memory: m, store: m.Empty}}
	ex.backend = ex
	ex.actors = make([]*actor, 0, budget.Clients)
	for i := range budget.Clients {
		a := &actor{index: i, ex: ex.execution, mind: &m.Root}
		ex.actors, ex.all = append(ex.actors, a), append(ex.all, a)
		if err := ex.notify(a, beginning(budget, i)); err != nil {
			return ex.execution, err
		}
	}
	return ex.execution, nil
}

// beginning returns the event with which a client begins.
func beginning(b interleave.Budget, i int) model.Event {
	return model.Event{Kind: model.Begins,
		Text: fmt.Sprintf("client %d of %d at place %d", i, b.Clients, placeOf(b, i))}
}

// placeOf returns the place of client i, which decides what the client does: see Program.Open.
func placeOf(b interleave.Budget, i int) int {
	if i > 0 {
		i += b.Place
	}
	return i
}

// notify makes a client do again what, according to memory, it did after the same event.
func (ex *recalled) notify(a *actor, event model.Event) error {
	event.Promoted, event.Thread = ex.promoted, a.thread
	first := ex.actors[a.index]
	next := first.mind.After(event)
	if next == nil {
		return model.ErrUnknown
	}
	first.mind = next
	for i := range next.Acts {
		if d := next.Acts[i].Sleep; d > 0 {
			a.sleep(d, next.Acts[i].Rests)
			continue
		}
		op := next.Acts[i].Op
		a.keepOp(&op)
	}
	if !next.Watches {
		a.watched = nil
	}
	a.parkedAt = parked{Stop: next.Stop}
	a.done = next.Stop.Kind == model.AtEnd
	if next.Threads > 0 {
		ex.recallThreads(a, next)
	}
	if a.done || !ex.hasThreads() {
		return nil
	}
	return ex.startThreads()
}

// recallThreads updates the threads of an actor's client after the actor has acted. The parameter next describes them.
// recallThreads adds the threads that the actor has started, marks those whose sleep was canceled, and sets the thread
// for which the actor waits.
func (ex *recalled) recallThreads(a *actor, next *model.Mind) {
	all := ex.threadsOf(a.index)
	for len(all) <= next.Threads {
		t := &actor{index: a.index, thread: len(all), ex: ex.execution, started: true, parkedAt: at(model.InStart)}
		all, ex.all = append(all, t), append(ex.all, t)
	}
	for _, t := range all {
		t.parkedAt.ended = next.Cancelled&(1<<t.thread) != 0
	}
	if a.parkedAt.Kind == model.InJoin {
		a.parkedAt.thread = all[a.parkedAt.Joins]
	}
}

func (ex *recalled) crash(client int) error {
	for _, a := range ex.threadsOf(client) {
		if a.done {
			continue
		}
		if err := ex.notify(a, model.Event{Kind: model.Crashed}); err != nil {
			return err
		}
	}
	return nil
}

func (ex *recalled) endWait(_ interleave.Choice, a *actor) (endedOp bool, err error) {
	ops := len(ex.ops)
	if a.thread == 0 && a.parkedAt.Kind != model.InStart {
		a.beginOp(ex.stamp())
	}
	if ex.readiness(a) == byTime {
		err = ex.waitUntil(a)
	}
	a.wakeAt = 0
	if err == nil {
		err = ex.notify(a, model.Event{Kind: model.Awake})
	}
	return len(ex.ops) > ops, err
}

func (ex *recalled) giveUp(a *actor) (late lateCommand, event model.Event, err error) {
	next := a.parkedAt.Pending
	late.pending = next
	if event = (model.Event{Kind: model.Unanswered}); ex.losesState(next) {
		event.Kind, late.arrived = model.Cut, true
		return late, event, nil
	}
	late.commands = slices.Clone(next.Queue)
	return late, event, nil
}

func (ex *recalled) keyEnds() ([]keyspace.End, error) {
	return ex.store.At(ex.memory, ex.now).Ends, nil
}

func (ex *recalled) namedInstants() ([]time.Duration, error) {
	return ex.store.At(ex.memory, ex.now).Named(), nil
}

func (ex *recalled) describe(text []byte) []byte {
	return ex.appendMinds(visited.AppendBools(text, true))
}

// No client and no Redis takes part in a schedule from memory. So the methods below, which would send, set or end
// something there, do nothing.
func (ex *recalled) hasRealClients() bool                             { return false }
func (ex *recalled) hasState() (bool, error)                          { return true, nil }
func (ex *recalled) fingerprintAfter(interleave.Choice) uint64        { return 0 }
func (ex *recalled) withWoken(a command.Access) command.Access        { return a }
func (ex *recalled) waitAccess(int) (none command.Access)             { return none }
func (ex *recalled) noteOutcome(*command.Pending)                     {}
func (ex *recalled) drop(*actor)                                      {}
func (ex *recalled) setTime()                                         {}
func (ex *recalled) passTime(_, _ time.Duration) error                { return nil }
func (ex *recalled) endStep() error                                   { return nil }
func (ex *recalled) noteLeases(interleave.Choice, []harness.Op) error { return nil }

func (ex *recalled) change(c interleave.Choice) error {
	ex.changeStore(c)
	return nil
}

// losesState reports whether a connection leads to the old primary and has a state there, such as a MULTI, that is lost
// with it: see conn.reconnectToPrimary.
func (ex *execution) losesState(next *command.Pending) bool {
	primary := server.FirstPrimary
	if ex.promoted {
		primary = server.Successor
	}
	return next.Node != primary && (next.Multi || len(next.Watched) > 0 || next.Next().Pipelined)
}

// followers returns the number of replicas that get what is written now, in a live schedule or from memory.
func (ex *execution) followers() int64 { return ex.w.Followers(ex.replicationStopped, ex.promoted) }

// waitsInVain returns the time-out of a WAIT that asks for more replicas than follow the primary. It is 0 for any other
// command, and for a WAIT without a time-out.
func (ex *execution) waitsInVain(c *command.Command) time.Duration {
	if c.WantedAcks() <= ex.followers() {
		return 0
	}
	return c.WaitTimeout()
}

func (ex *recalled) sendUnanswered(a *actor) error {
	_, _, err := ex.send(a)
	return err
}

// send executes a connection's next command from memory.
func (ex *recalled) send(a *actor) (event model.Event, blocks bool, err error) {
	pending := a.parkedAt.Pending
	next := pending.Next()
	if ex.losesState(pending) {
		ex.noteEffects(*next, nil)
		event.Kind = model.Cut
	} else {
		t, err := ex.recallTransition(next, pending, a, a.watched)
		if err != nil {
			return event, false, err
		}
		event = model.Event{Kind: model.Answered, Text: t.Reply}
	}
	return event, false, ex.passTo(ex.now + ex.waitsInVain(next))
}

// recallTransition executes a command from memory.
func (ex *recalled) recallTransition(c *command.Command, on *command.Pending, a *actor,
	watched []model.Watched) (*model.Transition, error) {
	q, ok := ex.questionOf(c, on, watched)
	if !ok {
		return nil, model.ErrUnknown
	}
	ex.store = ex.store.At(ex.memory, ex.now)
	t := ex.store.After(q)
	if t == nil || c.Changes() && t.Watched < len(ex.memory.Watched) && ex.isWatching() {
		return nil, model.ErrUnknown
	}
	ex.applyTransition(c, t, a)
	if a != nil {
		ex.noteUndeclared(a.index, *c, t.Undeclared)
	}
	ex.noteEffects(*c, []byte(t.Reply))
	return t, nil
}

func (ex *recalled) execute(l *lateCommand) error {
	for i := range l.commands {
		c := &l.commands[i]
		ex.readServerClock(c, l.pending)
		if c.WantedAcks() > 0 {
			ex.noteEffects(*c, nil)
			continue // its answer is not read
		}
		t, err := ex.recallTransition(c, l.pending, nil, l.watched)
		if err != nil {
			return err
		}
		ex.noteUndeclared(l.client, *c, t.Undeclared)
	}
	return nil
}

// changeStore applies a choice to the model's store.
func (ex *modelled) changeStore(c interleave.Choice) {
	if ex.memory == nil {
		return
	}
	now := ex.store.At(ex.memory, ex.now)
	switch c {
	case interleave.StopReplication:
		ex.replica = now
	case interleave.Promote:
		ex.store = ex.replica.At(ex.memory, ex.now).WithoutScripts(ex.memory)
		for _, a := range ex.actors {
			a.watched = nil // watched keys are lost with the connection
		}
	case interleave.FlushScripts:
		ex.store = now.WithoutScripts(ex.memory)
	}
}

// canonicalOps describes operations without their times.
func canonicalOps(ops []harness.Op) string {
	var b strings.Builder
	for _, op := range ops {
		op.Call, op.Return = 0, 0
		fmt.Fprintf(&b, "%q\n", fmt.Sprint(op))
	}
	return b.String()
}

// probe repeats from memory what Observe or Finally did.
func (ex *recalled) probe(_ context.Context, firstEvent model.Event, _ func(context.Context, *live)) error {
	event := firstEvent
	for m := &ex.memory.Root; ; {
		if m = m.After(event); m == nil {
			return model.ErrUnknown
		}
		for _, done := range m.Acts {
			op := done.Op
			op.Call = ex.stamp() - done.Took
			ex.recordOwn(&op)
		}
		var err error
		if event, err = ex.recallAnswer(m.Asks); err != nil || m.Asks.Kind == model.AsksNothing {
			return err
		}
	}
}

// recallAnswer returns what Observe or Finally reads when it asks for something.
func (ex *recalled) recallAnswer(q model.Ask) (event model.Event, err error) {
	switch q.Kind {
	case model.AsksRedis:
		t, err := ex.recallTransition(&q.Command, nil, nil, nil)
		if err != nil {
			return event, err
		}
		return model.Event{Kind: model.Answered, Text: t.Reply}, nil
	case model.AsksPass, model.AsksPassAll:
		if err := ex.passBeside(ex.now+q.For, func() bool { return false }); err != nil {
			return event, err
		}
		event.Kind = model.Passed
		if q.Kind == model.AsksPassAll {
			event.Text = strconv.Itoa(len(ex.store.At(ex.memory, ex.now).Keys))
		}
	case model.AsksClock:
		event = model.Event{Kind: model.ClockRead, At: ex.now}
	case model.AsksOps:
		event = model.Event{Kind: model.Finishes, Text: canonicalOps(ex.ops)}
	case model.AsksOwnerRefused:
		event = model.Event{Kind: model.Finishes, Text: strconv.FormatBool(ex.ownerRefused())}
	}
	return event, nil
}
