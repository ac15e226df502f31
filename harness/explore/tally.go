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
	Schedules  int              `json:"schedules"`
	Pruned     int              `json:"pruned"`
	Steps      int              `json:"steps"`
	Strays     int64            `json:"strays,omitempty"`
	Doubt      string           `json:"doubt,omitempty"`
	OK         []harness.Kind   `json:"ok,omitempty"`
	Coverage   savedCoverage    `json:"coverage"`
	Situations []savedSituation `json:"situations,omitempty"`
	Found      []savedFound     `json:"found,omitempty"`
	Random     savedRandom      `json:"random"`
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

// savedFound is a smallestFound that is written down.
type savedFound struct {
	Class    harness.Class     `json:"class"`
	Budget   interleave.Budget `json:"budget"`
	Length   int               `json:"length"`
	Schedule savedSchedule     `json:"schedule"`
}

// savedSituation is an encounter that is written down.
type savedSituation struct {
	harness.Situation
	Budget   interleave.Budget `json:"budget"`
	Schedule savedSchedule     `json:"schedule,omitempty"`
}

// savedCoverage is a coverage that is written down.
type savedCoverage struct {
	Crashed     bool   `json:"crashed,omitempty"`
	Expired     bool   `json:"expired,omitempty"`
	TTLSet      bool   `json:"ttlSet,omitempty"`
	TooManyEnds bool   `json:"tooManyEnds,omitempty"`
	ClockRead   bool   `json:"clockRead,omitempty"`
	WakesCut    bool   `json:"wakesCut,omitempty"`
	Subscribed  bool   `json:"subscribed,omitempty"`
	Heard       bool   `json:"heard,omitempty"`
	GrantedFree string `json:"grantedFree,omitempty"`
	Tokens      bool   `json:"tokens,omitempty"`
	Owners      uint32 `json:"owners,omitempty"`
}

// savedRandom is a randomState that is written down.
type savedRandom struct {
	Drawn    int                   `json:"drawn,omitempty"`
	Judged   int                   `json:"judged,omitempty"`
	Actors   int                   `json:"actors,omitempty"`
	Steps    int                   `json:"steps,omitempty"`
	Instants int                   `json:"instants,omitempty"`
	FirstAt  map[harness.Class]int `json:"firstAt,omitempty"`
}

// tally returns what the search has counted and found so far. The caller holds s.mu, or nobody works.
func (s *search) tally(strays int64) tally {
	m, r := s.coverage, s.random
	t := tally{
		Schedules: s.schedules, Pruned: s.pruned, Steps: s.steps, Strays: s.strays + strays, Doubt: s.doubt, OK: slices.Sorted(maps.Keys(s.okKinds)),
		Coverage: savedCoverage{m.crashed, m.expired, m.ttlSet, m.tooManyEnds, m.clockRead, m.wakesCut, m.subscribed, m.heard, m.grantedFree, m.tokens, m.owners},
		Random:   savedRandom{r.drawn, r.judged, r.actors, r.steps, r.instants, maps.Clone(r.firstAt)},
	}
	for _, class := range slices.Sorted(maps.Keys(s.found)) {
		c := s.found[class]
		t.Found = append(t.Found, savedFound{class, c.budget, c.length, c.schedule})
	}
	for _, name := range slices.Sorted(maps.Keys(s.encounters.by)) {
		e := s.encounters.by[name]
		t.Situations = append(t.Situations, savedSituation{e.Situation, e.budget, e.schedule})
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
	m, c := &s.coverage, t.Coverage
	m.crashed, m.expired, m.ttlSet = m.crashed || c.Crashed, m.expired || c.Expired, m.ttlSet || c.TTLSet
	m.tooManyEnds, m.clockRead, m.wakesCut = m.tooManyEnds || c.TooManyEnds, m.clockRead || c.ClockRead, m.wakesCut || c.WakesCut
	m.subscribed, m.heard = m.subscribed || c.Subscribed, m.heard || c.Heard
	m.grantedFree, m.tokens, m.owners = cmp.Or(m.grantedFree, c.GrantedFree), m.tokens || c.Tokens, m.owners|c.Owners
	for _, e := range t.Situations {
		s.encounters.entry(e.Name).update(e.Situation, e.Budget, e.Schedule)
	}
	for _, f := range t.Found {
		c := &smallestFound{budget: f.Budget, schedule: f.Schedule, class: f.Class, length: f.Length}
		if old := s.found[f.Class]; old == nil || c.smaller(old) {
			s.found[f.Class] = c
		}
	}
	r, more := &s.random, t.Random
	r.drawn, r.judged = r.drawn+more.Drawn, r.judged+more.Judged
	r.actors, r.steps, r.instants = max(r.actors, more.Actors), max(r.steps, more.Steps), max(r.instants, more.Instants)
	for class, number := range more.FirstAt {
		r.note(class, number)
	}
}
