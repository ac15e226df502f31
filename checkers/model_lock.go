package checkers

import (
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/doublegrant/doublegrant/harness"
)

// lockInput is a step that begins a hold, or ends holds.
type lockInput struct {
	owner owner
	takes int    // number of the hold that begins; 0: none
	ends  []int  // numbers of the holds that end, unless they have ended already
	text  string // description of the step, for pages
}

// lockState holds the lock's owner and its holds. Without holds the lock is free. A state is never changed in place.
type lockState struct {
	owner owner
	holds []int
}

// lockModel returns porcupine's model of a lock. Anybody can take a free lock, and its owner can take it again.
func lockModel() porcupine.Model {
	return newModel[lockState](func(i lockInput) string { return i.text })
}

func (s lockState) equal(t lockState) bool {
	return s.owner == t.owner && slices.Equal(s.holds, t.holds)
}

func (s lockState) after(step lockInput) (bool, lockState) {
	if step.takes > 0 {
		free := len(s.holds) == 0 || s.owner == step.owner
		return free, lockState{step.owner, append(slices.Clip(s.holds), step.takes)}
	}
	remaining := slices.DeleteFunc(slices.Clone(s.holds), func(h int) bool { return slices.Contains(step.ends, h) })
	if len(remaining) == 0 {
		return true, lockState{}
	}
	return true, lockState{s.owner, remaining}
}

// String says who holds the lock.
func (s lockState) String() string {
	if len(s.holds) == 0 {
		return "free"
	}
	return fmt.Sprintf("held by worker %d with %s", s.owner.worker, s.owner.token)
}

// lockGrant is the hold of one ok acquire or extend in a short list of operations. [Mutex] says when it ends.
type lockGrant struct {
	number int // number of the hold, from 1
	index  int // index of the acquire or extend in the list
	owner  owner
	until  time.Duration // earliest end of the hold if nobody releases it
}

// grantsOf lists the holds of the ok acquires and extends in ops, which are in order of Return.
func grantsOf(ops []harness.Op, meta harness.Meta) []lockGrant {
	var out []lockGrant
	for i, a := range ops {
		if !setsLease(a) || a.Outcome != harness.OK {
			continue
		}
		g := lockGrant{number: len(out) + 1, index: i, owner: ownerOf(a, meta),
			until: max(a.Call, a.HeldUntil(meta.Drift))}
		for j, x := range ops {
			late := j < i && x.Outcome == harness.Info // it may be executed after a
			if j == i || j < i && !late || ownerOf(x, meta) != g.owner {
				continue
			}
			switch {
			case x.Kind == harness.Release && late:
				g.until = a.Call
			case setsLease(x):
				x.Call = max(x.Call, a.Call)
				g.until = min(g.until, renewedUntil(x, meta.Drift))
			}
		}
		out = append(out, g)
	}
	return out
}

// lockOperations returns the model's operations for ops, which are in order of Return. A release ends the earlier holds
// of its owner after its Call: by its Return if it was ok, else at any later time. A lease may end at any time from its
// earliest end on, which allows for late commands.
func lockOperations(ops []harness.Op, meta harness.Meta) []porcupine.Operation {
	var steps []porcupine.Operation
	holds := grantsOf(ops, meta)
	for _, h := range holds {
		a := ops[h.index]
		steps = append(steps, toOperation(a, lockInput{owner: h.owner, takes: h.number, text: describeOp(a)}))
		if h.until < forever {
			text := fmt.Sprintf("client %d's lease may end", a.Client)
			steps = append(steps, fromThenOn(h.until, lockInput{ends: []int{h.number}, text: text}))
		}
	}
	for i, r := range ops {
		if r.Kind != harness.Release {
			continue
		}
		s := toOperation(r, lockInput{ends: heldBy(ownerOf(r, meta), holds, i), text: describeOp(r)})
		if r.Outcome != harness.OK {
			s.Return = int64(forever)
		}
		steps = append(steps, s)
	}
	return steps
}

// heldBy lists the holds of the owner o that come from operations before the given index.
func heldBy(o owner, holds []lockGrant, index int) []int {
	var out []int
	for _, h := range holds {
		if h.owner == o && h.index < index {
			out = append(out, h.number)
		}
	}
	return out
}
