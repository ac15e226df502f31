package explore

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

const (
	// start is the virtual time at which a schedule begins: in the middle of a millisecond, so that a lease that a client counts
	// from then on ends later than the beginning of the last millisecond of the same lease in Redis.
	start    = grain / 2
	tick     = time.Microsecond // virtual time that a step takes
	maxSteps = 400              // steps of one schedule; all their ticks together are less than Redis's unit of time

	stall = 2 * time.Second // real time that a client may take to reach its next command
)

// execution is one schedule under way.
type execution struct {
	spec      *Spec
	budget    interleave.Budget
	w         *world
	actors    []*actor
	now       time.Duration // since the schedule began, in virtual time
	moved     time.Duration // the last time to which time passed other than by a step
	looks     int           // looks of all clients at their clocks since moved
	ends      []ending      // ends of the keys in the store, valid if known
	known     bool
	path      []interleave.Choice
	print     uint64          // fingerprint of what happened: choices, names of commands and their keys
	times     []time.Duration // virtual times of the steps and, after them, of the harness's probes
	late      []late          // commands that their clients have given up
	ops       []harness.Op
	left      interleave.Budget       // what may still go wrong
	last      int                     // the client that took the last step; -1: none yet
	fresh     bool                    // the last choice was a step of that client
	held      bool                    // replication is held
	used      bool                    // something was written since replication was held
	timed     bool                    // some command may have set a TTL
	met       []harness.SituationName // situations that the explorer brought about
	idle      string                  // describes an operation that was granted without a command; empty: none was
	clocked   bool                    // somebody has looked at a clock
	expired   bool                    // time has passed beyond the end of a lease
	crowded   bool                    // there were more instants to which time could have passed than are tried
	disturbed bool                    // something that is no part of the schedule came between: a missing script, a WAIT cut short
	alarm     *time.Timer

	trace    *trace       // nil: steps are not written down
	recorded func(*actor) // called with a client whose operation has just ended; may be nil
}

// errStopped marks an error that ends a search early but is neither a violation nor a failure of the harness.
var errStopped = errors.New("stopped")

func stopped(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errStopped, fmt.Sprintf(format, args...))
}

// errDiverged marks a schedule that cannot be followed, since a client does something else than before.
var errDiverged = fmt.Errorf("%w: a client does not do the same each time", errStopped)

func diverged(a *actor) error {
	return fmt.Errorf("%w: client %d is done where it had a step to take before", errDiverged, a.index+1)
}

// begin starts a schedule: every client runs up to its first command.
func begin(ctx context.Context, spec *Spec, budget interleave.Budget, w *world, alarm *time.Timer) (*execution, error) {
	if err := w.reset(ctx); err != nil {
		return nil, err
	}
	ex := &execution{spec: spec, budget: budget, w: w, now: start, moved: start, left: budget, last: -1, alarm: alarm}
	ex.actors = make([]*actor, budget.Clients)
	opened := false
	defer func() {
		if !opened { // Open or a client panicked, or a client is astray
			ex.abandon()
		}
	}()
	for i := range ex.actors {
		w.seats[i].actor.Store(nil)
		place := i
		if i > 0 {
			place += budget.Place
		}
		client := ex.open(place, w.clients[i])
		a := &actor{index: i, ex: ex, park: make(chan parked, 4), awake: make(chan bool)}
		ex.actors[i] = a
		w.seats[i].actor.Store(a)
		a.launch(ctx, client)
		if err := ex.await(a); err != nil {
			return ex, err
		}
	}
	opened = true
	return ex, nil
}

// open makes a client. The constructor may send commands, so it has the turn.
func (ex *execution) open(place int, r redis.UniversalClient) harness.Client {
	defer ex.w.giveTurn()()
	return ex.spec.Program.Open(place, r)
}

// await gives the turn to the client, and returns with it when the client is parked or done.
func (ex *execution) await(a *actor) error {
	at, ok := ex.parks(a)
	if !ok {
		a.astray = true
		return stopped("client %d neither sent a command nor finished within %v%s", a.index+1, stall, ex.lastSent(a))
	}
	a.at = at
	if a.at.kind == atEnd {
		a.done = true
		ex.w.seats[a.index].actor.Store(nil)
		return a.at.err
	}
	return nil
}

