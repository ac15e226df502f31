package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/findings"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/trace"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

const (
	// start is the virtual time at which a schedule begins: in the middle of a millisecond, so that a lease that a client counts
	// from then on ends later than the beginning of the last millisecond of the same lease in Redis.
	start = keyspace.Grain / 2
	tick  = time.Microsecond // virtual time that a step takes; all those of one schedule together are less than Redis's unit of time
)

// parkWithin is the real time that a client may take to reach its next command. This package's tests give it more, since a machine
// that does other work may stand still for longer.
var parkWithin = 2 * time.Second

// execution is one schedule under way: its rules, and what they go by.
type execution struct {
	spec    *Spec
	budget  interleave.Budget
	w       *world
	backend backend // makes happen what the schedule says

	actors      []*actor // the first thread of each client
	all         []*actor // every thread, in the order in which they came into being
	last        *actor   // took the last step; nil: none yet
	justStepped bool     // the last choice was a step of that client

	path        []interleave.Choice
	stepTimes   []time.Duration // virtual times of the steps and, after them, of the harness's probes
	ops         []harness.Op
	situations  []harness.SituationName // situations that the explorer brought about
	deadlock    *harness.Anomaly
	fingerprint uint64       // of what happened: choices, names of commands and their keys
	trace       *trace.Trace // nil: steps are not written down

	findings.Coverage // what it has contained so far
	virtualTime
	waitBounds
	faults
	liveParts
	recording
}

// virtualTime is the time of a schedule.
type virtualTime struct {
	now        time.Duration // since the schedule began
	passedTo   time.Duration // the last time to which time passed other than by a step
	clockLooks int           // looks of all clients at their clocks since passedTo
}

// waitBounds keeps waits from going on for ever: see maxEarlyWakes and maxIdleLeases.
type waitBounds struct {
	earlyWakes int           // waits that ended with time although others could have gone on
	idleFor    time.Duration // time that passed in waits since an operation has ended
}

// faults is what may still go wrong, and what has begun to.
type faults struct {
	remaining          interleave.Budget
	lateCommands       []lateCommand // commands that their clients have given up
	replicationStopped bool          // the replica that will be promoted hears nothing
	wroteSinceStop     bool          // something was written since replication stopped
	promoted           bool          // the replica has been promoted
}

// liveParts is what only a schedule has that is really run.
type liveParts struct {
	running      *actor         // whom the scheduler waits for; nil: nobody
	waiters      []*conn        // connections on which something may arrive: a command that Redis keeps, a subscription
	trouble      error          // why the schedule cannot go on, as a client's goroutine has found out; nil: it can
	finishing    bool           // the program looks at the end of the schedule
	ends         []keyspace.End // ends of the keys in the store, valid if endsKnown
	endsKnown    bool
	missesScript bool // Redis lacked a script that it has in every other schedule: see runner.undisturbed
	waitCutShort bool // a WAIT returned before its replicas had acknowledged
	alarm        *time.Timer
	recorded     func(*actor) // called with a client whose operation has just ended; may be nil
	trails       *trails      // by which its state can be told; nil: nobody asks for it
}

// recording is what a schedule has that is kept in memory, or run from it.
type recording struct {
	memory      *model.Memory // what the search knows; nil: the schedule is neither
	learning    bool          // what this schedule shows is kept
	store       *model.Contents
	replica     *model.Contents // what the replica will have that is promoted
	observation *observation    // the program's look at the store under way; nil: none, or it is not kept
}

// beginSchedule starts a schedule: every client runs up to its first command.
func beginSchedule(ctx context.Context, spec *Spec, budget interleave.Budget, w *world, alarm *time.Timer) (*execution, error) {
	if err := w.endThreads(); err != nil {
		return nil, err
	}
	if err := w.reset(); err != nil {
		return nil, err
	}
	ex := &execution{
		spec: spec, budget: budget, w: w, virtualTime: virtualTime{now: start, passedTo: start}, faults: faults{remaining: budget}, liveParts: liveParts{alarm: alarm},
		recording: recording{memory: w.memory, learning: w.memory != nil},
	}
	ex.backend = live{ex}
	if ex.memory != nil {
		ex.store = ex.memory.Empty
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
			a.mind, a.heard = &ex.memory.Root, beginning(budget, i)
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
		return schedule.Stopped("client %d: %v", client+1, err)
	}
	return nil
}

// awaitClient gives the turn to the client, and returns with it when the client is parked or done.
func (ex *execution) awaitClient(a *actor) error {
	ex.running = a
	at, ok := ex.awaitParking(a)
	if ok && ex.trouble == nil {
		ex.trouble = ex.settle(a)
	}
	ex.running = nil
	if !ok && a.expects {
		ex.trouble = cmp.Or(ex.trouble, unsubscribed(a))
	}
	if !ok {
		a.astray, ex.actors[a.index].crashed = true, true
		return cmp.Or(ex.trouble, schedule.Stopped("%s neither sent a command nor finished within %v%s", a, parkWithin, ex.whyStuck(a)))
	}
	a.parkedAt = at
	a.done = at.Kind == model.AtEnd
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

// awaitParking gives the turn away until the client parks. ok is false if it does not park within parkWithin, or a test
// says that it will not.
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
	case <-ex.spec.stuck:
		return at, false
	}
}

func (ex *execution) whyStuck(a *actor) string {
	if !a.started {
		return ": it never sent any"
	}
	if c := a.subscribedBy(); c != nil && c.failed == nil {
		return ": it may read a message that it has not asked for: see Subscriptions in workloads/clients/README.md"
	}
	return ": it may wait for something else than a reply"
}

// record keeps an operation that has ended, and for which that many commands were sent.
func (ex *execution) record(op harness.Op, commands int) {
	ex.ops, ex.idleFor = append(ex.ops, op), 0
	if commands == 0 && op.Outcome == harness.OK && grantsExclusive(op) && ex.GrantedFree == "" {
		ex.GrantedFree = fmt.Sprintf("client %d's %s was answered %s without any command through the client that it was given", op.Client, op.Kind, cmp.Or(op.Result, "yes"))
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

// abandon ends a schedule early: every parked client crashes. Errors of that are dropped, since the one that led here is
// reported.
func (ex *execution) abandon() {
	if !ex.backend.lasts() {
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
	if a := ex.last; !a.done && a.sends == nil && a.parkedAt.Kind == model.InCommand && len(a.parkedAt.Pending.Queue) > 0 {
		return fmt.Sprintf("%s's %s", a, strings.TrimSpace(a.parkedAt.Pending.Next().Text(ex.w.Scripts)))
	}
	return fmt.Sprintf("%s's", ex.last)
}
