package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Followed is the outcome of leading another version of a program along a schedule.
type Followed struct {
	Found *interleave.Counterexample // the first violation of this version; nil: none
	Unfit string                     // the first place where the program could not follow; empty: it followed to the end
	// Stopped says why the program did not come to an end; empty: it did.
	Stopped string
}

// Follow leads spec's program along the schedule of a counterexample that a search found earlier, perhaps in an older
// version of the program, and has the checkers judge the history. Unlike [Replay] it does not compare commands: it leaves out
// choices that are not possible any more, and clients that are not done when the schedule ends go on, one after the other.
// An error says that the harness or its environment failed, or that spec cannot be searched (ErrSpec).
func Follow(ctx context.Context, spec Spec, c interleave.Counterexample) (out Followed, err error) {
	if spec, err = spec.fit(c).withDefaults(); err != nil {
		return out, err
	}
	w, err := newWorld(ctx, &spec)
	if err != nil {
		return out, err
	}
	err = catchPanics(func() (err error) {
		out, err = replayer{spec: &spec, w: w, alarm: time.NewTimer(parkWithin)}.follow(ctx, c)
		return err
	})
	if errors.Is(err, errStopped) {
		out.Stopped, err = err.Error()[len(errStopped.Error())+2:], nil
	}
	return out, errors.Join(err, w.stop())
}

// follow leads the program along the schedule and judges what became of it.
func (r replayer) follow(ctx context.Context, c interleave.Counterexample) (out Followed, err error) {
	var ex *execution
	budget := r.spec.replayBudget(c)
	err = r.attempts(budget).run(ctx, func() (_ *execution, err error) {
		ex, out.Unfit, err = r.runWherePossible(ctx, budget, c.Schedule)
		return ex, err
	})
	if err != nil {
		return out, err
	}
	found := ex.withDeadlock(check(ctx, r.spec.Checkers, ex.history())).found
	if len(found) == 0 {
		return out, nil
	}
	first := slices.MinFunc(found, func(a, b harness.Anomaly) int { return cmp.Compare(a.To, b.To) })
	now, err := r.counterexample(ctx, ex, budget, first.Class)
	out.Found = &now
	return out, err
}

// runWherePossible runs the choices of a schedule that are possible, and then goes on to an end. unfit describes the first that is not
// possible.
func (r replayer) runWherePossible(ctx context.Context, budget interleave.Budget, schedule []interleave.Choice) (ex *execution, unfit string, err error) {
	if ex, err = beginSchedule(ctx, r.spec, budget, r.w, r.alarm); err != nil {
		return nil, "", err
	}
	ex.trace = &trace{stores: true}
	for i, c := range schedule {
		moves, err := ex.moves()
		if err != nil {
			return ex, unfit, err
		}
		if !slices.ContainsFunc(moves, func(m move) bool { return m.choice == c }) {
			unfit = cmp.Or(unfit, fmt.Sprintf("step %d, %v, is not possible any more", i+1, c))
			continue
		}
		if _, err := ex.step(ctx, c); err != nil {
			ex.abandon()
			return ex, unfit, err
		}
	}
	if moves, err := ex.moves(); err != nil {
		return ex, unfit, err
	} else if len(moves) > 0 {
		unfit = cmp.Or(unfit, "after its last step clients are not done")
	}
	if err := ex.drain(ctx); err != nil {
		return ex, unfit, err
	}
	return ex, unfit, ex.finish(ctx)
}