// parks gives the turn away until the client parks. ok is false if it does not park within stall.
func (ex *execution) parks(a *actor) (at parked, ok bool) {
	defer ex.w.giveTurn()()
	select {
	case at = <-a.park:
		return at, true
	default:
	}
	ex.alarm.Reset(stall)
	select {
	case at = <-a.park:
		return at, true
	case <-ex.alarm.C:
		return at, false
	}
}

func (ex *execution) lastSent(a *actor) string {
	if !a.started {
		return ": it never sent any"
	}
	return ": it may wait for something else than a reply"
}

// step carries out a choice and returns the move that it was.
func (ex *execution) step(ctx context.Context, c interleave.Choice) (did move, err error) {
	if len(ex.path) == maxSteps {
		return did, stopped("a schedule of %d steps does not end: the last command was %s: does a client try for ever?", maxSteps, ex.spins())
	}
	ex.print = ex.printWith(c)
	ex.path = append(ex.path, c)
	ex.now = ex.now.Truncate(tick) + tick
	ex.times = append(ex.times, ex.now)
	ex.w.setTime(ex.now)
	ex.trace.start(ex, c)
	ops := len(ex.ops)
	i, isClient := c.Client()
	switch {
	case !isClient:
		did, err = ex.act(ctx, c)
	case c.IsCrash():
		did, err = ex.crash(c, ex.actors[i])
	default:
		did, err = ex.run(c, ex.actors[i])
	}
	if err != nil {
		return did, err // a client may be astray and still at work: what it records is nobody's business
	}
	ex.fresh = isClient && !c.IsCrash()
	ended := ex.ops[ops:]
	ex.observe(ctx, ended)
	ex.trace.finish(ended, ex.ops[ops+len(ended):])
	return did, err
}

// printWith returns the fingerprint after a choice. Clients that act on what they read alone leave the same fingerprint for
// the same choices. Of a command's arguments only the keys count: tokens may be random.
func (ex *execution) printWith(c interleave.Choice) uint64 {
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, ex.print) // to memory
	_, _ = h.Write([]byte{byte(c)})
	if i, ok := c.Client(); ok {
		a := ex.actors[i]
		_, _ = h.Write([]byte{byte(a.at.kind)})
		if a.at.kind == inCommand && !a.done {
			next := a.at.conn.queue[0]
			_, _ = h.Write(next.args[0])
			for _, key := range slices.Concat(next.reads, next.writes) {
				_, _ = h.Write([]byte(key))
			}
		}
	}
	return h.Sum64()
}

// run lets a client take its next step, or lets its command or its answer be lost or late. A client that sleeps wakes up
// first. If some lease ends during its sleep, waking up is the whole step.
func (ex *execution) run(c interleave.Choice, a *actor) (did move, err error) {
	if a.done {
		return did, diverged(a)
	}
	did = ex.next(c, a)
	ops := len(ex.ops)
	a.started = true
	ex.last = a.index
	slept, err := ex.wake(a)
	if slept || err != nil {
		did.access, did.ends = access{}, false
		return did, err
	}
	switch a.at.kind {
	case inCommand:
		a.begin(ex.now)
		a.commands++
		if err := ex.deliver(c, a); err != nil {
			return did, err
		}
		ex.now += tick / 2
		a.at.conn.reply <- true
	case inClock:
		a.begin(ex.now)
		ex.looks++
		ex.clocked = true
		ex.trace.looked(ex.clock(a.index))
		a.awake <- true
	case inSleep, inWork:
		a.awake <- true
	}
	if err := ex.await(a); err != nil {
		return did, err
	}
	did.ends = len(ex.ops) > ops
	return did, nil
}

// wake lets time pass until the client's sleep is over, if it sleeps. slept is true if some lease ended meanwhile, so that
// others may have something to do before the client goes on.
func (ex *execution) wake(a *actor) (slept bool, err error) {
	if a.ready <= ex.now {
		return false, nil
	}
	slept, err = ex.endsBefore(a.ready)
	if err != nil {
		return false, err
	}
	a.begin(ex.now)
	ex.trace.waited(a.ready - ex.now)
	return slept && a.at.kind != inSleep, ex.passTo(a.ready)
}

