package checkers

import (
	"fmt"
	"html"

	"github.com/anishathalye/porcupine"
	"github.com/doublegrant/doublegrant/harness"
)

// markStep marks a message as seen, or removes the mark of a claim.
type markStep struct {
	marks   int    // the claim that marks, from 1; 0: none
	unmarks int    // the claim whose window ends; 0: none
	text    string // for pages
}

// markState is the claim whose mark is on the message; 0: none.
type markState int

// dedupModel is one message as porcupine sees it: it is new only while it is not marked.
func dedupModel() porcupine.Model {
	return porcupine.Model{
		Init:                      func() any { return markState(0) },
		Step:                      func(state, input, _ any) (bool, any) { return state.(markState).after(input.(markStep)) },
		DescribeOperation:         func(input, _ any) string { return input.(markStep).text },
		DescribeState:             func(state any) string { return html.EscapeString(state.(markState).String()) },
		DescribeOperationMetadata: describeMetadata,
	}
}

func (s markState) after(step markStep) (bool, markState) {
	switch {
	case step.marks > 0:
		return s == 0, markState(step.marks)
	case s == markState(step.unmarks):
		return true, 0
	}
	return true, s
}

// String says whether the message is marked.
func (s markState) String() string {
	if s == 0 {
		return "new"
	}
	return fmt.Sprintf("marked by claim %d", int(s))
}

// dedupSteps turns the claims of ops that were told "first" into steps. The end of a window may come at any time from the
// earliest one.
func dedupSteps(ops []harness.Op, meta harness.Meta) []porcupine.Operation {
	var steps []porcupine.Operation
	n := 0
	for _, c := range ops {
		if c.Kind != harness.Claim || c.Outcome != harness.OK || c.Result != harness.ResultFirst {
			continue
		}
		n++
		steps = append(steps, step(c, markStep{marks: n, text: sentence(c)}))
		if end := leaseEnd(c.Call, c.TTL, meta.Drift); end < forever {
			text := fmt.Sprintf("the window of claim %d may end", n)
			steps = append(steps, eventually(end, markStep{unmarks: n, text: text}))
		}
	}
	return steps
}
