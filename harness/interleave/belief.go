package interleave

import (
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Never is the index of a step that does not exist.
const Never = -1

// Belief is a range of steps in which a client has a lock as far as it knows. Checkers decide what it certainly holds:
// see [harness.Anomaly].
type Belief struct {
	Client    int    // from 0
	Key       string // key of the lock
	From      int    // index of the step whose reply granted it
	LeaseEnds int    // index of the step in which the lease ends, or Never
	// index of the step in which the client begins to release the lock, crashes, or gets the lock again; or Never
	To      int
	Renewed bool // the client gets the lock again at To
}

// Beliefs lists which client of a schedule had which lock, as far as it knew, in the order of operations. A lease ends
// as for the checkers, on a clock without drift. A crash ends a client's beliefs.
func (c Counterexample) Beliefs(clients int) []Belief {
	var all []Belief
	steps := c.CompletingSteps(clients)
	for i, op := range c.Ops {
		if !grantsLock(op) || steps[i] == Never || op.Client < 0 {
			continue
		}
		b := Belief{Client: ClientOf(op.Client, clients), Key: op.Key, From: steps[i],
			LeaseEnds: c.leaseEnds(steps[i], op)}
		b.To, b.Renewed = c.endOfBelief(steps, i, clients)
		all = append(all, b)
	}
	return all
}

// ClientOf returns the client, from 0, with the given id in an operation of a schedule; -1 is the harness. Client 0
// begins with id 1. After an operation of unknown outcome, clients+1 is added to the client's id: see
// [harness.Meta.Worker].
func ClientOf(id, clients int) int { return max(-1, harness.Meta{Workers: clients + 1}.Worker(id)-1) }

// CompletingSteps returns for each operation the index of the step that completed it, or Never. Times do not suffice,
// since an operation that sends nothing has no step, so it matches each client's steps in order.
func (c Counterexample) CompletingSteps(clients int) []int {
	steps := make([]int, len(c.Ops))
	next := map[int]int{} // by client: first step after those of earlier operations
	for i, op := range c.Ops {
		client := ClientOf(op.Client, clients)
		steps[i] = c.stepOfOp(next[client], client, op)
		if steps[i] != Never {
			next[client] = steps[i] + 1
		}
	}
	return steps
}

// stepOfOp returns the first step of op, from next on, after which its client believes something; if there is none, the
// last step of op.
func (c Counterexample) stepOfOp(next, client int, op harness.Op) int {
	step := Never
	for i := next; i < len(c.Steps); i++ {
		s := c.Steps[i]
		if s.Client != client+1 || s.Choice.IsCrash() || s.At < op.Call {
			continue
		}
		if s.At > op.Return {
			break
		}
		if step = i; s.Belief != "" {
			break
		}
	}
	return step
}

// grantsLock reports whether op granted or renewed a lock.
func grantsLock(op harness.Op) bool {
	return op.Outcome == harness.OK && (op.Kind == harness.Acquire || op.Kind == harness.Extend)
}

// leaseEnds returns the first step after from in which the lease of op is over, or Never.
func (c Counterexample) leaseEnds(from int, op harness.Op) int {
	end := op.HeldUntil(0)
	if end == harness.Forever {
		return Never
	}
	return c.StepAt(end, from+1)
}

// StepAt returns the index of the first step, starting at from, in which the time is t or later; Never: none.
func (c Counterexample) StepAt(t time.Duration, from int) int {
	for i := from; i < len(c.Steps); i++ {
		after := t // the last step counts as reaching t, since no later step shows how much time it lets pass
		if i+1 < len(c.Steps) {
			after = c.Steps[i+1].At
		}
		if s := c.Steps[i]; s.At >= t || s.Client == 0 && s.Choice.IsTime() && after >= t {
			return i
		}
	}
	return Never
}

// endOfBelief returns the step in which the client loses or begins to release the lock that operation i granted, and
// whether it gets the lock again there.
func (c Counterexample) endOfBelief(steps []int, i, clients int) (step int, renewed bool) {
	client := ClientOf(c.Ops[i].Client, clients)
	releasesAt, renewedAt := c.nextByOwner(steps, i, clients)
	for k := steps[i] + 1; k < len(c.Steps); k++ {
		s := c.Steps[k]
		own := s.Client == client+1
		if k == renewedAt {
			return k, true
		}
		if own && (s.Choice.IsCrash() || releasesAt >= 0 && s.At >= releasesAt) {
			return k, false
		}
	}
	return Never, false
}

// nextByOwner returns what the client of operation i does next with its lock: when it begins to release it, or -1, and
// the step that grants it again, or Never.
func (c Counterexample) nextByOwner(steps []int, i, clients int) (releasesAt time.Duration, renewedAt int) {
	for j := i + 1; j < len(c.Ops); j++ {
		switch x := c.Ops[j]; {
		case ClientOf(x.Client, clients) != ClientOf(c.Ops[i].Client, clients) || x.Key != c.Ops[i].Key:
		case x.Kind == harness.Release:
			return x.Call, Never
		case grantsLock(x):
			return -1, steps[j]
		}
	}
	return -1, Never
}

// Owners names the owner of the lock operation that each step completes, where a reader needs it: its client uses that
// lock under several, and the step's command does not name the one. Elsewhere it is empty.
func (c Counterexample) Owners(clients int) []string {
	type use struct {
		client int
		key    string
	}
	under := map[use][]string{}
	useOf := func(op harness.Op) use { return use{ClientOf(op.Client, clients), op.Key} }
	for _, op := range c.Ops {
		if all := under[useOf(op)]; usesLock(op) && !slices.Contains(all, op.Arg) {
			under[useOf(op)] = append(all, op.Arg)
		}
	}
	owners := make([]string, len(c.Steps))
	if clients < 1 { // then nothing says whose an operation is
		return owners
	}
	for i, step := range c.CompletingSteps(clients) {
		op := c.Ops[i]
		if step != Never && usesLock(op) && len(under[useOf(op)]) > 1 &&
			!slices.Contains(strings.Fields(c.Steps[step].Command), op.Arg) {
			owners[step] = op.Arg
		}
	}
	return owners
}

// usesLock reports whether op acts on a lock for an owner.
func usesLock(op harness.Op) bool {
	return op.Arg != "" && (op.Kind == harness.Acquire || op.Kind == harness.Extend || op.Kind == harness.Release)
}

// AsOwner returns a belief with the owner that it is about: "as client-1-again: holds lock until 20s". If either is
// empty, it returns belief.
func AsOwner(owner, belief string) string {
	if owner == "" || belief == "" {
		return belief
	}
	return "as " + units.Visible(owner) + ": " + belief
}
