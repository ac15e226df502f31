package checkers

import (
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/doublegrant/doublegrant/harness"
)

// markInput is a step that sets a mark on a message, or removes one.
type markInput struct {
	marks      int    // number of the mark to set, from 1; 0: none
	repeatable bool   // the message may be marked already
	unmarks    int    // number of the mark to remove because its window ends; 0: none
	text       string // description of the step, for pages
}

// markState lists the marks on the message in ascending order. It is never changed in place.
type markState []int

// dedupModel returns porcupine's model of one message. A claim sets a mark only while there is none. A confirm sets a
// mark at any time.
func dedupModel() porcupine.Model {
	return newModel[markState](func(i markInput) string { return i.text })
}

func (s markState) equal(t markState) bool { return slices.Equal(s, t) }

func (s markState) after(step markInput) (bool, markState) {
	if step.marks > 0 {
		marked := append(slices.Clone(s), step.marks)
		slices.Sort(marked)
		return step.repeatable || len(s) == 0, marked
	}
	return true, slices.DeleteFunc(slices.Clone(s), func(m int) bool { return m == step.unmarks })
}

// String says whether the message is marked.
func (s markState) String() string {
	if len(s) == 0 {
		return "new"
	}
	return fmt.Sprintf("marked by %v", []int(s))
}

// dedupOperations returns the model's operations for ops: the claims that were answered "first", the ok confirms, and
// the ends of their windows. A window may end at any time from its earliest end on.
func dedupOperations(ops []harness.Op, meta harness.Meta) []porcupine.Operation {
	var steps []porcupine.Operation
	n := 0
	for i, c := range ops {
		confirm := c.Kind == harness.Confirm
		if c.Outcome != harness.OK || !confirm && (c.Kind != harness.Claim || c.Result != harness.ResultFirst) {
			continue
		}
		n++
		steps = append(steps, toOperation(c, markInput{marks: n, repeatable: confirm, text: describeOp(c)}))
		if end := windowEnd(ops, i, meta); end < forever {
			text := fmt.Sprintf("the window of mark %d may end", n)
			steps = append(steps, fromThenOn(end, markInput{unmarks: n, text: text}))
		}
	}
	return steps
}

// windowEnd returns the earliest end of the mark of ops[i], as the doc comment of Dedup defines it.
func windowEnd(ops []harness.Op, i int, meta harness.Meta) time.Duration {
	m := ops[i]
	end := harness.EarliestEnd(m.Call, m.TTL, meta.Drift)
	for j, c := range ops {
		if j != i && mayFollow(c, m) {
			end = min(end, endAfterConfirm(c, m, meta.Drift))
		}
	}
	return end
}
