package explore

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file collects the situations that schedules meet. Checkers see some of them in the history; the explorer
// causes the others.

// noteSituation adds a situation that the explorer caused.
func (ex *execution) noteSituation(name harness.SituationName) {
	ex.situations = append(ex.situations, name)
}

// rerunSituations runs the shortest schedule of each situation again, and returns the situations with their steps.
func (s *search) rerunSituations(ctx context.Context, w *world) (all []interleave.Situation, err error) {
	r := runner{spec: s.spec, w: w}
	for _, name := range slices.Sorted(maps.Keys(s.seen.Encounters)) {
		e := s.seen.Encounters[name]
		situation := interleave.Situation{Situation: e.Situation}
		if e.Count > 0 {
			situation.Steps, err = r.stepsOf(context.WithoutCancel(ctx), e.Budget, e.Schedule)
			// the verdict reports these two
			if err != nil && !errors.Is(err, ErrDiverged) && !errors.Is(err, schedule.ErrStopped) {
				return all, err
			}
		}
		all = append(all, situation)
	}
	return all, nil
}

// stepsOf runs a schedule and returns its steps. It returns nil if the machine disturbed every attempt.
func (r runner) stepsOf(ctx context.Context, budget interleave.Budget,
	choices []interleave.Choice) ([]interleave.Step, error) {
	ex, err := r.replay(ctx, budget, choices)
	switch {
	case errors.Is(err, errDisturbed):
		return nil, nil // this machine is too busy to show the situation
	case err != nil:
		return nil, err
	}
	return ex.trace.Steps, nil
}
