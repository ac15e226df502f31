package nemesis

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Fault is an entry of the catalogue with its parameters complete and looked up. Made by Entry.With.
type Fault struct {
	Parameters
	For    time.Duration
	Name   string // as the short form has it, such as "kill-primary"
	Entry  Entry
	Does   Consequences
	OneWay bool // only links that From opens to To are meant

	hosts, from, to Hosts
	sides           Shape
	link            harness.LinkFault
}

// defaultFor is how long most faults stay in force: a failover takes two seconds.
const defaultFor = 5 * time.Second

// With gives parameters that are zero their defaults, looks all of them up, and refuses what makes no sense: the error is about
// the parameter that is returned beside it. Where there are several masters, one of them or all stand for the primary.
func (e Entry) With(given Parameters, last time.Duration, masters bool) (f Fault, parameter string, err error) {
	f = Fault{Parameters: given, For: cmp.Or(last, e.For, defaultFor), Entry: e, Does: e.Does}
	f.fillIn(e.defaultsOn(masters))
	parameter, err = f.parse()
	return f, parameter, err
}

// defaultsOn are the entry's defaults where there are several masters, or one.
func (e Entry) defaultsOn(masters bool) Parameters {
	d := e.Defaults
	if masters && d.Host == "primary" {
		d.Host = "node"
	}
	if masters && d.To == "primary" {
		d.To = "nodes"
	}
	return d
}

// fillIn gives parameters that are not set their defaults. Jitter goes with latency: who sets one means no other.
func (f *Fault) fillIn(defaults Parameters) {
	if f.Latency != 0 || f.Jitter != 0 {
		defaults.Latency, defaults.Jitter = 0, 0
	}
	to, from := reflect.ValueOf(&f.Parameters).Elem(), reflect.ValueOf(defaults)
	for i := range to.NumField() {
		if v := to.Field(i); v.IsZero() {
			v.Set(from.Field(i))
		}
	}
}

// parse looks up the names in the fault's parameters. It returns the parameter that is wrong.
func (f *Fault) parse() (parameter string, err error) {
	before, word, after := f.Entry.slot()
	f.Name = f.Entry.Name
	if word != "" {
		f.Name = before + *f.Word(slots[word]) + after
	}
	if f.Host != "" {
		if f.hosts, err = ParseHosts(f.Host); err != nil {
			return "host", err
		}
	}
	if f.Entry.prepare != nil {
		return f.Entry.prepare(f)
	}
	return "", nil
}

// Make is what injects the fault.
func (f Fault) Make(on Target) harness.Nemesis { return f.Entry.make(f, on) }

// Least is the shortest time in force in which the fault can be proved; 0: any will do.
func (f Fault) Least(on Outlook) time.Duration {
	if f.Entry.least == nil {
		return 0
	}
	return f.Entry.least(f, on)
}

// Hosts is whom it strikes: of a fault that takes hosts.
func (f Fault) Hosts() Hosts { return f.hosts }

// Ends are whose links it strikes: of a fault that takes them.
func (f Fault) Ends() (from, to Hosts) { return f.from, f.to }

// CheckSides returns what the topology lacks for its sides: of a fault that has them.
func (f Fault) CheckSides(on Topology) error { return f.sides.Check(on) }

// Can reports whether the fault does any of that. Of what makes acknowledged writes go, a replica or a Sentinel does
// nothing.
func (f Fault) Can(what Consequences) bool {
	spared := func(host string) bool {
		host = strings.TrimSpace(host)
		return host == "replica" || host == "replicas" || strings.HasPrefix(host, "s")
	}
	if hosts := strings.Split(f.Host, ","); !slices.ContainsFunc(hosts, func(h string) bool { return !spared(h) }) {
		what &^= MayLose | Loses | Forgets | AtOnce | Evicts | Ages
	}
	return f.Does&what != 0
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