// crash ends a client before its next step. The outcome of the operation that it cuts off stays unknown.
func (ex *execution) crash(c interleave.Choice, a *actor) (move, error) {
	if a.done {
		return move{}, diverged(a)
	}
	ex.left.Crashes--
	ex.meet(harness.ClientCrashed)
	ex.end(a)
	return move{choice: c}, ex.await(a)
}

// end tells a parked client that it has crashed. Its goroutine goes on to its end, but its connections send nothing more.
func (ex *execution) end(a *actor) {
	a.crashed = true
	a.lastWord = a.inOp && a.at.kind != inWork
	if a.at.kind == inCommand {
		a.at.conn.reply <- false
	} else {
		a.awake <- false
	}
}

// act carries out a choice that happens to no client.
func (ex *execution) act(ctx context.Context, c interleave.Choice) (move, error) {
	did := move{choice: c, world: true}
	switch {
	case c.IsTime():
		ends, err := ex.pass(c.Number())
		did.nears = !ends
		return did, err
	case c.Kind() == interleave.Arrives:
		did, err := ex.arrive(c.Number())
		did.choice, did.looks = c, ex.spec.Program.Observe != nil
		return did, err
	case c == interleave.HoldReplication:
		ex.left.Failovers--
		ex.held = true
		return did, ex.w.holdReplication()
	case c == interleave.Promote:
		ex.held, ex.known = false, false
		for i := range ex.late { // it was sent to the old primary
			ex.late[i].arrived = true
		}
		ex.meet(harness.ReplicaPromoted)
		return did, ex.w.promote(ctx)
	case c == interleave.FlushScripts:
		ex.left.Flushes--
		return did, ex.w.flush()
	}
	return did, fmt.Errorf("explore: unknown choice %v", c)
}

// record keeps an operation that has ended, and for which that many commands were sent.
func (ex *execution) record(op harness.Op, commands int) {
	ex.ops = append(ex.ops, op)
	if commands == 0 && op.Outcome == harness.OK && claims(op) && ex.idle == "" {
		ex.idle = fmt.Sprintf("client %d's %s was answered %s without any command through the client that it was given", op.Client, op.Kind, cmp.Or(op.Result, "yes"))
	}
}

// claims reports whether the operation's answer gives its caller something that nobody else may have.
func claims(op harness.Op) bool {
	switch op.Kind {
	case harness.Acquire, harness.Next:
		return true
	case harness.Claim:
		return op.Result == harness.ResultFirst
	}
	return false
}

// history returns the history for the checkers. Clients' ids count from 1, as people do; there is no worker 0.
func (ex *execution) history() harness.History {
	return harness.History{
		Meta: harness.Meta{
			Name: ex.spec.Program.Name, Workers: len(ex.actors) + 1, Clients: len(ex.actors), Groups: 1, Kinds: ex.spec.Program.Kinds,
		},
		Ops: harness.OpsOf(ex.ops),
		End: &harness.End{At: ex.now},
	}
}

// drain runs a schedule to some end that is not judged, so that its clients stay connected.
func (ex *execution) drain(ctx context.Context) error {
	for {
		moves, err := ex.moves()
		if err != nil || len(moves) == 0 {
			return err
		}
		if _, err := ex.step(ctx, moves[0].choice); err != nil {
			ex.abandon()
			return err
		}
	}
}

// abandon ends a schedule early: every parked client crashes. Errors of that are dropped, since the one that led here is
// reported.
func (ex *execution) abandon() {
	for _, a := range ex.actors {
		if a != nil && !a.done && !a.astray {
			ex.end(a)
			_ = ex.await(a)
		}
	}
}

// spins describes what the client that took the last step would do next, for a schedule that does not end.
func (ex *execution) spins() string {
	for _, a := range ex.actors {
		if !a.done && a.index == ex.last && a.at.kind == inCommand {
			return fmt.Sprintf("client %d's %s", a.index+1, strings.TrimSpace(a.at.conn.queue[0].text(ex.w)))
		}
	}
	return fmt.Sprintf("client %d's", ex.last+1)
}
