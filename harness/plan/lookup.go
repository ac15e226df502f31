package plan

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/internal/fields"
	"github.com/doublegrant/doublegrant/nemesis"
)

// slots are the words in an entry's name that stand for a parameter, and the parameter.
var slots = map[string]string{"HOST": "host", "SIDES": "sides"}

// slot is the word in the entry's name that stands for a parameter, and what is around it.
func (e faultEntry) slot() (before, word, after string) {
	for word := range slots {
		if before, after, ok := strings.Cut(e.name, word); ok {
			return before, word, after
		}
	}
	return e.name, "", ""
}

// base is the name without the word that stands for a parameter.
func (e faultEntry) base() string {
	before, word, after := e.slot()
	if word == "" {
		return e.name
	}
	return strings.TrimSuffix(before, "-") + after
}

// fits reports whether name can be the entry's, and the value that it has in the place of the slot: none in a base.
func (e faultEntry) fits(name string) (value string, ok bool) {
	if name == e.base() {
		return "", true
	}
	before, word, after := e.slot()
	value, ok = strings.CutPrefix(name, before)
	if !ok || word == "" {
		return "", false
	}
	value, ok = strings.CutSuffix(value, after)
	return value, ok && value != ""
}

// look looks the fault of that name up, with the step's parameters, and tries it on a topology. field is where the step
// has the name.
func (f FaultPlan) look(field, name string, on blueprint) (fault, error) {
	var candidates []candidate
	for _, e := range entries() {
		if value, ok := e.fits(name); ok {
			candidates = append(candidates, candidate{e, value})
		}
	}
	// The more of the name an entry spells out, the likelier it is meant.
	slices.SortStableFunc(candidates, func(a, b candidate) int { return len(a.value) - len(b.value) })
	var wrong error
	for _, c := range candidates {
		found, err := f.as(c, field, name, on)
		if err == nil {
			return found, found.possible(field, on)
		}
		wrong = cmp.Or(wrong, err)
	}
	if wrong != nil {
		return fault{}, wrong
	}
	return fault{}, f.errorf(field, "%w", unknownFault(name, field != "random"))
}

// candidate is an entry that a name can mean, and the value that the name then has for the entry's slot.
type candidate struct {
	entry faultEntry
	value string
}

// as makes the step's fault of a candidate.
func (f FaultPlan) as(c candidate, field, name string, on blueprint) (fault, error) {
	out := fault{FaultPlan: f, entry: c.entry, does: c.entry.does}
	for _, p := range f.parameters() {
		if !slices.Contains(c.entry.takes, p) {
			return out, f.errorf(p, "%s does not belong to %s, which takes %s", p, name, orNothing(c.entry.takes))
		}
	}
	if c.value != "" {
		_, word, _ := c.entry.slot()
		said := fields.Named(reflect.ValueOf(&out.FaultPlan).Elem(), slots[word])
		if said.String() != "" {
			return out, f.errorf(slots[word], "%s says already which %s: leave %[2]s out", name, slots[word])
		}
		said.SetString(c.value)
	}
	out.fillIn(c.entry.defaultsOn(on))
	if wrong, err := out.parse(); err != nil {
		if _, word, _ := c.entry.slot(); c.value != "" && wrong == slots[word] {
			return out, f.errorf(field, "unknown fault %q: %w", name, err)
		}
		return out, f.errorf(wrong, "%w", err)
	}
	return out, nil
}

func orNothing(words []string) string {
	if len(words) == 0 {
		return "no parameters"
	}
	return strings.Join(words, ", ")
}

// defaultsOn are the entry's defaults on a topology: where there are several masters, one of them or all are meant.
func (e faultEntry) defaultsOn(on blueprint) FaultPlan {
	d := e.defaults
	if on.primaries > 1 && d.Host == "primary" {
		d.Host = "node"
	}
	if on.primaries > 1 && d.To == "primary" {
		d.To = "nodes"
	}
	return d
}

