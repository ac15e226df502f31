// Package findings holds the results of a search's schedules: counts, the smallest counterexample of each class, and
// the situations that were met. The result of one schedule is an [Outcome]. Findings can be written down and merged
// with those of another search.
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
	OutOfTurn                int64                 // commands sent outside of clients' turns, in other processes
	Doubt                    string                // why a schedule could not be judged; empty: all were judged
	OKKinds                  map[harness.Kind]bool // kinds of operation that succeeded at least once
	Counterexamples          map[harness.Class]*Counterexample
	Coverage                 Coverage
	Encounters               Encounters
	Random                   Drawn // what the promise of a random search needs
}

// New returns empty findings.
func New() Findings {
	return Findings{Counterexamples: map[harness.Class]*Counterexample{}, OKKinds: map[harness.Kind]bool{},
		Encounters: Encounters{}}
}

// Note adds a schedule that was judged.
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
	// something was granted without a command at an unknown time, so the history shows nothing
	if o.Covers.GrantedFree != "" {
		return
	}
	for _, a := range said.Anomalies {
		if a.To >= o.KnownUntil {
			continue // the search reports that it cannot tell
		}
		f.keep(&Counterexample{Budget: b, Schedule: o.Path, Class: a.Class, Length: LengthUntil(o.Times, a.To)})
		f.Random.note(a.Class, o.Draw.Number)
	}
}

// NotePruned adds a schedule that was ended early because it shows nothing new.
func (f *Findings) NotePruned(steps int, d Draw) {
	f.Pruned++
	f.Random.count(steps, d)
	f.Steps += steps
}

// keep stores a counterexample if it is the smallest of its class.
func (f *Findings) keep(c *Counterexample) {
	if old := f.Counterexamples[c.Class]; old == nil || c.Smaller(old) {
		f.Counterexamples[c.Class] = c
	}
}

// Counterexample is a schedule that shows a violation of a class.
type Counterexample struct {
	Class    harness.Class      `json:"class"`
	Budget   interleave.Budget  `json:"budget"`
	Length   int                `json:"length"` // steps and probes up to the violation
	Schedule Schedule           `json:"schedule"`
	Shrunk   *interleave.Shrunk `json:"-"` // nil: it is not shrunk
}

// Smaller reports whether c is smaller than another counterexample: by length, then by faults, then by choices. The
// order is total, so the result does not depend on which worker was faster.
func (c *Counterexample) Smaller(than *Counterexample) bool {
	return cmp.Or(
		cmp.Compare(c.Length, than.Length),
		cmp.Compare(FaultsIn(c.Schedule), FaultsIn(than.Schedule)),
		slices.Compare(c.Schedule, than.Schedule),
	) < 0
}

// FaultsIn counts the choices that are not a client's step.
func FaultsIn(schedule []interleave.Choice) (n int) {
	for _, c := range schedule {
		if c.Kind() != interleave.Runs {
			n++
		}
	}
	return n
}

// Tally is the serialised form of Findings, for a search or a piece of one. Tallies are added in the order of their
// pieces. Another order would lead to the same numbers and counterexamples, but perhaps to another Doubt.
type Tally struct {
	Schedules       int              `json:"schedules"`
	Pruned          int              `json:"pruned"`
	Steps           int              `json:"steps"`
	OutOfTurn       int64            `json:"strays,omitempty"`
	Doubt           string           `json:"doubt,omitempty"`
	OK              []harness.Kind   `json:"ok,omitempty"`
	Coverage        Coverage         `json:"coverage"`
	Situations      []Encounter      `json:"situations,omitempty"`
	Counterexamples []Counterexample `json:"found,omitempty"`
	Random          Drawn            `json:"random"`
}

// Tally returns what was counted and found so far. It adds strays to Tally.OutOfTurn: the commands that clients of this
// process sent outside of their turns.
func (f *Findings) Tally(strays int64) Tally {
	t := Tally{
		Schedules: f.Schedules, Pruned: f.Pruned, Steps: f.Steps, OutOfTurn: f.OutOfTurn + strays, Doubt: f.Doubt,
		OK:       slices.Sorted(maps.Keys(f.OKKinds)),
		Coverage: f.Coverage, Random: f.Random,
	}
	t.Random.FirstAt = maps.Clone(f.Random.FirstAt)
	for _, class := range slices.Sorted(maps.Keys(f.Counterexamples)) {
		t.Counterexamples = append(t.Counterexamples, *f.Counterexamples[class])
	}
	for _, name := range slices.Sorted(maps.Keys(f.Encounters)) {
		t.Situations = append(t.Situations, *f.Encounters[name])
	}
	return t
}

// Add adds to f what another search, or a piece of this one, has counted and found.
func (f *Findings) Add(t Tally) {
	f.Schedules += t.Schedules
	f.Pruned += t.Pruned
	f.Steps += t.Steps
	f.OutOfTurn += t.OutOfTurn
	f.Doubt = cmp.Or(f.Doubt, t.Doubt)
	for _, k := range t.OK {
		f.OKKinds[k] = true
	}
	f.Coverage.add(t.Coverage)
	f.Random.add(t.Random)
	for _, e := range t.Situations {
		f.Encounters.entry(e.Name).update(e.Situation, e.Budget, e.Schedule)
	}
	for _, c := range t.Counterexamples {
		f.keep(&c)
	}
}

// Schedule is a schedule that is written as numbers, which are valid for one version of the program.
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
