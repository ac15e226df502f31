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
	// start is the virtual time at which a schedule begins, in the middle of a millisecond. Time passes to the middle
	// of others, so each lease begins in the same phase, and there is room on both sides.
	start = keyspace.Grain / 2
	// virtual time that a look at a clock takes; all looks between two passings of time take less than start
	tick = time.Microsecond
)

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
	stepTimes   []time.Duration // stamps of the steps and, after them, of the harness's probes
	ops         []harness.Op
	situations  []harness.SituationName // situations that the explorer brought about
	deadlock    *harness.Anomaly
	undeclared  *harness.Anomaly // a script has touched a key that it does not declare; nil: none has
	fingerprint uint64           // of what happened: choices, names of commands and their keys
	trace       *trace.Trace     // nil: steps are not written down

	recorded  func(*actor) // called with a client whose operation has just ended; nil: nobody is told
	finishing bool         // the program looks at the end of the schedule

	findings.Coverage // what it has contained so far
	virtualTime
	waitBounds
	faults
	disturbance
}

// disturbance is what came between that is no part of the schedule: see runner.undisturbed.
type disturbance struct {
	missesScript bool // Redis lacked a script that it has in every other schedule
	waitCutShort bool // a WAIT returned before its replicas had acknowledged
	stillBefore  int  // standstills of its world before it began
}

// virtualTime is the time of a schedule. One clock serves the servers, the clients and the history. It goes on by a
// tick with each look at it, so that no two looks show the same, and stands still in steps without one: what a client
// reads does not depend on what others do.
type virtualTime struct {
	now   time.Duration // since the schedule began
	order time.Duration // the step at hand in microseconds, and what has happened in it in nanoseconds
}

// stamp returns the time of what happens now, as the history has it: the millisecond, which is Redis's unit, and in it
// the number of the step in microseconds. So a lease is over when as many milliseconds have begun as it has, and what
// happens in later steps is after it.
func (t *virtualTime) stamp() time.Duration { return t.now.Truncate(keyspace.Grain) + t.order }

// nextStep begins a step, and returns its stamp.
func (t *virtualTime) nextStep() time.Duration {
	t.order = t.order.Truncate(time.Microsecond) + time.Microsecond
	return t.stamp()
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
	lostFrom           time.Duration // stamp of the step from which it hears nothing
	promoted           bool          // the replica has been promoted
	slowed             bool          // a millisecond has passed inside a script
	slow               bool          // it does so in the command at hand
}

// newExecution returns a schedule that has not begun.
func newExecution(spec *Spec, budget interleave.Budget, w *world) *execution {
	return &execution{
		spec: spec, budget: budget, w: w, virtualTime: virtualTime{now: start}, faults: faults{remaining: budget},
		disturbance: disturbance{stillBefore: w.standstills()},
	}
}

// record keeps an operation that has ended, and for which that many commands were sent.
func (ex *execution) record(op harness.Op, commands int) {
	ex.ops, ex.idleFor = append(ex.ops, op), 0
	if commands == 0 && !ex.sharesMemory() && op.Outcome == harness.OK && grantsExclusive(op) && ex.GrantedFree == "" {
		ex.GrantedFree = fmt.Sprintf("client %d's %s was answered %s without any command through the client that it "+
			"was given", op.Client, op.Kind, cmp.Or(op.Result, "yes"))
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
	h := harness.History{
		Meta: harness.Meta{
			Name: ex.spec.Program.Name, Workers: len(ex.actors) + 1, Clients: len(ex.actors), Groups: 1,
			Kinds: ex.spec.Program.Kinds,
		},
		Ops: harness.OpsOf(ex.ops),
		End: &harness.End{At: ex.stamp()},
	}
	if ex.promoted { // what a lost write brings about is no fault of the operation that finds it
		h.Faults = []harness.Fault{{Name: "failover", Start: ex.lostFrom}}
	}
	return h
}

// abandon ends a schedule early: every parked client crashes. Errors of that are dropped, since the one that led here
// is reported.
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
	if a := ex.last; !a.done && a.sends == nil && a.parkedAt.Kind == model.InCommand &&
		len(a.parkedAt.Pending.Queue) > 0 {
		return fmt.Sprintf("%s's %s", a, strings.TrimSpace(a.parkedAt.Pending.Next().Text(ex.w.Scripts)))
	}
	return fmt.Sprintf("%s's", ex.last)
}
