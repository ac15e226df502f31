package schedule

import (
	"errors"
	"fmt"
	"strings"
)

// ErrStopped marks an error that ends a search early but is neither a violation nor a failure of the harness.
var ErrStopped = errors.New("stopped")

// Stopped returns an error that wraps ErrStopped and says why.
func Stopped(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrStopped, fmt.Sprintf(format, args...))
}

// Why returns what an error that wraps ErrStopped says.
func Why(err error) string {
	return strings.TrimPrefix(err.Error(), ErrStopped.Error()+": ")
}

// ErrNotRepeated marks a schedule that cannot be followed, since a client does something else than before.
var ErrNotRepeated = fmt.Errorf("%w: a client does not do the same each time", ErrStopped)

// Diverged is why a schedule cannot be followed in which a client has no step to take.
func Diverged(client fmt.Stringer) error {
	return fmt.Errorf("%w: %s is done where it had a step to take before", ErrNotRepeated, client)
}
