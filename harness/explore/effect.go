package explore

import (
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
)

// This file says when an operation took effect. Under load that is somewhere between its call and its return. In a
// schedule each step is known, so its lease, window or mark is counted from the first step that can have begun it.

// takesEffect is asked before the actor's next command is sent. What it returns reports of the reply whether the
// command can have begun what its operation brings about: it has written, or has told the time of day or what is left
// of a lease, from which an end may have been reckoned. It says no where that is known already, or makes no difference.
func (a *actor) takesEffect() func(reply string) bool {
	if a.acted || !a.movesCalls() {
		return func(string) bool { return false }
	}
	on := a.parkedAt.Pending
	c := *on.Next()
	tells := a.ex.asksTTL(&c, on) || a.ex.readsClock(&c, on)
	return func(reply string) bool { return tells || (c.Changes() || c.Timely()) && !c.ChangedNothing(reply) }
}

// asksTTL reports whether the outcome of a command, or of the transaction that it executes, depends on what is left of
// a lease.
func (ex *execution) asksTTL(c *command.Command, on *command.Pending) bool {
	return ex.anyCommand(c, on, ex.w.Scripts.ReadsTTL)
}

// movesCalls reports whether operations of the actor count from when they take effect: it does them alone, and they
// begin leases or marks.
func (a *actor) movesCalls() bool {
	return !a.hasThreads() && slices.ContainsFunc(a.ex.spec.Program.Kinds, func(k harness.Kind) bool {
		return k == harness.Acquire || k == harness.Claim
	})
}

// act notes that the operation at hand takes effect, at the given time. Later calls do nothing.
func (a *actor) act(at time.Duration) {
	if a.inOp && !a.acted {
		a.acted, a.actedAt = true, at
	}
}

// sleep lets the actor sleep for d before its next step, in an operation or between two.
func (a *actor) sleep(d time.Duration, between bool) {
	a.wakeAt = max(a.wakeAt, a.ex.now) + d
	a.rests, a.slept = between, a.slept || !between
}

// mayBegin reports whether the actor's next step may be the one from which its operation counts. In doubt it is.
func (a *actor) mayBegin() bool { return !a.inOp || !a.acted && a.movesCalls() }

// calledAt returns the time from which an operation that has just ended counts. It is that at which it took effect for
// what was granted or marked, where the client did it alone. Whoever gives something back has given it up from the
// beginning. Of what was refused or has no answer nobody knows which step decided, and a number may be drawn by the
// first read.
func (a *actor) calledAt(op *harness.Op) time.Duration {
	if a.acted && !a.slept && a.movesCalls() && op.Outcome == harness.OK && begins(*op) {
		return a.actedAt
	}
	return a.callAt
}

// begins reports whether an operation that was ok begins a lease, or a mark.
func begins(op harness.Op) bool {
	switch op.Kind {
	case harness.Acquire, harness.Extend, harness.Confirm:
		return true
	case harness.Claim:
		return op.Result == harness.ResultFirst
	}
	return false
}
