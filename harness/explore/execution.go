package explore

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/findings"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/trace"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

const (
	// start is the virtual time at which a schedule begins: the middle of a millisecond. Whenever time passes, it
	// passes to the middle of another millisecond. This leaves room for readings of clocks, which move the time on by
	// microseconds.
	start = keyspace.Grain / 2
	// tick is how far one reading of a clock moves virtual time on. The readings of a whole schedule take less than
	// half a millisecond, since it has at most schedule.MaxSteps steps.
	tick = time.Microsecond
)

// execution is one schedule under way: its choices so far, its history and what may still happen.
type execution struct {
	spec    *Spec
	budget  interleave.Budget
	w       *world
	backend backend // carries out the choices

	actors      []*actor // the first thread of each client
	all         []*actor // every thread, in the order in which they started
	last        *actor   // the actor that took the last step; nil: none yet
	justStepped bool     // the last choice was a step of that actor
	hasWaited   bool     // some step was the end of a wait

	path        []interleave.Choice
	stepTimes   []time.Duration // virtual times of the steps, then of the harness's probes
	ops         []harness.Op
	situations  []harness.SituationName // situations that the explorer caused
	deadlock    *harness.Anomaly
	undeclared  *harness.Anomaly // a script has touched a key that it does not declare; nil: no script has
	fingerprint uint64           // hash of choices, command names and their keys
	trace       *trace.Trace     // nil: steps are not written down

	// called for every actor before each step, and for an actor whose operation has ended; may be nil
	watch     func(*actor)
	finishing bool // Program.Finally is being called

	findings.Coverage // what the schedule has contained so far
	virtualTime
	waitBounds
	faults
	disturbance
}

// disturbance records events that are not part of the schedule: see runner.undisturbed.
type disturbance struct {
	missesScript bool // Redis lacked a script that it has in every other schedule
	waitCutShort bool // a WAIT returned before its replicas had acknowledged
	stillBefore  int  // number of standstills of its world before the schedule began
}

// virtualTime is the time of a schedule. The servers, the clients and the history share one clock. Each reading of the
// clock moves it on by a tick, so no two readings are equal. A step that does not read the clock does not move it. So
// what one client reads does not depend on how many other steps there were.
type virtualTime struct {
	now   time.Duration // time since virtual time 0
	order time.Duration // a microsecond for each step that has begun, and a nanosecond for each event of the last one
}

// stamp returns the current time for the history: whole milliseconds, which are Redis's unit, plus the step's number in
// microseconds. So later steps have later stamps, even in the same millisecond.
func (t *virtualTime) stamp() time.Duration { return t.now.Truncate(keyspace.Grain) + t.order }

// nextStep begins a step and returns its stamp.
func (t *virtualTime) nextStep() time.Duration {
	t.order = t.order.Truncate(time.Microsecond) + time.Microsecond
	return t.stamp()
}

// waitBounds limits waits that would never end: see maxEarlyWakes and maxIdleLeases.
type waitBounds struct {
	earlyWakes int           // number of waits that timed out although other actors could have run
	idleFor    time.Duration // time that passed in waits since the last operation ended
}

// faults holds what may still go wrong in a schedule, and the state of the faults that have begun.
type faults struct {
	remaining          interleave.Budget
	lateCommands       []lateCommand // commands that their clients have given up
	replicationStopped bool          // the replica that will be promoted no longer follows its primary
	wroteSinceStop     bool          // something was written since replication stopped
	lostFrom           time.Duration // stamp of the step in which replication stopped
	promoted           bool          // the replica has been promoted
	slowUsed           bool          // a millisecond has passed inside a script
	slowNow            bool          // a millisecond passes inside the current command
}

func newExecution(spec *Spec, budget interleave.Budget, w *world) *execution {
	return &execution{
		spec: spec, budget: budget, w: w, virtualTime: virtualTime{now: start}, faults: faults{remaining: budget},
		disturbance: disturbance{stillBefore: w.standstills()},
	}
}

// record keeps a finished operation. The parameter commands is the number of commands that the operation sent.
func (ex *execution) record(op harness.Op, commands int) {
	ex.ops, ex.idleFor = append(ex.ops, op), 0
	if commands == 0 && !ex.sharesMemory() && op.Outcome == harness.OK && grantsExclusive(op) && ex.GrantedFree == "" {
		ex.GrantedFree = fmt.Sprintf("client %d's %s was answered %s without any command through the client that it "+
			"was given", op.Client, op.Kind, cmp.Or(op.Result, "yes"))
	}
}

// grantsExclusive reports whether the operation's answer gives its client something that no other client may have.
func grantsExclusive(op harness.Op) bool {
	switch op.Kind {
	case harness.Acquire, harness.Next:
		return true
	case harness.Claim:
		return op.Result == harness.ResultFirst
	}
	return false
}

// history returns the history for the checkers. Client ids count from 1.
func (ex *execution) history() harness.History {
	h := harness.History{
		Meta: harness.Meta{
			Name: ex.spec.Program.Name, Workers: len(ex.actors) + 1, Clients: len(ex.actors), Groups: 1,
			Kinds: ex.spec.Program.Kinds,
		},
		Ops: harness.OpsOf(ex.ops),
		End: &harness.End{At: ex.stamp()},
	}
	if ex.promoted { // checkers do not blame an operation for finding a lost write
		h.Faults = []harness.Fault{{Name: "failover", Start: ex.lostFrom}}
	}
	return h
}

// abandon ends a schedule early by crashing every parked client. It drops errors, since the caller reports the error
// that made it end the schedule.
func (ex *execution) abandon() {
	if !ex.backend.hasRealClients() {
		return
	}
	for i, a := range ex.actors {
		if a != nil {
			_ = ex.endClient(i)
		}
	}
}

// describeNext describes the next command of the client that took the last step. The error about a schedule that does
// not end contains this description.
func (ex *execution) describeNext() string {
	if a := ex.last; !a.done && a.subscriptionConn == nil && a.parkedAt.Kind == model.InCommand &&
		len(a.parkedAt.Pending.Queue) > 0 {
		return fmt.Sprintf("%s's %s", a, strings.TrimSpace(a.parkedAt.Pending.Next().Text(ex.w.Scripts)))
	}
	return fmt.Sprintf("%s's", ex.last)
}
