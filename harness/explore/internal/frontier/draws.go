package frontier

import (
	"fmt"
	"slices"

	"github.com/doublegrant/doublegrant/harness/explore/internal/findings"
	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
)

// Round is a batch of random schedules. How they are drawn depends only on the seed and on the longest schedule of
// earlier rounds, and not on which worker is faster.
type Round struct {
	From       int   `json:"next"`            // number of the next schedule, from 1; 0: no round has begun
	To         int   `json:"to"`              // one more than the number of the round's last schedule
	KnownSteps int   `json:"known"`           // steps of the longest schedule before the round; 0: unknown
	Retry      []int `json:"again,omitempty"` // numbers, below Round.From, of schedules that could not be run
}

// Clone returns an independent copy.
func (r Round) Clone() Round {
	r.Retry = slices.Clone(r.Retry)
	return r
}

// Remaining counts the schedules of the round that are still to be run.
func (r Round) Remaining() int { return r.To - r.From + len(r.Retry) }

// Numbers lists the numbers of the schedules that are still to be run.
func (r Round) Numbers() []int {
	all := slices.Clone(r.Retry)
	for n := r.From; n < r.To; n++ {
		all = append(all, n)
	}
	return all
}

// Split splits what remains of the round. Schedules to run again are in a part of their own, which comes first. Every
// other part has up to n new schedules.
func (r Round) Split(n int) (parts []Round) {
	if len(r.Retry) > 0 {
		parts = append(parts, Round{From: r.From, To: r.From, KnownSteps: r.KnownSteps, Retry: slices.Clone(r.Retry)})
	}
	for from := r.From; from < r.To; from += n {
		parts = append(parts, Round{From: from, To: min(from+n, r.To), KnownSteps: r.KnownSteps})
	}
	return parts
}

// MarkRun records that the schedules of a part were run, except for those whose numbers are in the list undrawn. The
// part has to be the first of the rounds that Split returns. The error says that the list has a number twice, or one
// that is not in the part.
func (r *Round) MarkRun(part Round, undrawn []int) error {
	all := part.Numbers()
	for i, n := range undrawn {
		if !slices.Contains(all, n) || slices.Contains(undrawn[:i], n) {
			return fmt.Errorf("schedule %d at random was not run, was not asked for, or appears twice", n)
		}
	}
	if len(part.Retry) > 0 {
		r.Retry = nil
	}
	r.From, r.Retry = part.To, append(r.Retry, undrawn...)
	return nil
}

// Check returns an error if the numbers of r contradict each other, so that no search can have written it.
func (r Round) Check() error {
	for _, number := range r.Retry {
		if number < 1 || number >= r.From {
			return fmt.Errorf("a schedule %d that is to be drawn again before number %d", number, r.From)
		}
	}
	if r.From < 0 || r.To < r.From || r.From == 0 && r.To > 0 || r.KnownSteps < 0 {
		return fmt.Errorf("a round of the schedules from %d to %d, the longest of %d steps", r.From, r.To, r.KnownSteps)
	}
	return nil
}

// Draws is the source of a random search.
type Draws struct {
	Round
	// draws the schedule with the given number; the parameter known is the number of steps of the longest earlier
	// schedule
	Make func(number, known int) *strategy.Random
}

// Planned counts the schedules of the round that are still to be run.
func (f *Draws) Planned() int { return f.Remaining() }

// Next takes the next schedule of the round. Schedules to run again come first.
func (f *Draws) Next() (Job, bool) {
	if n := len(f.Retry); n > 0 {
		j := &drawJob{from: f, number: f.Retry[n-1]}
		f.Retry = f.Retry[:n-1]
		return j, true
	}
	if f.From >= f.To {
		return nil, false
	}
	f.From++
	return &drawJob{from: f, number: f.From - 1}, true
}

// drawJob is a random schedule.
type drawJob struct {
	from   *Draws
	number int
	last   *strategy.Random
}

func (j *drawJob) Strategy() strategy.Strategy {
	j.last = j.from.Make(j.number, j.from.KnownSteps)
	return j.last
}

func (j *drawJob) Done() {}

func (j *drawJob) PutBack() { j.from.Retry = append(j.from.Retry, j.number) }

func (j *drawJob) Draw() findings.Draw {
	return findings.Draw{Number: j.number, Actors: j.last.Actors, Instants: j.last.Instants}
}
