// Package strategy chooses, move by move, what happens in a schedule. A strategy sees the schedule through a [View]
// only, so a toy in its test is enough to try it: no client and no Redis takes part.
//
// To add a strategy, write a file with a type that has Next and Took. One that draws its schedules at random is a
// [sampler], which says whose turn it is: pos.go is an example. It needs a row in [samplers], and has its name in the
// flag --strategy from then on.
package strategy

import (
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Strategy chooses the moves of one schedule.
type Strategy interface {
	// Next returns what happens next. The choice counts only with Take. An error ends the schedule early; with Leave,
	// after it was run to some end.
	Next(View) (interleave.Choice, Do, error)

	// Took is told of each move that Next has chosen, when it has happened.
	Took(did schedule.Move)
}

// Do is what a schedule does next.
type Do uint8

// What a schedule may do next. Checkers judge those that end with Finish.
const (
	Take   Do = iota // take a choice
	Finish           // it is over, and the program looks at its end
	Stop             // it is over, and shows nothing new: nobody looks
	Leave            // what is left of it shows nothing new: its clients go on to some end
)

// View is what a strategy sees of the schedule under way.
type View interface {
	// Path returns the choices so far, which are not to be changed.
	Path() []interleave.Choice

	// Moves lists what can happen next, beginning with the thread that took the last step. It is empty if the schedule
	// is over.
	Moves() ([]schedule.Move, error)

	// Instants lists to which instants time can pass next.
	Instants() ([]schedule.Instant, error)

	// Fingerprint tells the schedule so far from others of the same choices whose clients sent something else. 0: it is
	// not known.
	Fingerprint() uint64

	// FingerprintAfter returns the fingerprint that the schedule will have after a choice. 0: it is not known.
	FingerprintAfter(interleave.Choice) uint64

	// Visited reports whether another schedule has come to this state before, with the same moves asleep. If not, this
	// one now has.
	Visited(asleep []*schedule.Move) (bool, error)

	// Unpromoted reports whether replication has stopped and no replica was promoted. Nobody can tell that from a
	// schedule without a failover.
	Unpromoted() bool

	// Disturbed reports whether something came between that is no part of the schedule.
	Disturbed() bool
}

// end says what a schedule does that has no moves left.
func end(v View) Do {
	if v.Unpromoted() {
		return Stop
	}
	return Finish
}
