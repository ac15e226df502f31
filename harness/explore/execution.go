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

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

const (
	// start is the virtual time at which a schedule begins: in the middle of a millisecond, so that a lease that a client counts
	// from then on ends later than the beginning of the last millisecond of the same lease in Redis.
	start    = grain / 2
	tick     = time.Microsecond // virtual time that a step takes
	maxSteps = 400              // steps of one schedule; all their ticks together are less than Redis's unit of time

	parkWithin = 2 * time.Second // real time that a client may take to reach its next command
)

// execution is one schedule under way.
type execution struct {
	spec               *Spec
	budget             interleave.Budget
	w                  *world
	actors             []*actor      // the first thread of each client
	all                []*actor      // every thread, in the order in which they came into being
	running            *actor        // whom the scheduler waits for; nil: nobody
	waiters            []*conn       // connections on which something may arrive: a command that Redis keeps, a subscription
	trouble            error         // why the schedule cannot go on, as a client's goroutine has found out; nil: it can
	earlyWakes         int           // waits that ended with time although others could have gone on
	wakesCut           bool          // some wait could have ended so, and did not: see maxEarlyWakes
	idleFor            time.Duration // time that passed in waits since an operation has ended
	finishing          bool          // the program looks at the end of the schedule
	deadlock           *harness.Anomaly
	now                time.Duration // since the schedule began, in virtual time
	passedTo           time.Duration // the last time to which time passed other than by a step
	clockLooks         int           // looks of all clients at their clocks since passedTo
	ends               []keyEnd      // ends of the keys in the store, valid if endsKnown
	endsKnown          bool
	path               []interleave.Choice
	fingerprint        uint64          // fingerprint of what happened: choices, names of commands and their keys
	stepTimes          []time.Duration // virtual times of the steps and, after them, of the harness's probes
	lateCommands       []lateCommand   // commands that their clients have given up
	ops                []harness.Op
	remaining          interleave.Budget       // what may still go wrong
	last               *actor                  // took the last step; nil: none yet
	justStepped        bool                    // the last choice was a step of that client
	replicationStopped bool                    // the replica that will be promoted hears nothing
	wroteSinceStop     bool                    // something was written since replication stopped
	ttlSet             bool                    // some command may have set a TTL
	situations         []harness.SituationName // situations that the explorer brought about
	grantedFree        string                  // describes an operation that was granted without a command; empty: none was
	clockRead          bool                    // somebody has looked at a clock
	expired            bool                    // time has passed beyond the end of a lease
	tooManyEnds        bool                    // there were more instants to which time could have passed than are tried
	disturbed          bool                    // something that is not part of the schedule came between: a missing script, a WAIT cut short
	alarm              *time.Timer

	memory   *memory   // what the search knows, if this schedule is kept or run from it; nil: it is neither
	recalls  bool      // the schedule is run from memory: no client and no Redis takes part
	store    *contents // what is stored, if memory is not nil
	replica  *contents // what the replica will have that is promoted
	promoted bool      // it has been promoted
	looking  *look     // the program's look at the store under way; nil: none, or it is not kept
	trails   *trails   // of a schedule that is really run, by which its state can be told; nil: nobody asks for it

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
	return fmt.Errorf("%w: %s is done where it had a step to take before", errDiverged, a)
}

// beginSchedule starts a schedule: every client runs up to its first command.
func beginSchedule(ctx context.Context, spec *Spec, budget interleave.Budget, w *world, alarm *time.Timer) (*execution, error) {
	if err := w.endThreads(); err != nil {
		return nil, err
	}
	if err := w.reset(ctx); err != nil {
		return nil, err
	}
	ex := &execution{spec: spec, budget: budget, w: w, now: start, passedTo: start, remaining: budget, alarm: alarm, memory: w.memory}
	if ex.memory != nil {
		ex.store = ex.memory.empty
	}
	w.current = ex
	ex.actors = make([]*actor, budget.Clients)
	opened := false
	defer func() {
		if !opened { // Open or a client panicked, or a client is astray
			ex.abandon()
		}
	}()
	for i := range ex.actors {
		w.dialers[i].actor.Store(nil)
		w.dialers[i].watchers = nil
		client, err := ex.openClient(placeOf(budget, i), i)
		if err != nil {
			return ex, err
		}
		a := &actor{index: i, ex: ex, park: make(chan parked, 4), awake: make(chan bool)}
		ex.actors[i], ex.all = a, append(ex.all, a)
		if ex.memory != nil {
			a.mind, a.heard = &ex.memory.root, beginning(budget, i)
		}
		w.dialers[i].actor.Store(a)
		a.launch(ctx, client)
		if err := ex.awaitClient(a); err != nil {
			return ex, err
		}
	}
	opened = true
	return ex, nil
}

