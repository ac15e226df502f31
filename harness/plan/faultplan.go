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

// FaultPlan is one entry of the timetable: a fault or a package of faults, its times, and its parameters. Zero values
// stand for the defaults named beside the fields. A parameter that the fault does not take is refused.
type FaultPlan struct {
	Fault  string   `yaml:"fault,omitempty"`  // one of FaultDocs, such as "kill-primary"
	Random []string `yaml:"random,omitempty"` // in place of Fault: names from which the seed draws one each time
	// How long the load runs before this entry, from the end of the previous entry on. Default: the plan's calm.
	Start time.Duration `yaml:"start,omitempty" zero:"default"`
	// how long the fault is in force; default: the fault's own time
	For   time.Duration `yaml:"for,omitempty" zero:"default"`
	Times int           `yaml:"times,omitempty" zero:"default"` // number of repetitions, at most MostTimes; default 1
	// How long the load runs between two repetitions; default: the plan's calm.
	Every time.Duration `yaml:"every,omitempty" zero:"default"`
	// Track names the track of this entry. The entries of one track follow each other. Several tracks run side by side.
	// Default: the unnamed track.
	Track string `yaml:"track,omitempty"`

	nemesis.Parameters `yaml:",inline"`

	place      fields.Place
	configured nemesis.Configured // the resolved fault; set by findFault
}

func (f *FaultPlan) Put(p fields.Place) { f.place = p }

// whenFields lists the fields that are not parameters of the fault.
var whenFields = []string{"fault", "random", "start", "for", "times", "every", "track"}

// parameters lists the names of the parameters that the entry gives.
func (f FaultPlan) parameters() []string {
	return slices.DeleteFunc(fields.Given(f), func(name string) bool { return slices.Contains(whenFields, name) })
}

// errorf returns a usage error about a field of the entry.
func (f FaultPlan) errorf(field, format string, args ...any) error {
	return Usagef("%s%w", f.place.At(field), fmt.Errorf(format, args...))
}

// check refuses entries that are wrong for any fault.
func (f FaultPlan) check() error {
	switch {
	case f.Fault == "" && len(f.Random) == 0:
		return f.errorf("", "an entry needs a fault: name one under fault, or several under random")
	case f.Fault != "" && len(f.Random) > 0:
		return f.errorf("random", "an entry has both fault and random: leave one of them out")
	case len(f.Random) > 0 && len(f.parameters()) > 0:
		parameter := f.parameters()[0]
		return f.errorf(parameter, "%s is for a single fault, and a random entry has several: leave it out", parameter)
	case f.Times > MostTimes:
		return f.errorf("times", "%d times: ask for at most %d", f.Times, MostTimes)
	case f.Times < 0:
		return f.errorf("times", "%d times: ask for 1 or more", f.Times)
	case f.Every > 0 && f.Times < 2:
		return f.errorf("every", "every needs times: say how many times the fault comes")
	}
	for name, d := range map[string]time.Duration{"start": f.Start, "for": f.For, "every": f.Every} {
		if d < 0 {
			return f.errorf(name, "%s is %v: a time cannot be negative", name, d)
		}
		if d > MaxDuration {
			return f.errorf(name, "%s is %v: ask for at most %v", name, d, MaxDuration)
		}
	}
	return nil
}

// timetable holds the faults of a plan by track, one entry for each repetition. Each fault has all its parameters. Its
// Start counts from the end of the track's previous fault (harness.TimedFault.After). The unnamed track comes first.
type timetable struct {
	tracks map[string][]FaultPlan
	names  []string // names of the tracks, in order of appearance
	// For each track, the package that all its faults come from; empty if they have several sources.
	onlyPackage map[string]string
	calm        time.Duration
	on          blueprint
	rng         *rand.Rand // draws the random faults
}

// randomStream is the number of the seed's stream from which random faults are drawn.
const randomStream = 1 << 62

// newTimetable looks up every fault of the plan and puts the entries on their tracks.
func newTimetable(plans []FaultPlan, on blueprint, calm time.Duration, seed uint64) (*timetable, error) {
	t := &timetable{
		tracks: map[string][]FaultPlan{}, names: []string{""}, onlyPackage: map[string]string{}, calm: calm, on: on,
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
	return t, t.checkTouches()
}

// add puts an entry of the plan on its track, with all repetitions.
func (t *timetable) add(p FaultPlan) error {
	for _, name := range p.Random { // refuse a wrong name even if it is never drawn
		if _, err := p.findFault("random", name, t.on); err != nil {
			return err
		}
	}
	after := cmp.Or(p.Start, t.calm)
	for range max(1, p.Times) {
		if err := t.addOnce(p, after); err != nil {
			return err
		}
		after = cmp.Or(p.Every, t.calm)
	}
	return nil
}

func (t *timetable) addOnce(p FaultPlan, after time.Duration) error {
	if pack, ok := findPackage(p.Fault); ok {
		return t.addPackage(p, pack, after)
	}
	field, name := "fault", p.Fault
	if len(p.Random) > 0 {
		field, name = "random", p.Random[t.rng.IntN(len(p.Random))]
	}
	f, err := p.findFault(field, name, t.on)
	if err != nil {
		return err
	}
	t.onlyPackage[p.Track] = ""
	f.Start = after
	t.append(p.Track, f)
	return nil
}

// addPackage adds a package of faults. The package's own tracks run beside the track of p, the plan's entry that names
// the package.
func (t *timetable) addPackage(p FaultPlan, pack faultPackage, after time.Duration) error {
	if names := p.parameters(); len(names) > 0 || p.For > 0 {
		field := append(names, "for")[0]
		return p.errorf(field, "%s is a package whose faults set their own times and parameters: leave %s out",
			p.Fault, field)
	}
	if pack.sideBySide() && len(t.tracks[p.Track]) > 0 && t.onlyPackage[p.Track] != pack.name {
		return p.errorf("fault", "%s has concurrent faults: put it first, or into its own track", p.Fault)
	}
	first := map[string]bool{}
	for _, s := range pack.entries {
		track := strings.TrimSuffix(p.Track+"/"+s.Track, "/")
		lead := s.Start
		if !first[track] {
			first[track], lead = true, s.Start+after
		}
		for range max(1, s.Times) {
			f, err := p.placedIn(s).findFault("fault", s.Fault, t.on)
			if err != nil {
				return err
			}
			f.Start = cmp.Or(lead, t.calm)
			t.append(track, f)
			lead = s.Every
		}
	}
	t.onlyPackage[p.Track] = pack.name
	return nil
}

// placedIn returns s, an entry of a package, so that errors about s name the line of f. f is the plan's entry that
// names the package.
func (f FaultPlan) placedIn(s FaultPlan) FaultPlan {
	s.place = f.place
	return s
}

func (t *timetable) append(track string, s FaultPlan) {
	if !slices.Contains(t.names, track) {
		t.names = append(t.names, track)
	}
	t.tracks[track] = append(t.tracks[track], s)
}

// all returns every fault, track by track.
func (t *timetable) all() (all []FaultPlan) {
	if t == nil { // not resolved yet
		return nil
	}
	for _, name := range t.names {
		all = append(all, t.tracks[name]...)
	}
	return all
}
