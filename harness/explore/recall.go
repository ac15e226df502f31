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

// This file runs schedules from memory: what a client does next comes from its mind, what Redis answers from a transition. All else
// is the schedule's own, as in one that is really run.

// recalled makes schedules happen from memory.
type recalled struct{ ex *execution }

// beginFromMemory starts a schedule from memory. The error is errUnknown if not every client's beginning is known.
func beginFromMemory(spec *Spec, budget interleave.Budget, w *world, m *model.Memory) (*execution, error) {
	ex := &execution{
		spec: spec, budget: budget, w: w, virtualTime: virtualTime{now: start, passedTo: start}, faults: faults{remaining: budget},
		recording: recording{memory: m, store: m.Empty}, actors: make([]*actor, 0, budget.Clients),
	}
	from := recalled{ex}
	ex.backend = from
	for i := range budget.Clients {
		a := &actor{index: i, ex: ex, mind: &m.Root}
		ex.actors, ex.all = append(ex.actors, a), append(ex.all, a)
		if err := from.recallMind(a, beginning(budget, i)); err != nil {
			return ex, err
		}
	}
	return ex, nil
}

// beginning returns the event with which a client begins.
func beginning(b interleave.Budget, i int) model.Event {
	return model.Event{Kind: model.Begins, Text: fmt.Sprintf("client %d of %d at place %d", i, b.Clients, placeOf(b, i))}
}

// placeOf returns the place of a client: see Program.Open.
func placeOf(b interleave.Budget, i int) int {
	if i > 0 {
		i += b.Place
	}
	return i
}

// recallMind lets a client do what it does after an event.
func (b recalled) recallMind(a *actor, heard model.Event) error {
	heard.Promoted = b.ex.promoted
	next := a.mind.After(heard)
	if next == nil {
		return model.ErrUnknown
	}
	a.mind = next
	for i := range next.Acts {
		if d := next.Acts[i].Sleep; d > 0 {
			a.wakeAt = max(a.wakeAt, b.ex.now) + d
			continue
		}
		op := next.Acts[i].Op
		a.keep(&op)
	}
	if !next.Watches {
		a.watched = nil
	}
	a.parkedAt = parked{Stop: next.Stop}
	a.done = next.Stop.Kind == model.AtEnd
	return nil
}

func (b recalled) tell(a *actor, heard model.Event) error { return b.recallMind(a, heard) }

func (b recalled) crash(client int) error {
	return b.recallMind(b.ex.actors[client], model.Event{Kind: model.Crashed})
}

func (b recalled) send(a *actor) (heard model.Event, kept bool, err error) {
	heard, err = b.recallCommand(a)
	return heard, false, err
}

func (b recalled) sendUnanswered(a *actor) error {
	_, err := b.recallCommand(a)
	return err
}

func (b recalled) drop(*actor) {}

func (b recalled) giveUp(a *actor) (left lateCommand, heard model.Event, err error) {
	next := a.parkedAt.Pending
	left.pending = next
	if heard = (model.Event{Kind: model.Unanswered}); b.ex.losesState(next) {
		heard.Kind, left.arrived = model.Cut, true
		return left, heard, nil
	}
	left.commands = slices.Clone(next.Queue)
	return left, heard, nil
}

func (b recalled) change(c interleave.Choice) error {
	b.ex.changeStore(c)
	return nil
}

func (b recalled) endStep() error { return nil }

func (b recalled) setTime() {}

func (b recalled) passTime(_, _ time.Duration) error { return nil }

func (b recalled) keyEnds() ([]keyspace.End, error) {
	return b.ex.store.At(b.ex.memory, b.ex.now).Ends, nil
}

func (b recalled) look(_ context.Context, began model.Event, _ func(context.Context)) error {
	return b.recallObservation(began)
}

func (b recalled) fingerprintAfter(interleave.Choice) uint64 { return 0 }

func (b recalled) hasState() (bool, error) { return true, nil }

func (b recalled) describe(text []byte) []byte {
	return b.ex.appendMinds(visited.AppendBools(text, true))
}

func (b recalled) lasts() bool { return false }

// takeWatched splits the keys that a client watches: given are those on a connection that it gives up, left are the others.
func takeWatched(pending *command.Pending, all []model.Watched) (given, left []model.Watched) {
	if len(pending.Watched) == 0 {
		return nil, all
	}
	return all, nil
}

