package explore

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// findings is what a search has counted and found so far. The search's lock guards it.
type findings struct {
	schedules, pruned, steps int
	strays                   int64                 // commands that clients sent outside of their turns in other processes
	doubt                    string                // why some schedule could not be judged; empty: all could
	okKinds                  map[harness.Kind]bool // kinds of which at least one operation was ok
	found                    map[harness.Class]*smallestFound
	coverage                 coverage
	encounters               encounters
	random                   randomState // of a search at random
}

func newFindings() findings {
	return findings{found: map[harness.Class]*smallestFound{}, okKinds: map[harness.Kind]bool{}}
}

// note counts a schedule that was judged, and keeps what was found in it. number is that of one drawn at random, or 0.
func (f *findings) note(b interleave.Budget, o outcome, said judgement, number int) {
	f.schedules++
	f.steps += len(o.path)
	f.doubt = cmp.Or(f.doubt, said.doubt)
	f.coverage.add(o.covers)
	f.encounters.add(b, o, said.situations)
	for op := range o.history.Ops {
		if op.Outcome == harness.OK {
			f.okKinds[op.Kind] = true
		}
	}
	if o.covers.GrantedFree != "" { // something was granted without a command, so nobody knows when: the history shows nothing
		return
	}
	for _, a := range said.found {
		if a.To >= o.knownUntil {
			continue // the search says that it cannot tell
		}
		f.keep(&smallestFound{Budget: b, Schedule: o.path, Class: a.Class, Length: o.lengthUntil(a.To)})
		f.random.note(a.Class, number)
	}
}

// notePruned counts a schedule whose end shows nothing new.
func (f *findings) notePruned(steps int) {
	f.pruned++
	f.steps += steps
}

// keep keeps a counterexample if it is the smallest of its class.
func (f *findings) keep(c *smallestFound) {
	if old := f.found[c.Class]; old == nil || c.smaller(old) {
		f.found[c.Class] = c
	}
}

// smallestFound is the smallest counterexample of a class so far.
type smallestFound struct {
	Class    harness.Class      `json:"class"`
	Budget   interleave.Budget  `json:"budget"`
	Length   int                `json:"length"` // steps and probes until it shows
	Schedule savedSchedule      `json:"schedule"`
	shrunk   *interleave.Shrunk // nil: it is as it was found
}

// smaller reports whether c comes before than. Counterexamples are ordered by length, by the faults in them, then by their choices,
// so that the result does not depend on which worker was faster.
func (c *smallestFound) smaller(than *smallestFound) bool {
	return cmp.Or(
		cmp.Compare(c.Length, than.Length),
		cmp.Compare(faultsIn(c.Schedule), faultsIn(than.Schedule)),
		slices.Compare(c.Schedule, than.Schedule),
	) < 0
}

// faultsIn counts the choices of a schedule that are no step of a client.
func faultsIn(schedule []interleave.Choice) (n int) {
	for _, c := range schedule {
		if c.Kind() != interleave.Runs {
			n++
		}
	}
	return n
}

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

// tally writes down what was counted and found so far.
func (f *findings) tally(strays int64) tally {
	t := tally{
		Schedules: f.schedules, Pruned: f.pruned, Steps: f.steps, Strays: f.strays + strays, Doubt: f.doubt, OK: slices.Sorted(maps.Keys(f.okKinds)),
		Coverage: f.coverage, Random: f.random,
	}
	t.Random.FirstAt = maps.Clone(f.random.FirstAt)
	for _, class := range slices.Sorted(maps.Keys(f.found)) {
		t.Found = append(t.Found, *f.found[class])
	}
	for _, name := range slices.Sorted(maps.Keys(f.encounters.by)) {
		t.Situations = append(t.Situations, *f.encounters.by[name])
	}
	return t
}

// add adds what another search, or a piece of this one, has counted and found.
func (f *findings) add(t tally) {
	f.schedules, f.pruned, f.steps, f.strays = f.schedules+t.Schedules, f.pruned+t.Pruned, f.steps+t.Steps, f.strays+t.Strays
	f.doubt = cmp.Or(f.doubt, t.Doubt)
	for _, k := range t.OK {
		f.okKinds[k] = true
	}
	f.coverage.add(t.Coverage)
	f.random.add(t.Random)
	for _, e := range t.Situations {
		f.encounters.entry(e.Name).update(e.Situation, e.Budget, e.Schedule)
	}
	for _, c := range t.Found {
		f.keep(&c)
	}
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
