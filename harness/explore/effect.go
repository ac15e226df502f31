package explore

import (
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
)

// This file says when an operation took effect. Under load that is somewhere between its call and its return. In a schedule each step is
// known, so its lease, window or mark is counted from the first step that can have begun it.

// takesEffect reports whether a command can begin what an operation brings about: it may write, or tells the time of day or what is left of
// a lease, from which an end may have been reckoned.
func (ex *execution) takesEffect(c *command.Command, on *command.Pending) bool {
	return c.Changes() || c.Timely() || ex.readsClock(c, on)
}

// movesCalls reports whether operations of the actor count from when they take effect: it does them alone, and they begin leases or marks.
func (a *actor) movesCalls() bool {
	return !a.hasThreads() && slices.ContainsFunc(a.ex.spec.Program.Kinds, func(k harness.Kind) bool { return k == harness.Acquire || k == harness.Claim })
}

// act notes that the operation at hand takes effect, at the given time. Later calls do nothing.
func (a *actor) act(at time.Duration) {
	if a.inOp && !a.acted {
		a.acted, a.actedAt = true, at
	}
}

// mayBegin reports whether the actor's next step can be the one from which its operation counts.
func (a *actor) mayBegin() bool { return !a.inOp || !a.acted && a.movesCalls() }

// calledAt returns the time from which an operation that has just ended counts. It is that at which it took effect for what was granted or
// marked, where the client did it alone. Whoever gives something back has given it up from the beginning. Of what was refused or has no answer
// nobody knows which step decided, and a number may be drawn by the first read.
func (a *actor) calledAt(op *harness.Op) time.Duration {
	if a.acted && a.movesCalls() && op.Outcome == harness.OK && begins(*op) {
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
