// Package findings keeps what the schedules of a search came to: counts, the smallest counterexample of each class, the
// situations that were met. A schedule that has ended is an [Outcome]. What was found can be written down and added to
// what another search has found.
package findings

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Findings is what a search has counted and found so far. The search's lock guards it.
type Findings struct {
	Schedules, Pruned, Steps int
	Strays                   int64                 // commands that clients sent outside of their turns in other processes
	Doubt                    string                // why some schedule could not be judged; empty: all could
	OKKinds                  map[harness.Kind]bool // kinds of which at least one operation was ok
	Found                    map[harness.Class]*Found
	Coverage                 Coverage
	Encounters               Encounters
	Random                   Drawn // of a search at random
}

// New returns findings of no schedule.
func New() Findings {
	return Findings{Found: map[harness.Class]*Found{}, OKKinds: map[harness.Kind]bool{}}
}

// Note counts a schedule that was judged, and keeps what was found in it.
func (f *Findings) Note(b interleave.Budget, o Outcome, said Judgement) {
	f.Schedules++
	f.Random.count(len(o.Path), o.Draw)
	f.Steps += len(o.Path)
	f.Doubt = cmp.Or(f.Doubt, said.doubt)
	f.Coverage.add(o.Covers)
	f.Encounters.add(b, o, said.situations)
	for i := range o.Ops {
		if o.Ops[i].Outcome == harness.OK {
			f.OKKinds[o.Ops[i].Kind] = true
		}
	}
	// something was granted without a command, so nobody knows when: the history shows nothing
	if o.Covers.GrantedFree != "" {
		return
	}
	for _, a := range said.Found {
		if a.To >= o.KnownUntil {
			continue // the search says that it cannot tell
		}
		f.keep(&Found{Budget: b, Schedule: o.Path, Class: a.Class, Length: o.LengthUntil(a.To)})
		f.Random.note(a.Class, o.Draw.Number)
	}
}

// NotePruned counts a schedule whose end shows nothing new.
func (f *Findings) NotePruned(steps int, d Draw) {
	f.Pruned++
	f.Random.count(steps, d)
	f.Steps += steps
}

// keep keeps a counterexample if it is the smallest of its class.
func (f *Findings) keep(c *Found) {
	if old := f.Found[c.Class]; old == nil || c.Smaller(old) {
		f.Found[c.Class] = c
	}
}

// Found is the smallest counterexample of a class so far.
type Found struct {
	Class    harness.Class      `json:"class"`
	Budget   interleave.Budget  `json:"budget"`
	Length   int                `json:"length"` // steps and probes until it shows
	Schedule Schedule           `json:"schedule"`
	Shrunk   *interleave.Shrunk `json:"-"` // nil: it is as it was found
}

// Smaller reports whether c comes before than. Counterexamples are ordered by length, by the faults in them, then by
// their choices, so that the result does not depend on which worker was faster.
func (c *Found) Smaller(than *Found) bool {
	return cmp.Or(
		cmp.Compare(c.Length, than.Length),
		cmp.Compare(FaultsIn(c.Schedule), FaultsIn(than.Schedule)),
		slices.Compare(c.Schedule, than.Schedule),
	) < 0
}

// FaultsIn counts the choices of a schedule that are no step of a client.
func FaultsIn(schedule []interleave.Choice) (n int) {
	for _, c := range schedule {
		if c.Kind() != interleave.Runs {
			n++
		}
	}
	return n
}

// Tally is what a search, or a piece of one, has counted and found, as it is written down. Tallies are added up in the
// order of their pieces; all but the texts in it come out the same in any order.
type Tally struct {
	Schedules  int            `json:"schedules"`
	Pruned     int            `json:"pruned"`
	Steps      int            `json:"steps"`
	Strays     int64          `json:"strays,omitempty"`
	Doubt      string         `json:"doubt,omitempty"`
	OK         []harness.Kind `json:"ok,omitempty"`
	Coverage   Coverage       `json:"coverage"`
	Situations []Encounter    `json:"situations,omitempty"`
	Found      []Found        `json:"found,omitempty"`
	Random     Drawn          `json:"random"`
}

// Tally writes down what was counted and found so far.
func (f *Findings) Tally(strays int64) Tally {
	t := Tally{
		Schedules: f.Schedules, Pruned: f.Pruned, Steps: f.Steps, Strays: f.Strays + strays, Doubt: f.Doubt,
		OK:       slices.Sorted(maps.Keys(f.OKKinds)),
		Coverage: f.Coverage, Random: f.Random,
	}
	t.Random.FirstAt = maps.Clone(f.Random.FirstAt)
	for _, class := range slices.Sorted(maps.Keys(f.Found)) {
		t.Found = append(t.Found, *f.Found[class])
	}
	for _, name := range slices.Sorted(maps.Keys(f.Encounters.By)) {
		t.Situations = append(t.Situations, *f.Encounters.By[name])
	}
	return t
}

// Add adds what another search, or a piece of this one, has counted and found.
func (f *Findings) Add(t Tally) {
	f.Schedules, f.Pruned, f.Steps, f.Strays = f.Schedules+t.Schedules, f.Pruned+t.Pruned,
		f.Steps+t.Steps, f.Strays+t.Strays
	f.Doubt = cmp.Or(f.Doubt, t.Doubt)
	for _, k := range t.OK {
		f.OKKinds[k] = true
	}
	f.Coverage.add(t.Coverage)
	f.Random.add(t.Random)
	for _, e := range t.Situations {
		f.Encounters.entry(e.Name).update(e.Situation, e.Budget, e.Schedule)
	}
	for _, c := range t.Found {
		f.keep(&c)
	}
}

// Schedule is a schedule whose choices are written as numbers, which are those of one version of the program.
type Schedule []interleave.Choice

// MarshalJSON writes the choices as numbers.
func (s Schedule) MarshalJSON() ([]byte, error) {
	numbers := make([]uint16, len(s))
	for i, c := range s {
		numbers[i] = uint16(c)
	}
	return json.Marshal(numbers)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Schedule) UnmarshalJSON(text []byte) error {
	var numbers []uint16
	if err := json.Unmarshal(text, &numbers); err != nil {
		return err
	}
	*s = make(Schedule, len(numbers))
	for i, n := range numbers {
		(*s)[i] = interleave.Choice(n)
	}
	return nil
}