// losesState reports whether a connection cannot follow a failover: see conn.reconnectToPrimary.
func (ex *execution) losesState(next *command.Pending) bool {
	return next.Node != ex.primary() && (next.Multi || len(next.Watched) > 0 || next.Next().Pipelined)
}

// primary returns the node that clients talk to.
func (ex *execution) primary() int {
	if ex.promoted {
		return server.Successor
	}
	return server.FirstPrimary
}

// hearingReplicas returns the number of replicas that hear what is written now, whether the schedule is really run or from memory.
func (ex *execution) hearingReplicas() int64 { return ex.w.Hearing(ex.replicationStopped, ex.promoted) }

// recallCommand executes the next command of a connection from memory.
func (b recalled) recallCommand(a *actor) (heard model.Event, err error) {
	pending := a.parkedAt.Pending
	next := pending.Next()
	if b.ex.losesState(pending) {
		b.ex.noteEffects(*next, nil)
		heard.Kind = model.Cut
	} else {
		t, err := b.recallTransition(next, pending, a, a.watched)
		if err != nil {
			return heard, err
		}
		heard = model.Event{Kind: model.Answered, Text: t.Reply}
	}
	if means, ok := b.ex.memory.Scripts.MeaningOf(next, pending.OpenTransaction()); ok && means.Wait > 0 && means.Wants > b.ex.hearingReplicas() {
		return heard, b.ex.passTo(b.ex.now + means.Wait)
	}
	return heard, nil
}

// recallTransition executes a command from memory.
func (b recalled) recallTransition(c *command.Command, on *command.Pending, a *actor, watched []model.Watched) (*model.Transition, error) {
	q, ok := b.ex.questionOf(c, on, watched)
	if !ok {
		return nil, model.ErrUnknown
	}
	b.ex.store = b.ex.store.At(b.ex.memory, b.ex.now)
	t := b.ex.store.After(q)
	if t == nil || c.Changes() && t.Watched < len(b.ex.memory.Watched) && b.ex.isWatching() {
		return nil, model.ErrUnknown
	}
	b.ex.applyTransition(c, t, a)
	b.ex.noteEffects(*c, []byte(t.Reply))
	return t, nil
}

func (b recalled) execute(l *lateCommand) error {
	for i := range l.commands {
		c := &l.commands[i]
		if c.WantedAcks() > 0 {
			b.ex.noteEffects(*c, nil)
			continue // nobody hears its answer
		}
		if _, err := b.recallTransition(c, l.pending, nil, l.watched); err != nil {
			return err
		}
	}
	return nil
}

// changeStore changes the contents as a choice changes Redis, in a schedule that is kept or run from memory.
func (ex *execution) changeStore(c interleave.Choice) {
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
			a.watched = nil // who watched keys there is cut off
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

// recallObservation does from memory what the program does when it looks at the store. began is the event with which the look begins.
func (b recalled) recallObservation(began model.Event) error {
	heard := began
	for m := &b.ex.memory.Root; ; {
		if m = m.After(heard); m == nil {
			return model.ErrUnknown
		}
		for _, done := range m.Acts {
			op := done.Op
			op.Call = b.ex.now - done.Took
			harnessTimeline(b).keep(&op)
		}
		var err error
		if heard, err = b.recallAnswer(m.Asks); err != nil || m.Asks.Kind == model.AsksNothing {
			return err
		}
	}
}

// recallAnswer returns what the program's look at the store hears when it asks for something.
func (b recalled) recallAnswer(q model.Ask) (heard model.Event, err error) {
	switch q.Kind {
	case model.AsksRedis:
		t, err := b.recallTransition(&q.Command, nil, nil, nil)
		if err != nil {
			return heard, err
		}
		return model.Event{Kind: model.Answered, Text: t.Reply}, nil
	case model.AsksPass, model.AsksPassAll:
		if err := b.ex.passTo(b.ex.now + q.For); err != nil {
			return heard, err
		}
		heard.Kind = model.Passed
		if q.Kind == model.AsksPassAll {
			heard.Text = strconv.Itoa(len(b.ex.store.At(b.ex.memory, b.ex.now).Keys))
		}
	case model.AsksClock:
		heard = model.Event{Kind: model.Looked, At: b.ex.now}
	case model.AsksOps:
		heard = model.Event{Kind: model.Finishes, Text: canonicalOps(b.ex.ops)}
	}
	return heard, nil
}
