package explore

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
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
// version of the program, and has the checkers judge the history. Unlike [Replay] it does not compare commands: it
// leaves out choices that are not possible any more, and clients that are not done when the schedule ends go on, one
// after the other. An error says that the harness or its environment failed, or that spec cannot be searched (ErrSpec).
func Follow(ctx context.Context, spec Spec, c interleave.Counterexample) (Followed, error) {
	return withReplicas(spec, func(spec Spec) (Followed, error) { return followOnce(ctx, spec, c) })
}

func followOnce(ctx context.Context, spec Spec, c interleave.Counterexample) (out Followed, err error) {
	if spec, err = spec.fit(c).withDefaults(); err != nil {
		return out, err
	}
	w, err := newWorld(ctx, &spec)
	if err != nil {
		return out, err
	}
	err = catchPanics(func() (err error) {
		out, err = newRunner(&spec, w).follow(ctx, c)
		return err
	})
	if errors.Is(err, schedule.ErrStopped) {
		out.Stopped, err = schedule.Why(err), nil
	}
	return out, errors.Join(err, w.stop())
}

// follow leads the program along the schedule and judges what became of it.
func (r runner) follow(ctx context.Context, c interleave.Counterexample) (out Followed, err error) {
	r.traced, r.stores = true, true
	budget := r.spec.replayBudget(c)
	var s *strategy.Follow
	ex, err := r.run(ctx, budget, func() strategy.Strategy {
		s = &strategy.Follow{Schedule: c.Schedule}
		return s
	})
	if out.Unfit = s.Unfit; err != nil {
		return out, err
	}
	found := ex.outcome().Judge(ctx, r.spec.Checkers).Found
	if len(found) == 0 {
		return out, nil
	}
	first := slices.MinFunc(found, func(a, b harness.Anomaly) int { return cmp.Compare(a.To, b.To) })
	now, err := r.counterexample(ctx, ex, budget, first.Class)
	out.Found = &now
	return out, err
}
