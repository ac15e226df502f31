package explore

import (
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
)

// This file says when an operation took effect. Under load that is known only to lie between its call and its return.
// In a schedule every step is known, so a lease, window or mark is counted from the first step that can have begun it.

// takesEffect finds out whether the current operation takes effect with the actor's next command. Call it before the
// command, and call the returned function with the reply. The function returns true if the command may have written. It
// also returns true if the reply tells the time of day or how long a lease still runs, from which the client can
// compute the end of its own lease. If the time of the effect is known already, or does not matter, it returns false.
func (a *actor) takesEffect() func(reply string) bool {
	if a.tookEffect || !a.countsFromEffect() {
		return func(string) bool { return false }
	}
	on := a.parkedAt.Pending
	c := *on.Next()
	tells := a.ex.asksTTL(&c, on) || a.ex.readsClock(&c, on)
	return func(reply string) bool {
		return tells || (c.Changes() || c.DependsOnTime()) && !c.ChangedNothing(reply)
	}
}

// asksTTL reports whether the outcome of a command, or of the transaction that it executes, depends on a remaining TTL.
func (ex *execution) asksTTL(c *command.Command, on *command.Pending) bool {
	return ex.anyCommand(c, on, ex.w.Scripts.ReadsTTL)
}

// countsFromEffect reports whether a grant or mark of the actor's client begins when it takes effect, and not with the
// operation's first step. This is so in programs of locks and filters, if the client has one thread.
func (a *actor) countsFromEffect() bool {
	return !a.hasThreads() && slices.ContainsFunc(a.ex.spec.Program.Kinds, func(k harness.Kind) bool {
		return k == harness.Acquire || k == harness.Claim
	})
}

// noteEffect records that the current operation takes effect at the given time. Later calls do nothing.
func (a *actor) noteEffect(at time.Duration) {
	if a.inOp && !a.tookEffect {
		a.tookEffect, a.tookEffectAt = true, at
	}
}

// sleep delays the actor's next step by d. The argument between says whether the actor sleeps between two operations.
func (a *actor) sleep(d time.Duration, between bool) {
	a.wakeAt = max(a.wakeAt, a.ex.now) + d
	a.sleepsBetweenOps, a.slept = between, a.slept || !between
}

// mayBegin reports whether the actor's next step may turn out to be the beginning of the current operation: see
// calledAt.
func (a *actor) mayBegin() bool { return !a.inOp || !a.tookEffect && a.countsFromEffect() }

// calledAt returns the time at which a finished operation began, for the history. A grant or mark by a client with one
// thread begins when it takes effect, unless the client slept during the operation. Every other operation begins with
// its first step, since any of its steps may have decided the outcome.
func (a *actor) calledAt(op *harness.Op) time.Duration {
	if a.tookEffect && !a.slept && a.countsFromEffect() && op.Outcome == harness.OK && begins(*op) {
		return a.tookEffectAt
	}
	return a.callAt
}

// begins reports whether a successful operation begins a lease or a mark.
func begins(op harness.Op) bool {
	switch op.Kind {
	case harness.Acquire, harness.Extend, harness.Confirm:
		return true
	case harness.Claim:
		return op.Result == harness.ResultFirst
	}
	return false
}
