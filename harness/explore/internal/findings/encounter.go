package findings

import (
	"cmp"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Encounter is a situation, with the shortest schedule that met it.
type Encounter struct {
	harness.Situation
	Budget   interleave.Budget `json:"budget"`
	Schedule Schedule          `json:"schedule,omitempty"`
}

// Encounters holds the situations that a search has met, by name.
type Encounters map[harness.SituationName]*Encounter

// possibleSituations lists the situations that the explorer can cause within a budget.
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

// entry returns the encounter of the situation with that name. If there is none, it adds one.
func (e Encounters) entry(name harness.SituationName) *Encounter {
	if e[name] == nil {
		e[name] = &Encounter{Situation: harness.Situation{Name: name}}
	}
	return e[name]
}

// add adds what one schedule met.
func (e Encounters) add(b interleave.Budget, o Outcome, seen []harness.Situation) {
	for _, s := range seen {
		e.entry(s.Name).update(s, b, o.Path)
	}
	for _, name := range possibleSituations(b) {
		e.entry(name)
	}
	for _, name := range o.Situations {
		e.entry(name).update(harness.Situation{Name: name, Count: 1}, b, o.Path)
	}
}

// update counts a situation that one schedule met. The encounter keeps the shortest of these schedules. Of equally
// short ones it keeps the first in the order of their choices.
func (e *Encounter) update(s harness.Situation, b interleave.Budget, path []interleave.Choice) {
	if e.Count += s.Count; s.Count == 0 {
		return
	}
	if e.Schedule == nil || cmp.Or(cmp.Compare(len(path), len(e.Schedule)), slices.Compare(path, e.Schedule)) < 0 {
		e.Budget, e.Schedule, e.Example = b, path, s.Example
	}
}
