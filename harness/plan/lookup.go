package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/nemesis"
)

// findFault finds the fault called name, gives it the entry's parameters, and tries it on a topology. field is the entry's field
// that holds the name, for errors.
func (f FaultPlan) findFault(field, name string, on blueprint) (fault, error) {
	var candidates []candidate
	for _, e := range nemesis.Entries() {
		if value, ok := e.Fits(name); ok {
			candidates = append(candidates, candidate{e, value})
		}
	}
	// The entry that spells out more of the name is the likelier one.
	slices.SortStableFunc(candidates, func(a, b candidate) int { return len(a.value) - len(b.value) })
	var wrong error
	for _, c := range candidates {
		found, err := f.asCandidate(c, field, name, on)
		if err == nil {
			return found, found.checkTopology(field, on)
		}
		wrong = cmp.Or(wrong, err)
	}
	if wrong != nil {
		return fault{}, wrong
	}
	return fault{}, f.errorf(field, "%w", unknownFault(name, field != "random"))
}

// candidate is an entry that a name can mean, with the value that the name gives to the entry's slot.
type candidate struct {
	entry nemesis.Entry
	value string
}

// asCandidate makes a candidate into the fault of this entry of the timetable.
func (f FaultPlan) asCandidate(c candidate, field, name string, on blueprint) (fault, error) {
	out := fault{FaultPlan: f}
	for _, p := range f.parameters() {
		if !slices.Contains(c.entry.Takes, p) {
			return out, f.errorf(p, "%s does not belong to %s, which takes %s", p, name, orNothing(c.entry.Takes))
		}
	}
	slot := c.entry.Slot()
	if c.value != "" {
		said := out.Word(slot)
		if *said != "" {
			return out, f.errorf(slot, "%s says already which %s: leave %[2]s out", name, slot)
		}
		*said = c.value
	}
	it, wrong, err := c.entry.With(out.Parameters, f.For, on.primaries > 1)
	out.it, out.Parameters, out.For = it, it.Parameters, it.For
	if err != nil && c.value != "" && wrong == slot {
		return out, f.errorf(field, "unknown fault %q: %w", name, err)
	}
	if err != nil {
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

// checkTopology refuses a fault that is impossible on the topology.
func (f fault) checkTopology(field string, on blueprint) error {
	if on.external && f.it.Entry.Strikes != "g" && f.From == "" && f.Shape != clientsFromPrimary {
		return f.errorf(field, "%s is not for --topology %s, where only clients and their links to the primary are struck: %s",
			f.it.Name, External, externalFaults)
	}
	missing := map[nemesis.Need]bool{
		nemesis.NeedsSentinels:  on.sentinels == 0,
		nemesis.NeedsSuccessors: on.sentinels == 0 && on.primaries == 1,
		nemesis.NeedsMasters:    on.primaries == 1,
	}
	if missing[f.it.Entry.Needs] && f.it.Entry.Needs == nemesis.NeedsSuccessors {
		return f.errorf(field, "%s needs --topology %s: on %s nobody takes over", f.it.Name, Sentinel, on.name)
	}
	if missing[f.it.Entry.Needs] {
		remedy := map[nemesis.Need]string{nemesis.NeedsMasters: ManyMasters}[f.it.Entry.Needs]
		return f.errorf(field, "%s needs --topology %s: %s has no %s", f.it.Name, cmp.Or(remedy, Sentinel), on.name, f.it.Entry.Needs)
	}
	if err := f.possibleLinks(on); err != nil {
		return f.errorf(field, "%s cannot be on --topology %s: %w", f.it.Name, on.name, err)
	}
	if err := f.possibleTarget(field, on); err != nil {
		return err
	}
	if least := f.it.Least(on); f.For < least {
		return f.errorf("for", "%s for %v is too short to be seen: ask for %v or more", f.it.Name, f.For, least)
	}
	return nil
}

// possibleTarget refuses hosts that the topology does not have, and hosts that the fault cannot strike.
func (f fault) possibleTarget(field string, on blueprint) error {
	if f.it.Entry.Strikes == "" {
		return nil
	}
	hosts, err := on.pickTarget(f.it.Target())
	if err != nil {
		return f.errorf(field, "%s cannot be on --topology %s: %w", f.it.Name, on.name, err)
	}
	for _, h := range hosts {
		if !strings.Contains(f.it.Entry.Strikes, h[:1]) {
			return f.errorf(field, "%s cannot strike %s: it strikes %s", f.it.Name, f.Host, kindsOfTargets(f.it.Entry.Strikes))
		}
	}
	nobody := func(hosts []string) bool { return !slices.ContainsFunc(hosts, on.hasClientsOn) }
	if f.it.Entry.Strikes == "g" && on.everyDraw(f.it.Target(), nobody) {
		return f.errorf(field, "%s would strike nobody: %d clients are in the groups g0 to g%d", f.it.Name, on.workers, on.workers-1)
	}
	return nil
}

func kindsOfTargets(letters string) string {
	var kinds []string
	for _, l := range letters {
		kinds = append(kinds, map[rune]string{'r': "Redis nodes", 's': "Sentinels", 'g': "client groups"}[l])
	}
	return strings.Join(kinds, " and ")
}
