package checkers

import (
	"maps"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/doublegrant/doublegrant/harness"
)

// fenceInput is one of the two steps of a grant in the model: its request or its answer.
type fenceInput struct {
	grant     int // the grant's number
	isRequest bool
	token     number
	// the largest token of the grants that came before this one although they returned later; empty: none
	largestBefore number
	duplicate     bool   // another owner has the same token
	text          string // description of the step, for pages
}

// fenceState holds the largest token granted so far. For each grant under way it also holds what the largest token was
// when the grant was asked for. An empty token means that there was none. A state is never changed in place.
type fenceState struct {
	top   number
	asked map[int]number
}

// fenceModel returns porcupine's model of the fencing tokens of all grants of a lock. No two owners may get one token.
// The token of a grant must not be smaller than the token of a grant that certainly came earlier, as [Fence] defines
// it. Grants that overlap may come in any order, so a request and its answer are two operations.
func fenceModel() porcupine.Model {
	return newModel[fenceState](func(i fenceInput) string { return i.text })
}

func (s fenceState) equal(t fenceState) bool { return s.top == t.top && maps.Equal(s.asked, t.asked) }

func (s fenceState) String() string { return "the largest token is " + string(s.top) }

func (s fenceState) after(step fenceInput) (bool, fenceState) {
	asked := maps.Clone(s.asked)
	if step.isRequest {
		if asked == nil {
			asked = map[int]number{}
		}
		asked[step.grant] = s.top
		return true, fenceState{s.top, asked}
	}
	before, known := asked[step.grant]
	delete(asked, step.grant)
	fits := before.compare(step.token) <= 0 && step.largestBefore.compare(step.token) <= 0
	top := s.top
	if top.compare(step.token) < 0 {
		top = step.token
	}
	return known && !step.duplicate && fits, fenceState{top, asked}
}

// fenceOperations returns the model's operations for the ok acquires of ops that have a token.
func fenceOperations(ops []harness.Op, meta harness.Meta) []porcupine.Operation {
	var steps []porcupine.Operation
	for i, x := range inGrantOrder(ops, meta) {
		token, ok := tokenOf(x)
		if !ok {
			continue
		}
		ask, grant := opAt(x, x.Call), opAt(x, x.Return)
		owner := ownerOf(x, meta)
		s := fenceInput{grant: i, token: token, largestBefore: largestBefore(ops, i, meta), text: describeOp(x)}
		s.duplicate = slices.ContainsFunc(ops, func(y harness.Op) bool {
			other, ok := tokenOf(y)
			return ok && other == token && ownerOf(y, meta) != owner
		})
		steps = append(steps, toOperation(grant, s))
		s.isRequest, s.text = true, s.text+", asked for"
		steps = append(steps, toOperation(ask, s))
	}
	return steps
}

// tokenOf returns the token of an ok acquire that has one.
func tokenOf(x harness.Op) (number, bool) {
	if x.Kind != harness.Acquire || x.Outcome != harness.OK {
		return "", false
	}
	return parseNumber(x.Result)
}

// largestBefore returns the largest token of the grants that came before ops[i], an ok acquire, although they returned
// later. Such a grant was called before ops[i] returned, and answered while the owner of ops[i] certainly held the
// lock. If there are none, largestBefore returns "".
func largestBefore(ops []harness.Op, i int, meta harness.Meta) (largest number) {
	if meta.Widened {
		return ""
	}
	h, until := ops[i], renewedEnd(ops, i, meta)
	for _, x := range ops {
		token, ok := tokenOf(x)
		during := x.Call <= h.Return && h.Return <= x.Return && x.Return < until && ownerOf(x, meta) != ownerOf(h, meta)
		if ok && during && (largest == "" || token.compare(largest) > 0) {
			largest = token
		}
	}
	return largest
}

// renewedEnd returns the earliest end of the hold of ops[i], an ok acquire or extend, including renewals that returned
// in time.
func renewedEnd(ops []harness.Op, i int, meta harness.Meta) time.Duration {
	end := certainEnd(ops, i, meta)
	until := end
	for j := i + 1; j < len(ops) && ops[j].Return < end; j++ {
		if x := ops[j]; setsLease(x) && x.Outcome == harness.OK && ownerOf(x, meta) == ownerOf(ops[i], meta) {
			until = max(until, renewedEnd(ops, j, meta))
		}
	}
	return until
}

// certainEnd returns the earliest end of the hold of ops[i], an ok acquire or extend. Later acquires and extends of its
// owner may shorten the hold, and do not prolong it. ops are in order of Return.
func certainEnd(ops []harness.Op, i int, meta harness.Meta) time.Duration {
	h, late := ops[i], lateCommands{}
	until := forever
	for j, x := range ops {
		switch same := ownerOf(x, meta) == ownerOf(h, meta); {
		case !same:
		case j < i && x.Outcome == harness.Info:
			late = late.withOp(x, meta.Drift)
		case j > i && x.Kind == harness.Release:
			until = min(until, x.Call)
		case j > i && setsLease(x):
			until = min(until, renewedUntil(x, meta.Drift))
		}
	}
	return min(until, late.endOf(h, meta.Drift))
}

// inGrantOrder returns a copy of ops in which the Call of each ok acquire may be later: any acquire that returned
// before the changed Call was certainly granted first. So the order of times is the order of grants. ops are in order
// of Return.
func inGrantOrder(ops []harness.Op, meta harness.Meta) []harness.Op {
	ops = slices.Clone(ops)
	late := map[owner]lateCommands{}
	for i, x := range ops {
		o := ownerOf(x, meta)
		switch {
		case x.Kind == harness.Acquire && x.Outcome == harness.OK:
			ops[i].Call = grantedAfter(x, late[o].endOf(x, meta.Drift), meta)
		case x.Outcome == harness.Info:
			late[o] = late[o].withOp(x, meta.Drift)
		}
	}
	return ops
}