// fillIn gives parameters that are not set their defaults. Jitter goes with latency: who sets one means no other.
func (f *fault) fillIn(defaults FaultPlan) {
	if f.Latency != 0 || f.Jitter != 0 {
		defaults.Latency, defaults.Jitter = 0, 0
	}
	defaults.For = cmp.Or(defaults.For, defaultFor)
	to, from := reflect.ValueOf(&f.FaultPlan).Elem(), reflect.ValueOf(defaults)
	for field := range fields.Of(from.Type()) {
		if v := to.FieldByIndex(field.Index); v.IsZero() {
			v.Set(from.FieldByIndex(field.Index))
		}
	}
}

// defaultFor is how long most faults stay in force: a failover takes two seconds.
const defaultFor = 5 * time.Second

// parse looks up the names in the fault's parameters. It returns the field that is wrong.
func (f *fault) parse() (field string, err error) {
	before, word, after := f.entry.slot()
	f.name = f.entry.name
	if word != "" {
		f.name = before + fields.Named(reflect.ValueOf(&f.FaultPlan).Elem(), slots[word]).String() + after
	}
	if f.Host != "" {
		if f.hosts, err = nemesis.ParseHosts(f.Host); err != nil {
			return "host", err
		}
	}
	if f.entry.prepare != nil {
		return f.entry.prepare(f)
	}
	return "", nil
}

// possible refuses a fault that cannot apply to the topology.
func (f fault) possible(field string, on blueprint) error {
	missing := map[need]bool{
		sentinels:  on.guards == 0,
		successors: on.guards == 0 && on.primaries == 1,
		many:       on.primaries == 1,
	}
	if missing[f.entry.needs] && f.entry.needs == successors {
		return f.errorf(field, "%s needs --topology %s: on %s nobody takes over", f.name, Sentinel, on.name)
	}
	if missing[f.entry.needs] {
		remedy := map[need]string{many: ManyMasters}[f.entry.needs]
		return f.errorf(field, "%s needs --topology %s: %s has no %s", f.name, cmp.Or(remedy, Sentinel), on.name, f.entry.needs)
	}
	if err := f.possibleLinks(on); err != nil {
		return f.errorf(field, "%s cannot be on --topology %s: %w", f.name, on.name, err)
	}
	if err := f.possibleHosts(field, on); err != nil {
		return err
	}
	if f.entry.least == nil {
		return nil
	}
	if least := f.entry.least(f, on); f.For < least {
		return f.errorf("for", "%s for %v is too short to be seen: ask for %v or more", f.name, f.For, least)
	}
	return nil
}

// possibleHosts refuses hosts that the topology has not, and those that the fault cannot strike.
func (f fault) possibleHosts(field string, on blueprint) error {
	if f.entry.strikes == "" {
		return nil
	}
	hosts, err := on.pick(f.hosts)
	if err != nil {
		return f.errorf(field, "%s cannot be on --topology %s: %w", f.name, on.name, err)
	}
	for _, h := range hosts {
		if !strings.Contains(f.entry.strikes, h[:1]) {
			return f.errorf(field, "%s cannot strike %s: it strikes %s", f.name, f.Host, kindsOfHosts(f.entry.strikes))
		}
	}
	nobody := func(hosts []string) bool { return !slices.ContainsFunc(hosts, on.manned) }
	if f.entry.strikes == "g" && on.always(f.hosts, nobody) {
		return f.errorf(field, "%s would strike nobody: %d clients are in the groups g0 to g%d", f.name, on.workers, on.workers-1)
	}
	return nil
}

func kindsOfHosts(letters string) string {
	var kinds []string
	for _, l := range letters {
		kinds = append(kinds, map[rune]string{'r': "Redis nodes", 's': "Sentinels", 'g': "client groups"}[l])
	}
	return strings.Join(kinds, " and ")
}

// within checks that a parameter has an effect that can be seen.
func within[T int | time.Duration](field string, is, least, most T) func() (string, error) {
	return func() (string, error) {
		if is < least || is > most {
			return field, fmt.Errorf("%s is %v: ask for %v to %v", field, is, least, most)
		}
		return "", nil
	}
}
