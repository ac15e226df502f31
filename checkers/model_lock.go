package checkers

import (
	"fmt"
	"html"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/doublegrant/doublegrant/harness"
)

// lockStep begins a hold, or ends some.
type lockStep struct {
	owner owner
	takes int    // the number of the hold that begins; 0: none
	ends  []int  // the holds that end, as far as they are still there
	text  string // for pages
}

// lockState is who holds the lock, with which holds; no holds means that it is free. It is never changed in place.
type lockState struct {
	owner owner
	holds []int
}

// lockModel is the lock as porcupine sees it: it can be taken by one who has it already, or by anybody while it is free.
func lockModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return lockState{} },
		Step: func(state, input, _ any) (bool, any) { return state.(lockState).after(input.(lockStep)) },
		Equal: func(a, b any) bool {
			x, y := a.(lockState), b.(lockState)
			return x.owner == y.owner && slices.Equal(x.holds, y.holds)
		},
		DescribeOperation:         func(input, _ any) string { return input.(lockStep).text },
		DescribeState:             func(state any) string { return html.EscapeString(state.(lockState).String()) },
		DescribeOperationMetadata: describeMetadata,
	}
}

func (s lockState) after(step lockStep) (bool, lockState) {
	if step.takes > 0 {
		free := len(s.holds) == 0 || s.owner == step.owner
		return free, lockState{step.owner, append(slices.Clip(s.holds), step.takes)}
	}
	left := slices.DeleteFunc(slices.Clone(s.holds), func(h int) bool { return slices.Contains(step.ends, h) })
	if len(left) == 0 {
		return true, lockState{}
	}
	return true, lockState{s.owner, left}
}

// String says who holds the lock.
func (s lockState) String() string {
	if len(s.holds) == 0 {
		return "free"
	}
	return fmt.Sprintf("held by worker %d with %s", s.owner.worker, s.owner.token)
}

// certain is the certain hold of one acquire or extend in a short list of operations, found by the plain definition (see Mutex).
type certain struct {
	number int // from 1
	index  int // of that operation
	owner  owner
	until  time.Duration // its end, if nobody releases it
}

// certainHolds applies the definition to ops, which are in order of Return. What holds nothing for certain has none.
func certainHolds(ops []harness.Op, meta harness.Meta) []certain {
	var out []certain
	for i, a := range ops {
		if !renews(a) || a.Outcome != harness.OK {
			continue
		}
		c := certain{number: len(out) + 1, index: i, owner: ownerOf(a, meta), until: certainUntil(a, meta.Drift)}
		released := forever
		for _, x := range ops[i+1:] {
			switch {
			case ownerOf(x, meta) != c.owner:
			case x.Kind == harness.Release:
				released = min(released, x.Call)
			case renews(x):
				c.until = min(c.until, renewedUntil(x, meta.Drift))
			}
		}
		if min(released, c.until) > a.Return {
			out = append(out, c)
		}
	}
	return out
}

// lockSteps turns ops, which are in order of Return, into steps. A release ends the holds that its owner had before, from
// its Call on: until its Return if it is ok, at any later time if not. The end of a lease may come at any time from the
// earliest one.
func lockSteps(ops []harness.Op, meta harness.Meta) []porcupine.Operation {
	var steps []porcupine.Operation
	holds := certainHolds(ops, meta)
	for _, h := range holds {
		a := ops[h.index]
		steps = append(steps, step(a, lockStep{owner: h.owner, takes: h.number, text: sentence(a)}))
		if h.until < forever {
			text := fmt.Sprintf("client %d's lease may end", a.Client)
			steps = append(steps, eventually(h.until, lockStep{ends: []int{h.number}, text: text}))
		}
	}
	for i, r := range ops {
		if r.Kind != harness.Release {
			continue
		}
		s := step(r, lockStep{ends: heldBy(ownerOf(r, meta), holds, i), text: sentence(r)})
		if r.Outcome != harness.OK {
			s.Return = int64(forever)
		}
		steps = append(steps, s)
	}
	return steps
}

// heldBy lists the holds of o that were acquired before operation index.
func heldBy(o owner, holds []certain, index int) []int {
	var out []int
	for _, h := range holds {
		if h.owner == o && h.index < index {
			out = append(out, h.number)
		}
	}
	return out
}
