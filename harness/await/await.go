// Package await waits: for several concurrent calls, and for a condition.
package await

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// All calls do(0) to do(n-1) concurrently, each in its own goroutine, and returns when all calls have returned. It
// returns their errors in the same order, with nil for a call that succeeded. errors.Join makes one error of the list,
// cmp.Or takes the first.
func All(n int, do func(i int) error) []error {
	errs := make([]error, n)
	var doing sync.WaitGroup
	for i := range n {
		doing.Go(func() { errs[i] = do(i) })
	}
	doing.Wait()
	return errs
}

// A condition whose error wraps ErrGaveUp makes Until return that error without calling the condition again.
var ErrGaveUp = errors.New("gave up")

// Until calls cond, at once and then after every pause, until cond returns nil or an error that wraps ErrGaveUp. If ctx
// ends before that, Until returns the cause of ctx together with cond's last error, which says what was missing.
func Until(ctx context.Context, pause time.Duration, cond func() error) error {
	return Poll(ctx, pause, func() (again bool, err error) {
		err = cond()
		return err != nil && !errors.Is(err, ErrGaveUp), err
	})
}

// Poll calls the function look, at once and then after every pause, until it returns false. In that case Poll returns
// the function's error. If ctx ends before that, Poll returns the cause of ctx together with the function's last error.
func Poll(ctx context.Context, pause time.Duration, look func() (again bool, err error)) error {
	var missing error
	for {
		again, err := look()
		if !again {
			return err
		}
		if ctx.Err() == nil || missing == nil {
			missing = err // an error that the end of ctx caused explains nothing
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), missing)
		case <-time.After(pause):
		}
	}
}
