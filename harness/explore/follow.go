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

// Followed is the outcome of Follow.
type Followed struct {
	Counterexample  *interleave.Counterexample // first violation; nil: none
	FirstUnfollowed string                     // first choice that the program could not follow; empty: it followed all
	// Stopped says why the program did not reach an end; empty: it did.
	Stopped string
}

// Follow runs spec's program along the schedule of an earlier counterexample, perhaps of an older version, and has the
// checkers judge the history. Unlike [Replay] it does not compare commands. It skips choices that are not possible any
// more, and when the schedule ends it lets unfinished clients run one after the other. An error says that the harness
// or its environment failed, or that spec cannot be searched (ErrSpec).
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

// follow runs the program along the schedule and judges the result.
func (r runner) follow(ctx context.Context, c interleave.Counterexample) (out Followed, err error) {
	r.traced, r.stores = true, true
	budget := r.spec.replayBudget(c)
	var s *strategy.Follow
	ex, err := r.run(ctx, budget, func() strategy.Strategy {
		s = &strategy.Follow{Schedule: c.Schedule}
		return s
	})
	if out.FirstUnfollowed = s.FirstUnfollowed; err != nil {
		return out, err
	}
	found := ex.outcome().Judge(ctx, r.spec.Checkers).Anomalies
	if len(found) == 0 {
		return out, nil
	}
	first := slices.MinFunc(found, func(a, b harness.Anomaly) int { return cmp.Compare(a.To, b.To) })
	now, err := r.counterexample(ctx, ex, budget, first.Class)
	out.Counterexample = &now
	return out, err
}
