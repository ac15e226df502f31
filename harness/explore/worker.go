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

// This file runs one schedule of a search. explore makes attempts until one is not disturbed. An attempt runs the
// schedule from memory (recall.go) if every step of it is known, otherwise live. Either way drive (run.go) lets the
// job's strategy choose each move, and before each new move isVisited looks up whether another schedule was in the same
// state.
//
// A schedule ends in one of these ways:
//
//   - Finish: no client can take another step. It is judged.
//   - Leave: its state is known, or all moves are asleep. Live clients run to some end. It counts as pruned.
//   - Stop: replication has stopped and no replica was promoted, which shows nothing new. It counts as pruned.
//   - An error: the states that the job has claimed are given back, and its branch returns into the queue.

// jobRun is the execution of a job, over all its attempts.
type jobRun struct {
	job   frontier.Job
	ex    *execution        // the schedule of the current attempt, live or from memory
	ended strategy.Decision // how the schedule ended

	// An attempt looks up each state that it reaches. A state that no other job has reached then belongs to this job,
	// even if the attempt fails. So the next attempt does not look up the states of the first lookedUp steps again.
	lookedUp int // number of steps whose states were looked up
	claimed  []visited.ID
}

// restart prepares for the next attempt. What is known about looked-up states stays.
func (v *jobRun) restart() {
	v.ex = nil
	v.ended = strategy.Take
}

// worker runs a search's schedules in one world.
type worker struct {
	runner
	search *search
}

// explore runs a schedule, and runs it again each time that it was disturbed.
func (k worker) explore(ctx context.Context, v *jobRun) error {
	_, err := k.undisturbed(ctx, k.search.budget, func() (*execution, error) { return k.attempt(ctx, v) })
	if err != nil && len(v.claimed) > 0 {
		k.search.states.Forget(v.claimed)
	}
	return err
}

// attempt runs a schedule. It returns the live execution, or nil if the schedule was run from memory.
func (k worker) attempt(ctx context.Context, v *jobRun) (liveRun *execution, err error) {
	if v.restart(); k.search.memory.Works() {
		if done, err := k.runFromMemory(ctx, v); done || err != nil {
			return nil, err
		}
	}
	ex, err := beginSchedule(ctx, k.spec, k.search.budget, k.w)
	if err != nil {
		return nil, err
	}
	if k.search.states != nil && k.search.followsTrails(k.w) {
		ex.trails = &trails{byClient: make([]visited.ID, len(ex.actors)), strays: ex.w.outOfTurn}
	}
	v.ex = ex.execution
	return v.ex, k.drive(ctx, v)
}

// drive runs a schedule that has begun.
func (k worker) drive(ctx context.Context, v *jobRun) (err error) {
	isVisited := func(asleep []*schedule.Move) (bool, error) { return k.visit(ctx, v, asleep) }
	v.ended, err = v.ex.drive(ctx, v.job.Strategy(), stateView{v.ex, isVisited})
	return err
}

// stateView is the strategy's view in a search that looks up states.
type stateView struct {
	*execution
	visit func(asleep []*schedule.Move) (bool, error)
}

// Visit reports whether another schedule was in this state before.
func (v stateView) Visit(asleep []*schedule.Move) (bool, error) { return v.visit(asleep) }

// visit reports whether another schedule was in the current state of v before.
func (k worker) visit(ctx context.Context, v *jobRun, asleep []*schedule.Move) (known bool, err error) {
	if k.spec.WithoutReduction || len(v.ex.path) < v.lookedUp {
		return false, nil
	}
	if ok, err := v.ex.backend.hasState(); !ok || err != nil {
		return false, err
	}
	id, known := k.search.states.visit(ctx, v.ex, asleep)
	if !known {
		v.lookedUp = len(v.ex.path) + 1
		v.claimed = append(v.claimed, id)
	}
	return known, nil
}

// runFromMemory runs the schedule from memory. When a step is not known, it runs a schedule with the same beginning
// live, learns from it and tries again. The result is false if memory stopped working.
func (k worker) runFromMemory(ctx context.Context, v *jobRun) (done bool, err error) {
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
		if _, err := k.runLive(ctx, v.ex.path); err != nil {
			return false, err
		}
	}
	v.lookedUp = 0 // states are described differently without memory
	return false, nil
}

// comparedOnce is how many schedules are run from memory for each one that is also run live, for comparison. Schedules
// whose number is a power of two are compared as well, since a nondeterministic client usually shows early.
const comparedOnce = 1000

// compareWithReality runs some of the schedules live that were run from memory before. The error wraps ErrStopped if
// the result differs.
func (k worker) compareWithReality(ctx context.Context, recalled *execution) error {
	k.search.memory.Recalled++
	if n := k.search.memory.Recalled; n%comparedOnce > 0 && n&(n-1) > 0 {
		return nil
	}
	liveRun, err := k.runLive(ctx, recalled.path)
	// what stops the use of memory changes only words, and model.Memory.Learn compares the rest
	if err != nil || !k.search.memory.Works() {
		return err
	}
	if !slices.EqualFunc(liveRun.ops, recalled.ops, model.EqualOps) || !slices.Equal(liveRun.path, recalled.path) {
		return fmt.Errorf("%w: a schedule that was run from memory shows something else when it is really run: %s",
			schedule.ErrNotRepeated, strategy.InWords(recalled.path))
	}
	return nil
}

// runLive runs a schedule that begins with path on real clients, repeats it if it was disturbed, and learns from it.
func (k worker) runLive(ctx context.Context, path []interleave.Choice) (*execution, error) {
	return k.undisturbed(ctx, k.search.budget, func() (*execution, error) {
		k.w.memory = k.search.memory
		defer func() { k.w.memory = nil }()
		strays := k.w.outOfTurn
		ex, err := k.once(ctx, k.search.budget, &strategy.First{Prefix: path, LooksAtEnd: true})
		k.search.memory.Scripts.LearnFrom(k.w.Scripts)
		if k.w.outOfTurn > strays && (ex == nil || !ex.stoodStill()) {
			k.search.memory.Disable("a client sends commands outside its operations")
		}
		return ex, err
	})
}
