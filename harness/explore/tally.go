package explore

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// tally is what a search, or a piece of one, has counted and found, as it is written down. Tallies are added up in the order of their
// pieces; all but the texts in it come out the same in any order.
type tally struct {
	Schedules  int             `json:"schedules"`
	Pruned     int             `json:"pruned"`
	Steps      int             `json:"steps"`
	Strays     int64           `json:"strays,omitempty"`
	Doubt      string          `json:"doubt,omitempty"`
	OK         []harness.Kind  `json:"ok,omitempty"`
	Coverage   coverage        `json:"coverage"`
	Situations []encounter     `json:"situations,omitempty"`
	Found      []smallestFound `json:"found,omitempty"`
	Random     randomState     `json:"random"`
}

// savedSchedule is a schedule whose choices are written as numbers, which are those of one version of the program.
type savedSchedule []interleave.Choice

// MarshalJSON writes the choices as numbers.
func (s savedSchedule) MarshalJSON() ([]byte, error) {
	numbers := make([]uint16, len(s))
	for i, c := range s {
		numbers[i] = uint16(c)
	}
	return json.Marshal(numbers)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *savedSchedule) UnmarshalJSON(text []byte) error {
	var numbers []uint16
	if err := json.Unmarshal(text, &numbers); err != nil {
		return err
	}
	*s = make(savedSchedule, len(numbers))
	for i, n := range numbers {
		(*s)[i] = interleave.Choice(n)
	}
	return nil
}

// tally returns what the search has counted and found so far. The caller holds s.mu, or nobody works.
func (s *search) tally(strays int64) tally {
	t := tally{
		Schedules: s.schedules, Pruned: s.pruned, Steps: s.steps, Strays: s.strays + strays, Doubt: s.doubt, OK: slices.Sorted(maps.Keys(s.okKinds)),
		Coverage: s.coverage, Random: s.random,
	}
	t.Random.FirstAt = maps.Clone(s.random.FirstAt)
	for _, class := range slices.Sorted(maps.Keys(s.found)) {
		t.Found = append(t.Found, *s.found[class])
	}
	for _, name := range slices.Sorted(maps.Keys(s.encounters.by)) {
		t.Situations = append(t.Situations, *s.encounters.by[name])
	}
	return t
}

// add adds what another search, or a piece of this one, has counted and found. The caller holds s.mu, or nobody works.
func (s *search) add(t tally) {
	s.schedules, s.pruned, s.steps, s.strays = s.schedules+t.Schedules, s.pruned+t.Pruned, s.steps+t.Steps, s.strays+t.Strays
	s.doubt = cmp.Or(s.doubt, t.Doubt)
	for _, k := range t.OK {
		s.okKinds[k] = true
	}
	s.coverage.add(t.Coverage)
	s.random.add(t.Random)
	for _, e := range t.Situations {
		s.encounters.entry(e.Name).update(e.Situation, e.Budget, e.Schedule)
	}
	for _, c := range t.Found {
		if old := s.found[c.Class]; old == nil || c.smaller(old) {
			s.found[c.Class] = &c
		}
	}
}
