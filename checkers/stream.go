package checkers

import (
	"context"
	"errors"
	"fmt"

	"github.com/doublegrant/doublegrant/harness"
)

// ctxEvery is the number of operations between two checks of the context.
const ctxEvery = 1024

// errOrder says that the order of a record's operations is impossible, so nothing follows from the record.
var errOrder = errors.New("its operations are not in order of Return, or one returned before it was called")

// eachOp calls f for every operation of h in order. It stops when ctx ends, at an error of the history, and at an
// operation out of order: every rule here relies on the order of Return.
func eachOp(ctx context.Context, h harness.History, f func(harness.Op)) error {
	if h.Ops == nil {
		return nil
	}
	n, last := 0, harness.Op{}
	for op, err := range h.Ops {
		switch {
		case err != nil:
			return fmt.Errorf("the history cannot be read beyond %d operations: %w", n, err)
		case n%ctxEvery == 0 && ctx.Err() != nil:
			return fmt.Errorf("stopped after %d operations: %w", n, ctx.Err())
		case op.Return < op.Call || n > 0 && op.Return < last.Return:
			return fmt.Errorf("the history is unusable beyond %d operations: %w", n, errOrder)
		}
		f(op)
		n, last = n+1, op
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("stopped after %d operations: %w", n, err)
	}
	return nil
}

// isComplete reports whether h is the record of a run that came to its end. Then what is not in the record did not
// happen.
func isComplete(h harness.History) bool { return h.End != nil && h.End.Reason == "" }
