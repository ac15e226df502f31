package checkers

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/doublegrant/doublegrant/harness"
)

// window is a question to porcupine: the operations of one key, and the model that they have to follow.
type window struct {
	model      porcupine.Model
	operations []porcupine.Operation
}

// modelState is the state of a model whose steps have the type I. A state is never changed in place.
type modelState[S, I any] interface {
	after(step I) (allowed bool, next S)
	equal(other S) bool
	String() string // describes the state, for pages
}

// newModel returns porcupine's model whose first state is the zero value of S. The function describe writes an input
// for pages.
func newModel[S modelState[S, I], I any](describe func(I) string) porcupine.Model {
	return porcupine.Model{
		Init:                      func() any { var start S; return start },
		Step:                      func(s, step, _ any) (bool, any) { return s.(S).after(step.(I)) },
		Equal:                     func(a, b any) bool { return a.(S).equal(b.(S)) },
		DescribeOperation:         func(step, _ any) string { return describe(step.(I)) },
		DescribeState:             func(s any) string { return html.EscapeString(s.(S).String()) },
		DescribeOperationMetadata: describeMetadata,
	}
}

// ruleClient is the ClientId of an operation that no client asks for, such as the end of a lease.
const ruleClient = -2

// windowOf returns the window of ops for a class of anomaly. All ops have one key. windowOf returns false for a class
// without a model.
func windowOf(class harness.Class, ops []harness.Op, meta harness.Meta) (window, bool) {
	ops = slices.Clone(ops)
	slices.SortStableFunc(ops, func(a, b harness.Op) int { return cmp.Compare(a.Return, b.Return) })
	switch class {
	case harness.DoubleGrant, harness.StolenRelease:
		return window{lockModel(), withEnds(lockOperations(ops, meta))}, true
	case harness.DuplicateDelivery:
		return window{dedupModel(), withEnds(dedupOperations(ops, meta))}, true
	case harness.DuplicateNumber, harness.Regression:
		return window{sequenceModel(), withEnds(sequenceOperations(ops))}, true
	case harness.FenceRegression:
		return window{fenceModel(), withEnds(fenceOperations(ops, meta))}, true
	}
	return window{}, false
}

// toOperation returns the model's operation for op. It takes effect at some time in [op.Call, op.Return].
func toOperation(op harness.Op, input any) porcupine.Operation {
	return porcupine.Operation{
		ClientId: op.Client, Input: input, Metadata: op, Call: int64(op.Call), Return: int64(op.Return),
	}
}

// fromThenOn returns an operation that follows from the rules alone. It takes effect at the time t or at any later
// time.
func fromThenOn(t time.Duration, input any) porcupine.Operation {
	return porcupine.Operation{ClientId: ruleClient, Input: input, Call: int64(t), Return: int64(forever)}
}

// withEnds completes operations without an end. Each gets an end after everything else, so that it can be drawn. For
// porcupine that is the same as no end.
func withEnds(steps []porcupine.Operation) []porcupine.Operation {
	var horizon int64
	for _, s := range steps {
		horizon = max(horizon, s.Call+1)
		if s.Return < int64(forever) {
			horizon = max(horizon, s.Return+1)
		}
	}
	for i := range steps {
		steps[i].Return = min(steps[i].Return, horizon)
	}
	return steps
}

// describeOp says what op asked for and got.
func describeOp(op harness.Op) string {
	out := fmt.Sprintf("client %d: %s %s", op.Client, op.Kind, op.Key)
	if op.Arg != "" {
		out += " " + op.Arg
	}
	if op.Result != "" {
		return out + " -> " + op.Result
	}
	return out + " -> " + op.Outcome.String()
}
