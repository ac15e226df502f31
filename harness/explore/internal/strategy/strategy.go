// Package strategy chooses, move by move, what happens in a schedule. A strategy sees the schedule only through a
// [View], so its tests use a toy: no client or Redis is needed.
//
// To add a strategy, write a type with Next and Took. A random strategy is a [sampler], which chooses whose turn it is:
// see pos.go. Add a row to [samplers]; then --strategy knows its name.
package strategy

import (
	"strings"

	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Strategy chooses the moves of one schedule.
type Strategy interface {
	// Next returns the choice to take, if the decision is Take. An error ends the schedule. If the decision is Leave,
	// the schedule's clients first run to some end.
	Next(View) (interleave.Choice, Decision, error)

	// Took tells the strategy which move was made. It is called after each move that Next has chosen.
	Took(did schedule.Move)
}

// Decision is what a schedule does next.
type Decision uint8

// Decisions. Checkers judge schedules that end with Finish.
const (
	Take   Decision = iota // take the choice
	Finish                 // end the schedule and call Program.Finally
	Stop                   // end the schedule; it shows nothing new, so nothing is judged
	Leave                  // the rest of the schedule shows nothing new: its clients run to some end
)

// View is what a strategy sees of a schedule.
type View interface {
	// Path returns the choices so far. Do not change them.
	Path() []interleave.Choice

	// Moves lists what can happen next, starting with the thread that took the last step. It is empty if the schedule
	// is over.
	Moves() ([]schedule.Move, error)

	// Instants lists the instants to which time can pass next.
	Instants() ([]schedule.Instant, error)

	// Fingerprint returns a hash of the schedule so far; 0: unknown. Two schedules with the same choices have different
	// fingerprints if clients sent something else.
	Fingerprint() uint64

	// FingerprintAfter returns the fingerprint after a choice; 0: unknown.
	FingerprintAfter(interleave.Choice) uint64

	// Visit reports whether another schedule was in this state with the same moves asleep. If not, the state counts
	// as visited from now on.
	Visit(asleep []*schedule.Move) (bool, error)

	// Unpromoted reports whether replication has stopped and no replica was promoted. A schedule that ends so shows no
	// more than one without a failover.
	Unpromoted() bool

	// Disturbed reports whether something happened that is not part of the schedule, such as that Redis lacked a script.
	Disturbed() bool
}

// end says how to end a schedule in which no move is left.
func end(v View) Decision {
	if v.Unpromoted() {
		return Stop
	}
	return Finish
}

// InWords writes a schedule on one line.
func InWords(choices []interleave.Choice) string {
	words := make([]string, len(choices))
	for i, c := range choices {
		words[i] = c.String()
	}
	return strings.Join(words, ", ")
}
