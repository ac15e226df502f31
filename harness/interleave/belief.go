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

// Belief is a range of steps in which a client believes that it has a lock. Checkers decide what the client certainly
// holds: see [harness.Anomaly].
type Belief struct {
	Client    int    // number of the client, from 0
	Key       string // key of the lock
	From      int    // index of the step whose reply granted the lock
	LeaseEnds int    // index of the step in which the lease ends, or Never
	// index of the step in which the client begins to release the lock, crashes, or gets the lock again; or Never
	To      int
	Renewed bool // To is the step in which the client gets the lock again
}

// Beliefs lists the beliefs of a schedule's clients, in the order of the operations that granted the locks. A lease
// ends where checkers say that it does, on a clock without drift. A crash ends a client's beliefs.
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

// ClientOf returns the client, from 0, whose operations in a schedule have the given id; -1: the harness. Client 0
// begins with id 1. After an operation of unknown outcome, clients+1 is added to the client's id: see
// [harness.Meta.Worker].
func ClientOf(id, clients int) int { return max(-1, harness.Meta{Workers: clients + 1}.Worker(id)-1) }

// CompletingSteps returns, for each operation, the index of the step that completed it, or Never for an operation that
// sends nothing. Times alone do not tell which operation sent nothing, so CompletingSteps goes through the steps of
// each client in order.
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

// stepOfOp returns the index of the step that completes op, or Never. It looks at the client's steps during op,
// beginning at the index in the parameter next. It takes the first of these steps that changes what the client
// believes. If none does, it takes the last of these steps.
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

// leaseEnds returns the index of the first step, after a given one, in which the lease of op is over. It returns Never
// if there is none.
func (c Counterexample) leaseEnds(from int, op harness.Op) int {
	end := op.HeldUntil(0)
	if end == harness.Forever {
		return Never
	}
	return c.StepAt(end, from+1)
}

// StepAt returns the index of the first step, from a given index on, in which the time is t or later, or Never.
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

// endOfBelief returns the step that ends the belief which began with operation i, or Never. In this step the client
// crashes, begins to release the lock, or gets the lock again. The result renewed says that the client gets the lock
// again.
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

// nextByOwner finds what the client of operation i does next with its lock. releasesAt is the time at which the client
// begins to release the lock, or -1. renewedAt is the step that grants the lock to the client again, or Never.
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

// Owners returns, for each step, the owner of the lock operation that the step completes. It returns an empty string
// where a reader does not need the owner: if the client uses the lock under one owner only, or the step's command names
// the owner.
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

// AsOwner writes a belief with its owner in front: "as client-1-again: holds lock until 20s". If one of the two is
// empty, it returns the belief unchanged.
func AsOwner(owner, belief string) string {
	if owner == "" || belief == "" {
		return belief
	}
	return "as " + units.Visible(owner) + ": " + belief
}
