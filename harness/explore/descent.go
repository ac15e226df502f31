package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/doublegrant/doublegrant/harness/explore/internal/frontier"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
	"github.com/doublegrant/doublegrant/harness/explore/internal/visited"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file runs a schedule of a search, from memory if that is possible.

// descent is what becomes of a job.
type descent struct {
	job   frontier.Job
	ex    *execution  // the schedule, really run or from memory
	ended strategy.Do // how it ended

	// An attempt looks up the states that it comes to. Those that were not known are this schedule's own from then on,
	// also if the attempt fails. So the next attempt looks up the states after them only.
	lookedUp int // steps up to which states were looked up
	claimed  []visited.ID
}

// restart makes the descent ready for another attempt.
func (v *descent) restart() {
	*v = descent{job: v.job, lookedUp: v.lookedUp, claimed: v.claimed}
}

// isVisited reports whether another schedule has come to the state before at which a descent is.
func (k worker) isVisited(ctx context.Context, v *descent, asleep []*schedule.Move) (known bool, err error) {
	if k.spec.Unreduced || len(v.ex.path) < v.lookedUp {
		return false, nil
	}
	if ok, err := v.ex.backend.hasState(); !ok || err != nil {
		return false, err
	}
	id, known := k.search.states.isKnown(ctx, v.ex, asleep)
	if !known {
		v.lookedUp, v.claimed = len(v.ex.path)+1, append(v.claimed, id)
	}
	return known, nil
}

// runFromMemory runs the schedule from memory. Where something is not known, it first really runs a schedule that
// begins in the same way. done is false if the search has to go on without memory.
func (k worker) runFromMemory(ctx context.Context, v *descent) (done bool, err error) {
	for learned, attempts := -1, 0; k.search.memory.Works(); v.restart() {
		if v.ex, err = beginFromMemory(k.spec, k.search.budget, k.w, k.search.memory); err == nil {
			err = k.drive(ctx, v)
		}
		if err == nil && v.ended == strategy.Finish {
			err = k.compareWithReality(ctx, v.ex)
		}
		if !errors.Is(err, model.ErrUnknown) {
			return true, err
		}
		if attempts++; len(v.ex.path) > learned {
			learned, attempts = len(v.ex.path), 0
		}
		if attempts == maxAttempts {
			k.search.memory.Disable("a schedule that was really run does not show what is to be known")
		}
		if _, err := k.reallyRun(ctx, v.ex.path); err != nil {
			return false, err
		}
	}
	v.lookedUp = 0 // memory tells states in another way
	return false, nil
}

// One in comparedOnce schedules run from memory is really run as well, to compare the two. So are those whose number is
// a power of two, since a client that does not do the same each time shows it soon, if at all.
const comparedOnce = 1000

// compareWithReality really runs some of the schedules that were run from memory. The error wraps ErrStopped if one
// shows something else.
func (k worker) compareWithReality(ctx context.Context, recalled *execution) error {
	k.search.memory.Recalled++
	if n := k.search.memory.Recalled; n%comparedOnce > 0 && n&(n-1) > 0 {
		return nil
	}
	really, err := k.reallyRun(ctx, recalled.path)
	// what ends the use of memory changes words, and model.Memory.Learn compares the rest
	if err != nil || !k.search.memory.Works() {
		return err
	}
	if !slices.EqualFunc(really.ops, recalled.ops, model.IsLike) || !slices.Equal(really.path, recalled.path) {
		return fmt.Errorf("%w: a schedule that was run from memory shows something else when it is really run: %s",
			schedule.ErrNotRepeated, strategy.InWords(recalled.path))
	}
	return nil
}

// reallyRun runs a schedule that begins with path, again where it was disturbed, and keeps what it shows.
func (k worker) reallyRun(ctx context.Context, path []interleave.Choice) (*execution, error) {
	return k.undisturbed(ctx, k.search.budget, func() (*execution, error) {
		k.w.memory = k.search.memory
		defer func() { k.w.memory = nil }()
		strays := k.w.strayCommands
		ex, err := k.once(ctx, k.search.budget, &strategy.First{Prefix: path, LooksAtEnd: true})
		k.search.memory.Scripts.LearnFrom(k.w.Scripts)
		if k.w.strayCommands > strays && (ex == nil || !ex.stoodStill()) {
			k.search.memory.Disable("a client sends commands by itself")
		}
		return ex, err
	})
}
