package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/nemesis"
)

// findFault turns the entry into the fault with the given name, with all parameters filled in. It returns an error if
// the fault is impossible on the topology. The parameter field is the entry's field from which the name was read, for
// error messages.
func (f FaultPlan) findFault(field, name string, on blueprint) (FaultPlan, error) {
	var wrong error
	for _, e := range nemesis.Find(name) {
		found, err := f.configure(e, field, name, on)
		if err == nil {
			return found, found.checkTopology(field, on)
		}
		wrong = cmp.Or(wrong, err)
	}
	if wrong != nil {
		return FaultPlan{}, wrong
	}
	return FaultPlan{}, f.errorf(field, "%w", unknownFault(name, field != "random"))
}

// configure fills in the parameters of f: from the fault's name, or else from the defaults of e, the catalogue's entry
// for that name. A parameter that e does not take is an error.
func (f FaultPlan) configure(e nemesis.Entry, field, name string, on blueprint) (FaultPlan, error) {
	for _, p := range f.parameters() {
		if !slices.Contains(e.Takes, p) {
			return f, f.errorf(p, "%s is not a parameter of %s, which takes %s", p, name, orNothing(e.Takes))
		}
	}
	slot := e.Slot()
	value, _ := e.Fits(name)
	if value != "" {
		parameter := f.Word(slot)
		if *parameter != "" {
			return f, f.errorf(slot, "the name %s already fixes %s: leave %[2]s out", name, slot)
		}
		*parameter = value
	}
	made, wrong, err := e.With(f.Parameters, f.For, on.primaries > 1)
	f.configured, f.Parameters, f.For = made, made.Parameters, made.For
	if err != nil && value != "" && wrong == slot {
		return f, f.errorf(field, "unknown fault %q: %w", name, err)
	}
	if err != nil {
		return f, f.errorf(wrong, "%w", err)
	}
	return f, nil
}

func orNothing(words []string) string {
	if len(words) == 0 {
		return "no parameters"
	}
	return strings.Join(words, ", ")
}

// checkTopology refuses a fault that is impossible on the topology.
func (f FaultPlan) checkTopology(field string, on blueprint) error {
	if on.external && f.configured.Entry.Strikes != "g" && f.From == "" && f.Shape != clientsFromPrimary {
		return f.errorf(field, "%s is impossible on --topology %s, where faults can strike only clients and their "+
			"links to the primary: choose one of %s",
			f.configured.Name, External, externalFaults)
	}
	missing := map[nemesis.Need]bool{
		nemesis.NeedsSentinels:  on.sentinels == 0,
		nemesis.NeedsSuccessors: on.sentinels == 0 && on.primaries == 1,
		nemesis.NeedsMasters:    on.primaries == 1,
	}
	if missing[f.configured.Entry.Needs] && f.configured.Entry.Needs == nemesis.NeedsSuccessors {
		return f.errorf(field, "%s needs --topology %s: %s has no failover", f.configured.Name, Sentinel, on.name)
	}
	if missing[f.configured.Entry.Needs] {
		remedy := map[nemesis.Need]string{nemesis.NeedsMasters: ManyMasters}[f.configured.Entry.Needs]
		return f.errorf(field, "%s needs --topology %s: %s has no %s",
			f.configured.Name, cmp.Or(remedy, Sentinel), on.name, f.configured.Entry.Needs)
	}
	if err := f.checkLinks(on); err != nil {
		return f.errorf(field, "%s is impossible on --topology %s: %w", f.configured.Name, on.name, err)
	}
	if err := f.checkTarget(field, on); err != nil {
		return err
	}
	if least := f.configured.Least(on); f.For < least {
		return f.errorf("for", "%s for %v is too short to be observed: ask for %v or "+
			"more", f.configured.Name, f.For, least)
	}
	return nil
}

// checkTarget refuses hosts that the topology does not have, and hosts that the fault cannot strike.
func (f FaultPlan) checkTarget(field string, on blueprint) error {
	if f.configured.Entry.Strikes == "" {
		return nil
	}
	hosts, err := on.pickTarget(f.configured.Target())
	if err != nil {
		return f.errorf(field, "%s is impossible on --topology %s: %w", f.configured.Name, on.name, err)
	}
	for _, h := range hosts {
		if !strings.Contains(f.configured.Entry.Strikes, h[:1]) {
			return f.errorf(field, "%s cannot strike %s: it strikes %s",
				f.configured.Name, f.Host, kindsOfTargets(f.configured.Entry.Strikes))
		}
	}
	noClients := func(hosts []string) bool { return !slices.ContainsFunc(hosts, on.hasClientsOn) }
	if f.configured.Entry.Strikes == "g" && on.everyDraw(f.configured.Target(), noClients) {
		return f.errorf(field, "%s would strike a group without clients: the %d clients are in the groups g0 to g%d",
			f.configured.Name, on.workers, on.workers-1)
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
