package explore

import (
	"cmp"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

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
func (e *encounters) add(b interleave.Budget, o outcome, seen []harness.Situation) {
	for _, s := range seen {
		e.entry(s.Name).update(s, b, o.path)
	}
	for _, name := range possibleSituations(b) {
		e.entry(name)
	}
	for _, name := range o.situations {
		e.entry(name).update(harness.Situation{Name: name, Count: 1}, b, o.path)
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