// openClient makes a client. The constructor may send commands, so it has the turn.
func (ex *execution) openClient(place, i int) (c harness.Client, err error) {
	defer ex.w.giveTurn()()
	p := ex.spec.Program
	if p.Gate == interleave.InProcess {
		return p.Open(place, ex.w.clients[i]), nil
	}
	defer func() {
		if p := recover(); p != nil {
			if err = brokenOutside(i, p); err == nil {
				panic(p)
			}
		}
	}()
	return p.OpenAt(place, ex.w.gates.addresses[i]), nil
}

// brokenOutside returns the error of a client that panicked since the program outside broke down; nil for any other panic.
func brokenOutside(client int, panicked any) error {
	if err, ok := panicked.(error); ok && errors.Is(err, interleave.ErrOutside) {
		return stopped("client %d: %v", client+1, err)
	}
	return nil
}

// awaitClient gives the turn to the client, and returns with it when the client is parked or done.
func (ex *execution) awaitClient(a *actor) error {
	ex.running = a
	at, ok := ex.awaitParking(a)
	ex.running = nil
	if !ok {
		a.astray, ex.actors[a.index].crashed = true, true
		return cmp.Or(ex.trouble, stopped("%s neither sent a command nor finished within %v%s", a, parkWithin, ex.whyStuck(a)))
	}
	a.parkedAt = at
	a.done = at.kind == atEnd
	if ex.trouble == nil && at.err == nil {
		if err := ex.learnMind(a); err != nil {
			return err
		}
	}
	if a.done {
		if !ex.isAlive(a.index) {
			ex.w.dialers[a.index].actor.Store(nil)
		}
		return cmp.Or(ex.trouble, a.parkedAt.err)
	}
	if ex.trouble != nil {
		return ex.trouble
	}
	return ex.startThreads()
}

// awaitParking gives the turn away until the client parks. ok is false if it does not park within parkWithin.
func (ex *execution) awaitParking(a *actor) (at parked, ok bool) {
	defer ex.w.giveTurn()()
	select {
	case at = <-a.park:
		return at, true
	default:
	}
	ex.alarm.Reset(parkWithin)
	select {
	case at = <-a.park:
		return at, true
	case <-ex.alarm.C:
		return at, false
	}
}

func (ex *execution) whyStuck(a *actor) string {
	if !a.started {
		return ": it never sent any"
	}
	return ": it may wait for something else than a reply"
}

// step carries out a choice and returns the move that it was.
func (ex *execution) step(ctx context.Context, c interleave.Choice) (did move, err error) {
	if len(ex.path) == maxSteps {
		return did, stopped("a schedule of %d steps does not end: the last command was %s: does a client try for ever?", maxSteps, ex.describeNext())
	}
	if !ex.recalls {
		ex.fingerprint = ex.fingerprintWith(c)
	}
	ex.path = append(ex.path, c)
	ex.now = ex.now.Truncate(tick) + tick
	ex.stepTimes = append(ex.stepTimes, ex.now)
	if !ex.recalls {
		ex.w.setTime(ex.now)
	}
	ex.trace.startStep(ex, c)
	ops := len(ex.ops)
	i, isClient := c.Client()
	switch {
	case !isClient:
		did, err = ex.stepWorld(ctx, c)
	case c.IsCrash():
		did, err = ex.crash(c, ex.actors[i])
	default:
		did, err = ex.stepThread(c)
	}
	if err == nil && !ex.recalls {
		err = ex.listen()
	}
	if err != nil {
		return did, err // a client may be astray and still at work: what it records is nobody's business
	}
	ex.justStepped = isClient && !c.IsCrash()
	ended := ex.ops[ops:]
	if err := ex.observe(ctx, ended); err != nil {
		return did, err
	}
	ex.trace.finishStep(ended, ex.ops[ops+len(ended):])
	return did, ex.lookAtStore()
}

// fingerprintWith returns the fingerprint after a choice. Clients that act on what they read alone leave the same fingerprint for
// the same choices. Of a command's arguments only the keys count: tokens may be random.
func (ex *execution) fingerprintWith(c interleave.Choice) uint64 {
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, ex.fingerprint) // to memory
	_, _ = h.Write([]byte{byte(c), byte(c >> 8)})
	if a := ex.actorOf(c); a != nil {
		_, _ = h.Write([]byte{byte(a.parkedAt.kind)})
		if a.parkedAt.kind == inCommand && a.sends == nil && !a.done {
			next := a.parkedAt.conn.queue[0]
			_, _ = h.Write(next.args[0])
			for _, key := range slices.Concat(next.reads, next.writes) {
				_, _ = h.Write([]byte(key))
			}
		}
	}
	return h.Sum64()
}

