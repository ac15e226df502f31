package plan

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/internal/fields"
	"github.com/doublegrant/doublegrant/nemesis"
)

// FaultPlan is one step of a schedule: a fault or a package, when it comes and how often, and its parameters. Zero
// values mean the defaults named beside them. A parameter that does not belong to the fault is refused.
type FaultPlan struct {
	Fault  string        `yaml:"fault,omitempty"`                // one of Nemeses, such as "kill-primary"
	Random []string      `yaml:"random,omitempty"`               // instead of Fault: each time one of these, drawn from the seed
	Start  time.Duration `yaml:"start,omitempty" zero:"default"` // load before it, since the step before; default: the plan's calm
	For    time.Duration `yaml:"for,omitempty" zero:"default"`   // how long it stays in force; default: the fault's
	Times  int           `yaml:"times,omitempty" zero:"default"` // how often it comes; default 1
	Every  time.Duration `yaml:"every,omitempty" zero:"default"` // load between two of them; default: the plan's calm
	Track  string        `yaml:"track,omitempty"`                // steps of one track come in turn, tracks side by side; default: that of no name

	nemesis.Parameters `yaml:",inline"`

	place fields.Place
}

func (f *FaultPlan) Put(p fields.Place) { f.place = p }

// whenFields are the fields that say when, the others are parameters.
var whenFields = []string{"fault", "random", "start", "for", "times", "every", "track"}

// parameters lists the parameters that are given.
func (f FaultPlan) parameters() []string {
	return slices.DeleteFunc(fields.Given(f), func(name string) bool { return slices.Contains(whenFields, name) })
}

// errorf is a usage error about a field of the step.
func (f FaultPlan) errorf(field, format string, args ...any) error {
	return Usagef("%s%w", f.place.At(field), fmt.Errorf(format, args...))
}

// check refuses what no fault can have.
func (f FaultPlan) check() error {
	switch {
	case f.Fault == "" && len(f.Random) == 0:
		return f.errorf("", "a step without a fault: name one with fault, or several with random")
	case f.Fault != "" && len(f.Random) > 0:
		return f.errorf("random", "a step is a fault or a random one of several: leave one of them out")
	case len(f.Random) > 0 && len(f.parameters()) > 0:
		own := f.parameters()[0]
		return f.errorf(own, "%s belongs to one fault, and a random step has several: leave it out", own)
	case f.Times > MostTimes:
		return f.errorf("times", "%d times: ask for at most %d", f.Times, MostTimes)
	case f.Times < 0:
		return f.errorf("times", "%d times: ask for 1 or more", f.Times)
	case f.Every > 0 && f.Times < 2:
		return f.errorf("every", "every is the time between two of them: say how many with times")
	}
	for name, d := range map[string]time.Duration{"start": f.Start, "for": f.For, "every": f.Every} {
		if d < 0 {
			return f.errorf(name, "%s is %v: a time cannot be negative", name, d)
		}
		if d > Longest {
			return f.errorf(name, "%s is %v: ask for at most %v", name, d, Longest)
		}
	}
	return nil
}

// step is one fault of a timetable.
type step struct {
	fault fault
	after time.Duration // load before it, as harness.Step.After
}

// timetable is what a plan's steps come to: tracks side by side, that of no name first.
type timetable struct {
	tracks map[string][]step
	names  []string          // of the tracks, in order of appearance
	alone  map[string]string // the package that a track consists of so far, if it is one only
	calm   time.Duration
	on     blueprint
	rng    *rand.Rand // draws what is left to chance
}

// randomStream is the stream of the seed that random steps are drawn from.
const randomStream = 1 << 62

// newTimetable looks every fault of the plan up and lays its steps out.
func newTimetable(plans []FaultPlan, on blueprint, calm time.Duration, seed uint64) (*timetable, error) {
	t := &timetable{
		tracks: map[string][]step{}, names: []string{""}, alone: map[string]string{}, calm: calm, on: on,
		rng: rand.New(rand.NewPCG(seed, randomStream)),
	}
	for _, p := range plans {
		if err := p.check(); err != nil {
			return nil, err
		}
		if err := t.add(p); err != nil {
			return nil, err
		}
	}
	return t, t.touches()
}

// add lays out one step of the plan, as often as it comes.
func (t *timetable) add(p FaultPlan) error {
	for _, name := range p.Random { // the one that is never drawn is as wrong as the others
		if _, err := p.look("random", name, t.on); err != nil {
			return err
		}
	}
	after := cmp.Or(p.Start, t.calm)
	for range max(1, p.Times) {
		if err := t.once(p, after); err != nil {
			return err
		}
		after = cmp.Or(p.Every, t.calm)
	}
	return nil
}

func (t *timetable) once(p FaultPlan, after time.Duration) error {
	if pack, ok := findPackage(p.Fault); ok {
		return t.unpack(p, pack, after)
	}
	field, name := "fault", p.Fault
	if len(p.Random) > 0 {
		field, name = "random", p.Random[t.rng.IntN(len(p.Random))]
	}
	f, err := p.look(field, name, t.on)
	if err != nil {
		return err
	}
	t.alone[p.Track] = ""
	t.append(p.Track, step{f, after})
	return nil
}

// unpack lays out a package. Its own tracks go on beside the step's.
func (t *timetable) unpack(p FaultPlan, pack pack, after time.Duration) error {
	if own := p.parameters(); len(own) > 0 || p.For > 0 {
		field := append(own, "for")[0]
		return p.errorf(field, "%s is a package of faults with times and parameters of their own: leave %s out", p.Fault, field)
	}
	if pack.sideBySide() && len(t.tracks[p.Track]) > 0 && t.alone[p.Track] != pack.name {
		return p.errorf("fault", "%s has faults side by side: put it first, or into a track of its own", p.Fault)
	}
	first := map[string]bool{}
	for _, s := range pack.steps {
		track := strings.TrimSuffix(p.Track+"/"+s.Track, "/")
		lead := s.Start
		if !first[track] {
			first[track], lead = true, s.Start+after
		}
		for range max(1, s.Times) {
			f, err := p.in(s).look("fault", s.Fault, t.on)
			if err != nil {
				return err
			}
			t.append(track, step{f, cmp.Or(lead, t.calm)})
			lead = s.Every
		}
	}
	t.alone[p.Track] = pack.name
	return nil
}

// in is a step of a package, at the place where the package is named.
func (f FaultPlan) in(s FaultPlan) FaultPlan {
	s.place = f.place
	return s
}

func (t *timetable) append(track string, s step) {
	if !slices.Contains(t.names, track) {
		t.names = append(t.names, track)
	}
	t.tracks[track] = append(t.tracks[track], s)
}

// steps lists every step, track by track.
func (t *timetable) steps() (all []step) {
	if t == nil { // not planned yet
		return nil
	}
	for _, name := range t.names {
		all = append(all, t.tracks[name]...)
	}
	return all
}
