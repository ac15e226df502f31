package checkers

import (
	"fmt"
	"html"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/doublegrant/doublegrant/harness"
)

// markInput marks a message as seen, or removes a mark.
type markInput struct {
	marks   int    // the number of the mark that it sets, from 1; 0: none
	anew    bool   // a mark may be there already
	unmarks int    // the mark whose window ends; 0: none
	text    string // for pages
}

// markState lists the marks on the message, in ascending order. It is never changed in place.
type markState []int

// dedupModel returns porcupine's model of one message: it is new only while it is not marked. A confirm may mark it again.
func dedupModel() porcupine.Model {
	return porcupine.Model{
		Init:                      func() any { return markState(nil) },
		Step:                      func(state, input, _ any) (bool, any) { return state.(markState).after(input.(markInput)) },
		Equal:                     func(a, b any) bool { return slices.Equal(a.(markState), b.(markState)) },
		DescribeOperation:         func(input, _ any) string { return input.(markInput).text },
		DescribeState:             func(state any) string { return html.EscapeString(state.(markState).String()) },
		DescribeOperationMetadata: describeMetadata,
	}
}

func (s markState) after(step markInput) (bool, markState) {
	if step.marks > 0 {
		marked := append(slices.Clone(s), step.marks)
		slices.Sort(marked)
		return step.anew || len(s) == 0, marked
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

// dedupOperations turns the claims of ops that were told "first", and the confirms that were ok, into operations of the model. The
// end of a window may come at any time from the earliest one.
func dedupOperations(ops []harness.Op, meta harness.Meta) []porcupine.Operation {
	var steps []porcupine.Operation
	n := 0
	for i, c := range ops {
		confirm := c.Kind == harness.Confirm
		if c.Outcome != harness.OK || !confirm && (c.Kind != harness.Claim || c.Result != harness.ResultFirst) {
			continue
		}
		n++
		steps = append(steps, toOperation(c, markInput{marks: n, anew: confirm, text: describeOp(c)}))
		if end := windowEnd(ops, i, meta); end < forever {
			text := fmt.Sprintf("the window of mark %d may end", n)
			steps = append(steps, fromThenOn(end, markInput{unmarks: n, text: text}))
		}
	}
	return steps
}

// windowEnd returns when the mark of ops[i] can be gone at the earliest, by the plain definition (see Dedup).
func windowEnd(ops []harness.Op, i int, meta harness.Meta) time.Duration {
	m := ops[i]
	end := harness.EarliestEnd(m.Call, m.TTL, meta.Drift)
	for j, c := range ops {
		if j != i && mayFollow(c, m) {
			end = min(end, setsAnew(c, m, meta.Drift))
		}
	}
	return end
}
