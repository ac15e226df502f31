package explore

import (
	"cmp"
	"context"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file starts the clients of a live schedule and lets each run until it waits again.

// parkWithin is how long a client may take to reach its next command. Only time counts during which this process is
// awake. The package's tests raise it, since a client may get little processor time on a busy machine.
var parkWithin = 5 * time.Second

// beginSchedule starts a schedule: every client runs up to its first command.
func beginSchedule(ctx context.Context, spec *Spec, budget interleave.Budget, w *world) (*live, error) {
	if err := w.endThreads(); err != nil {
		return nil, err
	}
	if err := w.reset(); err != nil {
		return nil, err
	}
	if err := w.checkLeaks(); err != nil {
		return nil, err
	}
	ex := &live{modelled: modelled{execution: newExecution(spec, budget, w), memory: w.memory},
		learning: w.memory != nil}
	ex.backend = ex
	if ex.memory != nil {
		ex.store = ex.memory.Empty
	}
	w.current = ex
	ex.actors = make([]*actor, budget.Clients)
	opened := false
	defer func() {
		if !opened { // Open or a client panicked, or a client did not park
			ex.abandon()
		}
	}()
	for i := range ex.actors {
		if ex.process(i) == i { // clients of one process share a dialer
			w.dialers[i].actor.Store(nil)
			w.dialers[i].watchers = nil
		}
		client, err := ex.openClient(placeOf(budget, i), i)
		if err = cmp.Or(ex.failure, err); err != nil {
			return ex, err
		}
		a := &actor{index: i, ex: ex.execution, live: ex, park: make(chan parked, 4), awake: make(chan bool)}
		ex.actors[i], ex.all = a, append(ex.all, a)
		if ex.memory != nil {
			a.mind, a.lastEvent = &ex.memory.Root, beginning(budget, i)
		}
		if ex.process(i) == i {
			w.dialers[i].actor.Store(a)
		}
		a.launch(ctx, client)
		if err := ex.awaitClient(a); err != nil {
			return ex, err
		}
	}
	opened = true
	return ex, nil
}

// openClient makes client i, counted from 0, for a place: see Program.Open. The client's constructor may send commands,
// so openClient releases world.turn meanwhile.
func (ex *live) openClient(place, i int) (c harness.Client, err error) {
	defer ex.w.giveTurn()()
	p := ex.spec.Program
	if ex.sharesMemory() {
		if ex.process(i) == i {
			ex.member = p.Process(ex.w.clients[i])
		}
		return ex.member(place), nil
	}
	if p.Gate == interleave.InProcess {
		return p.Open(place, ex.w.clients[i]), nil
	}
	c, err = p.OpenAt(place, ex.w.gates.addresses[i])
	if err != nil {
		return nil, schedule.Stopped("client %d: %v", i+1, err)
	}
	return c, nil
}

// awaitClient lets a client run, and holds world.turn again when the client waits for the scheduler or is done.
func (ex *live) awaitClient(a *actor) error {
	ex.running = a
	at, ok := ex.awaitParking(a)
	if ok && ex.failure == nil {
		ex.failure = ex.awaitGate(a)
	}
	ex.running = nil
	if !ok && a.expectsSubscribe {
		ex.failure = cmp.Or(ex.failure, unsubscribed(a))
	}
	if !ok {
		return ex.neverParks(a)
	}
	a.parkedAt = at
	a.done = at.Kind == model.AtEnd
	if ex.failure == nil && at.err == nil {
		if err := ex.learnMind(a); err != nil {
			return err
		}
	}
	if err := ex.awaitMates(a.index); err != nil {
		return err
	}
	if a.done {
		if !ex.isAlive(a.index) {
			ex.dialerOf(a.index).actor.Store(nil)
		}
		return cmp.Or(ex.failure, a.parkedAt.err)
	}
	if ex.failure != nil {
		return ex.failure
	}
	return ex.startThreads()
}

// awaitParking releases world.turn until the client waits for the scheduler, and returns how it waits. ok is false if
// the client takes too long, if Redis does not answer, or if a test gives the client up (see Spec.stuck).
func (ex *live) awaitParking(a *actor) (at parked, ok bool) {
	g := ex.w.newGrace()
	look, where := firstLook, "" // stack of the client, if it waits in memory
	for d := parkWithin; ; d = g.remaining() {
		if ex.sharesMemory() {
			d, look = min(d, look), 2*look
		}
		at, parks, waits := ex.awaitParkingFor(a, d)
		if !waits {
			return at, parks
		}
		if ex.sharesMemory() {
			before := where
			if where = a.memoryWait(); where != "" && where == before {
				return parked{Stop: model.Stop{Kind: model.InMemory}}, true
			}
		}
		over, err := g.checkOver()
		if err != nil {
			ex.failure = cmp.Or(ex.failure, err)
		}
		if over || err != nil {
			return at, false
		}
	}
}

// awaitParkingFor releases world.turn until the client waits for the scheduler, for d at most. The result parks says
// whether the client waits by then. If not, the result waits says whether the client has time left to do so.
func (ex *live) awaitParkingFor(a *actor, d time.Duration) (at parked, parks, waits bool) {
	defer ex.w.giveTurn()()
	select {
	case at = <-a.park:
		return at, true, false
	default:
	}
	select {
	case at = <-a.park:
		return at, true, false
	case <-time.After(d):
		return at, false, true
	case <-ex.spec.stuck:
		return at, false, false
	}
}

func (ex *live) whyStuck(a *actor) string {
	if !a.started {
		return ": it never sent any"
	}
	if c := a.subscribedBy(); c != nil && c.failed == nil {
		return ": it may read a message without asking first: see Subscriptions in workloads/adapters/README.md"
	}
	return ": it may wait for something other than a reply"
}
