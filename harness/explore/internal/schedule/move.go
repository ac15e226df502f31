// Package schedule defines what can happen next in a schedule, and which two moves may swap places without a
// difference.
package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// MaxSteps bounds the steps of one schedule.
const MaxSteps = 400

// Move is a choice that can happen next, or has happened, with what it touches.
type Move struct {
	Choice        interleave.Choice
	Cost          int // preemptions and faults that it adds
	Access        command.Access
	World         bool // it is not a client's step; independent of another move only if Approaches is true
	TimePasses    bool // time passes during it
	Approaches    bool // time passes, but not beyond the end of a lease
	DependsOnTime bool // its effect or reply depends on the time of day
	Begins        bool // a client's operation begins with it
	Ends          bool // an operation may end with it. After the move: an operation did end
	Silent        bool // it sends nothing to Redis
	Observes      bool // Program.Observe is called if an operation ends with it
	// memory that it may read and write, shared by the clients of a process; 0: only its client uses the memory
	Memory int
}

// ClockKey stands, in a list of keys, for the time that clients see. No key of a client has this name.
const ClockKey = "\x00clock"

// Instant is an instant to which time can pass.
type Instant struct {
	Choice    interleave.Choice // lets time pass to it
	At        time.Duration     // virtual time
	BeyondEnd bool              // a lease has ended by then
}

// Contains reports whether one of the moves is a given choice.
func Contains(moves []Move, c interleave.Choice) bool {
	return slices.ContainsFunc(moves, func(m Move) bool { return m.Choice == c })
}

// Independent reports whether two moves may swap places without a difference for clients, Redis and checkers. The first
// (did) has happened. The second (other) was possible at the same moment. If in doubt, the result is false.
func Independent(did, other Move) bool {
	i, client := did.Choice.Client()
	if j, too := other.Choice.Client(); client && too && i == j {
		return false
	}
	if did.Memory != 0 && did.Memory == other.Memory {
		return false
	}
	switch {
	case did.Choice.IsCrash(): // a difference only for clients that it would have woken
		return !did.Access.Changes() || did.Access.Independent(other.Access)
	case did.Choice.Kind() == interleave.Delays:
		return false // a late command cannot be executed at once, but can be after another move
	case did.Choice.Unanswered() && other.Choice.Kind() == did.Choice.Kind():
		return false // the budget may not allow both
	case did.Approaches && !other.TimePasses && !other.World:
		// A move that only reads, and does not read the time, returns the same as before while no lease has ended. A
		// write may end a lease or move its end.
		return !other.Begins && !other.DependsOnTime && !other.Access.Changes()
	case did.World || did.TimePasses || other.TimePasses:
		return false
	case other.World:
		return false
	}
	// Checkers see whether one operation ended before another began.
	if did.Begins && other.Ends || did.Ends && other.Begins {
		return false
	}
	// Checkers also see what the program read from the store after an operation.
	if did.Observes && (did.Ends && other.Access.Changes() || other.Ends && did.Access.Changes()) {
		return false
	}
	return did.Silent || other.Silent || did.Access.Independent(other.Access)
}

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
