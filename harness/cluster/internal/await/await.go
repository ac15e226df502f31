// Package await waits for conditions.
package await

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrGaveUp in a condition's error ends the waiting at once.
var ErrGaveUp = errors.New("gave up")

// Until calls cond every so often until it returns nil or an error that wraps ErrGaveUp. If ctx ends first, the error wraps its
// cause and cond's last error, which says what was missing.
func Until(ctx context.Context, every time.Duration, cond func() error) error {
	var missing error
	for {
		err := cond()
		if err == nil || errors.Is(err, ErrGaveUp) {
			return err
		}
		if ctx.Err() == nil || missing == nil {
			missing = err // an error that the end of ctx caused explains nothing
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), missing)
		case <-time.After(every):
		}
	}
}
