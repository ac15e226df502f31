package checkers

import (
	"github.com/anishathalye/porcupine"
	"github.com/doublegrant/doublegrant/harness"
)

// sequenceInput is a step in which the sequence returns a number.
type sequenceInput struct {
	number number
	text   string // description of the step, for pages
}

// sequenceModel returns porcupine's model of a sequence. Each number has to be larger than the number before.
func sequenceModel() porcupine.Model {
	return newModel[lastNumber](func(i sequenceInput) string { return i.text })
}

// lastNumber is the last number returned; it is empty at first.
type lastNumber number

func (n lastNumber) after(step sequenceInput) (bool, lastNumber) {
	return step.number.compare(number(n)) > 0, lastNumber(step.number)
}

func (n lastNumber) equal(other lastNumber) bool { return n == other }

func (n lastNumber) String() string { return "the last number is " + string(n) }

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
