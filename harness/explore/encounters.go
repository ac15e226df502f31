package explore

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file keeps the situations that schedules meet. Checkers see some of them in the history; the explorer brings about
// the others itself.

// noteSituation notes a situation that the explorer brings about.
func (ex *execution) noteSituation(name harness.SituationName) {
	ex.situations = append(ex.situations, name)
}

// encounter is a situation, with the shortest schedule that met it.
type encounter struct {
	harness.Situation
	Budget   interleave.Budget `json:"budget"`
	Schedule savedSchedule     `json:"schedule,omitempty"`
}

// encounters holds the situations of a search.
type encounters struct {
	order []harness.SituationName
	by    map[harness.SituationName]*encounter
}

// possibleSituations lists the situations that the explorer can bring about within a budget.
func possibleSituations(b interleave.Budget) (names []harness.SituationName) {
	for _, of := range []struct {
		n    int
		name harness.SituationName
	}{
		{b.Crashes, harness.ClientCrashed}, {b.LostAnswers, harness.AnswerLost}, {b.LostCommands, harness.CommandLost},
		{b.Late, harness.CommandLate}, {b.Failovers, harness.ReplicaPromoted}, {b.Flushes, harness.ScriptMissing},
	} {
		if of.n > 0 {
			names = append(names, of.name)
		}
	}
	return names
}

// entry returns the encounter of a situation, and makes it if there is none yet.
func (e *encounters) entry(name harness.SituationName) *encounter {
	if e.by == nil {
		e.by = map[harness.SituationName]*encounter{}
	}
	if e.by[name] == nil {
		e.by[name] = &encounter{Situation: harness.Situation{Name: name}}
		e.order = append(e.order, name)
	}
	return e.by[name]
}

// add takes what one schedule met.
func (e *encounters) add(b interleave.Budget, ex *execution, seen []harness.Situation) {
	for _, s := range seen {
		e.entry(s.Name).update(s, b, ex.path)
	}
	for _, name := range possibleSituations(b) {
		e.entry(name)
	}
	for _, name := range ex.situations {
		e.entry(name).update(harness.Situation{Name: name, Count: 1}, b, ex.path)
	}
}

// update counts the situation of one schedule, and keeps the schedule if it is the shortest so far, or of equal length the first
// by its choices.
func (e *encounter) update(s harness.Situation, b interleave.Budget, path []interleave.Choice) {
	if e.Count += s.Count; s.Count == 0 {
		return
	}
	if e.Schedule == nil || cmp.Or(cmp.Compare(len(path), len(e.Schedule)), slices.Compare(path, e.Schedule)) < 0 {
		e.Budget, e.Schedule, e.Example = b, path, s.Example
	}
}

// rerunSituations runs the shortest schedule of each situation again and returns the situations with their steps.
func (s *search) rerunSituations(ctx context.Context, w *world) (all []interleave.Situation, err error) {
	r := newRunner(s.spec, w)
	slices.Sort(s.encounters.order) // which was met first depends on the workers
	for _, name := range s.encounters.order {
		e := s.encounters.by[name]
		told := interleave.Situation{Situation: e.Situation}
		if e.Count > 0 {
			told.Steps, err = r.stepsOf(context.WithoutCancel(ctx), e.Budget, e.Schedule)
			if err != nil && !errors.Is(err, ErrDiverged) && !errors.Is(err, schedule.ErrStopped) { // of those the verdict tells
				return all, err
			}
		}
		all = append(all, told)
	}
	return all, nil
}

// stepsOf runs a schedule and returns its steps. They are nil if the machine disturbed every attempt.
func (r runner) stepsOf(ctx context.Context, budget interleave.Budget, choices []interleave.Choice) ([]interleave.Step, error) {
	ex, err := r.replay(ctx, budget, choices)
	switch {
	case errors.Is(err, errDisturbed):
		return nil, nil // there is one, but the machine is too busy to show it
	case err != nil:
		return nil, err
	}
	return ex.trace.steps, nil
}
