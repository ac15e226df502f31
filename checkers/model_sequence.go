package checkers

import (
	"html"

	"github.com/anishathalye/porcupine"
	"github.com/doublegrant/doublegrant/harness"
)

// sequenceInput is the return of a number.
type sequenceInput struct {
	number number
	text   string // for pages
}

// sequenceModel returns porcupine's model of a sequence. Its state is the last number returned, "" at first. The next
// number has to be larger.
func sequenceModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return number("") },
		Step: func(state, input, _ any) (bool, any) {
			next := input.(sequenceInput).number
			return next.compare(state.(number)) > 0, next
		},
		DescribeOperation: func(input, _ any) string { return input.(sequenceInput).text },
		DescribeState: func(state any) string {
			return html.EscapeString("the last number is " + string(state.(number)))
		},
		DescribeOperationMetadata: describeMetadata,
	}
}

// sequenceOperations returns the model's operations for the ok calls of ops that returned a number.
func sequenceOperations(ops []harness.Op) []porcupine.Operation {
	var steps []porcupine.Operation
	for _, x := range ops {
		n, ok := parseNumber(x.Result)
		if x.Kind == harness.Next && x.Outcome == harness.OK && ok {
			steps = append(steps, toOperation(x, sequenceInput{number: n, text: describeOp(x)}))
		}
	}
	return steps
}
