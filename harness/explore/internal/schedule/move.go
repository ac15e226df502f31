// Package schedule says what can happen next in a schedule, and which two of these things may change places without
// anybody noticing.
package schedule

import (
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// MaxSteps bounds the steps of one schedule.
const MaxSteps = 400

// Move is a choice that can happen next, or has happened, with what it touches.
type Move struct {
	Choice     interleave.Choice
	Cost       int // preemptions and interferences that it adds
	Access     command.Access
	World      bool // it is done by the world and independent of nothing, unless it approaches
	TimePasses bool // time passes in it
	Approaches bool // time passes, and beyond the end of no lease
	Timely     bool // its effect or reply depends on the time of day
	Begins     bool // an operation of a client begins with it
	Ends       bool // an operation may end with it; of a move that has happened: did end
	Silent     bool // Redis is sent nothing in it
	Observes   bool // the program looks at the store if an operation ends with it
	// the memory that it may read and write, which is that of a process of several clients; 0: its client's alone
	Memory int
}

// ClockKey stands for the time that clients see. No client's key has this name.
const ClockKey = "\x00clock"

// Instant is an instant to which time can pass.
type Instant struct {
	Choice    interleave.Choice // by which time passes to it
	At        time.Duration     // since the schedule began, in virtual time
	BeyondEnd bool              // some lease has ended then; false: all are still to end
}

// Contains reports whether a choice is among the moves.
func Contains(moves []Move, c interleave.Choice) bool {
	return slices.ContainsFunc(moves, func(m Move) bool { return m.Choice == c })
}

// Independent reports whether a move that has happened, and another that could have happened in its place, may change
// places: clients, Redis and checkers notice no difference. In doubt it is false.
func Independent(did, other Move) bool {
	i, client := did.Choice.Client()
	if j, too := other.Choice.Client(); client && too && i == j {
		return false
	}
	if did.Memory != 0 && did.Memory == other.Memory {
		return false
	}
	switch {
	case did.Choice.IsCrash(): // nobody notices, but for those who would have woken it
		return !did.Access.Changes() || did.Access.Independent(other.Access)
	case did.Choice.Kind() == interleave.Delays:
		return false // a late command cannot be executed at once, but can be after another move
	case did.Choice.Unanswered() && other.Choice.Kind() == did.Choice.Kind():
		return false // there may be no budget for both
	case did.Approaches && !other.TimePasses && !other.World:
		// What only reads, and not the time, shows the same as before, as long as no lease has ended. What writes may
		// end a lease, or give it another end.
		return !other.Begins && !other.Timely && !other.Access.Changes()
	case did.World || did.TimePasses || other.TimePasses:
		return false
	case other.World:
		return false
	}
	// Whether one operation ended before another began is for checkers to see.
	if did.Begins && other.Ends || did.Ends && other.Begins {
		return false
	}
	// What the program saw in the store after an operation is for checkers to see as well.
	if did.Observes && (did.Ends && other.Access.Changes() || other.Ends && did.Access.Changes()) {
		return false
	}
	return did.Silent || other.Silent || did.Access.Independent(other.Access)
}
