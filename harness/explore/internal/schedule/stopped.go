package schedule

import (
	"errors"
	"fmt"
	"strings"
)

// ErrStopped marks an error that ends a search early and is neither a violation nor a failure of the harness.
var ErrStopped = errors.New("stopped")

// Stopped returns an error that wraps ErrStopped and states the reason.
func Stopped(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrStopped, fmt.Sprintf(format, args...))
}

// Why returns the reason in an error that wraps ErrStopped.
func Why(err error) string {
	return strings.TrimPrefix(err.Error(), ErrStopped.Error()+": ")
}

// ErrNotRepeated marks a schedule that cannot be followed because a client does something else than before.
var ErrNotRepeated = fmt.Errorf("%w: a client behaves differently each time", ErrStopped)

// Diverged is the error for a client that is done where it should take a step.
func Diverged(client fmt.Stringer) error {
	return fmt.Errorf("%w: %s has ended where it took a step before", ErrNotRepeated, client)
}