// stepClient lets a client take its next step, or lets its command or its answer be lost or late. A client that sleeps wakes up
// first. If some lease ends during its sleep, waking up is the whole step.
func (ex *execution) stepClient(c interleave.Choice, a *actor) (did move, err error) {
	if a.done {
		return did, diverged(a)
	}
	did = ex.nextMove(c, a)
	ops := len(ex.ops)
	a.started = true
	ex.last = a
	if a.waits() {
		did.ends, err = ex.goOn(c, a)
		return did, err
	}
	slept, err := ex.wake(a)
	if slept || err != nil {
		did.access, did.ends = access{}, false
		return did, err
	}
	heard := event{kind: awake}
	switch a.parkedAt.kind {
	case inCommand:
		a.beginOp(ex.now)
		ex.countCommand(a)
		ex.noteOutcome(&a.parkedAt.conn.queue[0], a.parkedAt.conn)
		var kept bool
		if heard, kept, err = ex.deliver(c, a); err != nil {
			return did, err
		}
		ex.now += tick / 2
		if kept {
			did.ends = false
			return did, nil
		}
	case inClock:
		a.beginOp(ex.now)
		ex.clockLooks++
		ex.clockRead = true
		heard = event{kind: looked, at: ex.clock(a.index)}
		ex.trace.looked(heard.at)
	}
	if err := ex.goOnAfter(a, heard); err != nil {
		return did, err
	}
	did.ends = len(ex.ops) > ops
	return did, nil
}

// wake lets time pass until the client's sleep is over, if it sleeps. slept is true if some lease ended meanwhile, so that
// others may have something to do before the client goes on.
func (ex *execution) wake(a *actor) (slept bool, err error) {
	if a.wakeAt <= ex.now {
		return false, nil
	}
	slept, err = ex.leaseEndsBefore(a.wakeAt)
	if err != nil {
		return false, err
	}
	a.beginOp(ex.now)
	ex.trace.waited(a.wakeAt - ex.now)
	return slept && a.parkedAt.kind != inSleep, ex.passTo(a.wakeAt)
}

// crash ends a client before its next step. The outcome of the operation that it cuts off stays unknown.
func (ex *execution) crash(c interleave.Choice, a *actor) (move, error) {
	if !ex.isAlive(a.index) {
		return move{}, diverged(a)
	}
	ex.remaining.Crashes--
	ex.noteSituation(harness.ClientCrashed)
	did := move{choice: c, access: ex.waitAccess(a.index)}
	return did, ex.endClient(a.index)
}

// stepWorld carries out a choice that happens to no client.
func (ex *execution) stepWorld(ctx context.Context, c interleave.Choice) (move, error) {
	did := move{choice: c, world: true}
	switch {
	case c.IsTime():
		ends, err := ex.passToInstant(c.Number())
		did.approaches = !ends
		return did, err
	case c.Kind() == interleave.Arrives:
		did, err := ex.arrive(c.Number())
		did.choice, did.observes = c, ex.spec.Program.Observe != nil
		return did, err
	case c == interleave.StopReplication:
		ex.remaining.Failovers--
		ex.replicationStopped = true
		ex.changeWorld(c)
		if ex.recalls {
			return did, nil
		}
		return did, ex.w.stopReplication()
	case c == interleave.Promote:
		ex.replicationStopped, ex.endsKnown = false, false
		for i := range ex.lateCommands { // it was sent to the old primary
			ex.lateCommands[i].arrived = true
		}
		ex.noteSituation(harness.ReplicaPromoted)
		ex.promoted = true
		ex.changeWorld(c)
		if ex.recalls {
			return did, nil
		}
		if err := ex.w.promote(ctx); err != nil {
			return did, err
		}
		return did, ex.loseWaits()
	case c == interleave.FlushScripts:
		ex.remaining.Flushes--
		ex.changeWorld(c)
		if ex.recalls {
			return did, nil
		}
		return did, ex.w.flush()
	}
	return did, fmt.Errorf("explore: unknown choice %v", c)
}

// record keeps an operation that has ended, and for which that many commands were sent.
func (ex *execution) record(op harness.Op, commands int) {
	ex.ops, ex.idleFor = append(ex.ops, op), 0
	if commands == 0 && op.Outcome == harness.OK && grantsExclusive(op) && ex.grantedFree == "" {
		ex.grantedFree = fmt.Sprintf("client %d's %s was answered %s without any command through the client that it was given", op.Client, op.Kind, cmp.Or(op.Result, "yes"))
	}
}

// grantsExclusive reports whether the operation's answer gives its caller something that nobody else may have.
func grantsExclusive(op harness.Op) bool {
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
	if ex.recalls {
		return
	}
	for i, a := range ex.actors {
		if a != nil {
			_ = ex.endClient(i)
		}
	}
}

// describeNext describes what the client that took the last step would do next, for a schedule that does not end.
func (ex *execution) describeNext() string {
	if a := ex.last; !a.done && a.sends == nil && a.parkedAt.kind == inCommand && len(a.parkedAt.conn.queue) > 0 {
		return fmt.Sprintf("%s's %s", a, strings.TrimSpace(a.parkedAt.conn.queue[0].text(ex.w)))
	}
	return fmt.Sprintf("%s's", ex.last)
}
