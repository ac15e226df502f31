package checkers

import (
	"maps"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/doublegrant/doublegrant/harness"
)

// filterInput is a confirm, or one step of a claim.
type filterInput struct {
	markInput
	confirms   int  // number of the confirm that takes effect; 0: none
	lapses     int  // number of the confirm whose window ends; 0: none
	asks       int  // number of the claim that is called; 0: none
	returns    int  // number of the claim that returns; 0: none
	impossible bool // the claim that returns was answered "first" while its message was certainly marked
}

// filterState holds the marks of a message and the confirms in force. For each claim under way it also holds which
// confirms were in force at the claim's Call. A state is never changed in place.
type filterState struct {
	marks    markState
	confirms []int
	asked    map[int][]int
}

// filterModel returns porcupine's model of all claims and confirms of one message. Claims exclude each other as in
// dedupModel. A confirm forbids the answer "first" to claims that are called after the confirm has returned. If a mark
// was in force until then, the confirm also forbids that answer to claims that came after this mark. So a confirm is
// one operation, at its Return. A claim is three: at its Call, when it sets its mark, and at its Return.
func filterModel() porcupine.Model {
	return newModel[filterState](func(i filterInput) string { return i.text })
}

func (s filterState) String() string { return s.marks.String() }

func (s filterState) equal(t filterState) bool {
	if !slices.Equal(s.marks, t.marks) || !slices.Equal(s.confirms, t.confirms) || len(s.asked) != len(t.asked) {
		return false
	}
	for claim, confirms := range s.asked {
		if other, ok := t.asked[claim]; !ok || !slices.Equal(confirms, other) {
			return false
		}
	}
	return true
}

func (s filterState) after(step filterInput) (ok bool, next filterState) {
	ok, next = true, s
	switch {
	case step.confirms > 0:
		next.confirms = append(slices.Clip(s.confirms), step.confirms)
		slices.Sort(next.confirms)
	case step.lapses > 0:
		next.confirms = slices.DeleteFunc(slices.Clone(s.confirms), func(c int) bool { return c == step.lapses })
	case step.asks > 0:
		next.asked = s.withoutClaim(step.asks)
		next.asked[step.asks] = s.confirms
	case step.returns > 0:
		before, asked := s.asked[step.returns]
		next.asked = s.withoutClaim(step.returns)
		ok = asked && !step.impossible && !slices.ContainsFunc(before,
			func(c int) bool { return slices.Contains(s.confirms, c) })
	default:
		ok, next.marks = s.marks.after(step.markInput)
	}
	return ok, next
}

// withoutClaim returns a copy of s.asked that lacks the given claim.
func (s filterState) withoutClaim(claim int) map[int][]int {
	out := map[int][]int{}
	maps.Copy(out, s.asked)
	delete(out, claim)
	return out
}

// filterOperations translates ops into the operations of filterModel. It takes the claims that were answered "first",
// the confirms that ended in ok, and the ends of their windows.
func filterOperations(ops []harness.Op, meta harness.Meta) []porcupine.Operation {
	var steps []porcupine.Operation
	confirmed := slices.ContainsFunc(ops,
		func(x harness.Op) bool { return x.Kind == harness.Confirm && x.Outcome == harness.OK })
	for i, x := range ops {
		n, confirm, end := i+1, x.Kind == harness.Confirm, windowEnd(ops, i, meta)
		switch {
		case confirm && x.Outcome == harness.OK:
			steps = append(steps, toOperation(opAt(x, x.Return),
				filterInput{confirms: n, markInput: markInput{text: describeOp(x)}}))
		case toldFirst(x):
			steps = append(steps, toOperation(x, filterInput{markInput: markInput{marks: n, text: describeOp(x)}}))
		default:
			continue
		}
		if toldFirst(x) && confirmed {
			steps = append(steps, toOperation(opAt(x, x.Call),
				filterInput{asks: n, markInput: markInput{text: describeOp(x) + ", asked for"}}),
				toOperation(opAt(x, x.Return), filterInput{returns: n, impossible: toldWhileMarked(ops, i, meta),
					markInput: markInput{text: describeOp(x) + ", told"}}))
		}
		if end < forever {
			s := filterInput{markInput: markInput{unmarks: n, text: "a window may end"}}
			if confirm {
				s = filterInput{lapses: n, markInput: markInput{text: "the window of a confirm may end"}}
			}
			steps = append(steps, fromThenOn(end, s))
		}
	}
	return steps
}

// toldWhileMarked reports whether an earlier confirm forbids the answer "first" to the claim ops[i]. The confirm was in
// force when that answer came, and the message was marked from before the claim until the confirm.
func toldWhileMarked(ops []harness.Op, i int, meta harness.Meta) bool {
	for k, c := range ops[:i] {
		if c.Kind == harness.Confirm && c.Outcome == harness.OK && ops[i].Return < windowEnd(ops, k, meta) &&
			continuesMarkBefore(ops, k, i, meta) {
			return true
		}
	}
	return false
}

// continuesMarkBefore reports whether the confirm ops[k] continues, directly or through earlier confirms, the mark of a
// claim that came before the claim ops[i]. A confirm continues a mark that cannot have ended when the confirm returned.
func continuesMarkBefore(ops []harness.Op, k, i int, meta harness.Meta) bool {
	for j, b := range ops[:k] {
		switch {
		case b.Outcome != harness.OK || ops[k].Return >= windowEnd(ops, j, meta):
		case toldFirst(b) && b.Return < windowEnd(ops, i, meta), b.Kind == harness.Confirm &&
			continuesMarkBefore(ops, j, i, meta):
			return true
		}
	}
	return false
}

// opAt returns op as if it had been called and had returned at t.
func opAt(op harness.Op, t time.Duration) harness.Op {
	op.Call, op.Return = t, t
	return op
}
