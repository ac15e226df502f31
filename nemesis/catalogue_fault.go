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

// Configured is a fault with all its parameters. Entry.With makes one from an entry of the catalogue, and Custom makes
// one of the caller's own. The zero value has no Nemesis: see MakesNothing.
type Configured struct {
	Parameters
	For    time.Duration
	Name   string // the short form, such as "kill-primary"
	Entry  Entry
	Does   Consequences
	OneWay bool // the fault acts only on connections that hosts of From open to hosts of To

	target, from, to Target
	shape            Shape
	link             harness.LinkFault
}

// defaultFor is how long most faults stay in force. A failover takes two seconds.
const defaultFor = 5 * time.Second

// With returns the entry's fault with the given parameters, in force for the period. Zero values mean the defaults. If
// it returns an error, it also returns the name of the parameter that the error is about. If masters is true, the
// topology has several masters, and the default "primary" becomes "node", or "nodes" for To.
func (e Entry) With(given Parameters, period time.Duration, masters bool) (f Configured, parameter string, err error) {
	f = Configured{Parameters: given, For: cmp.Or(period, e.For, defaultFor), Entry: e, Does: e.Does}
	f.fillIn(e.defaultsOn(masters))
	parameter, err = f.parse()
	return f, parameter, err
}

// Custom returns a fault that is not in the catalogue. The fault has the Name, For, Needs and Does of e; other fields
// of e are ignored. The given function makes the fault's Nemesis. If it is nil, the fault has none.
func Custom(e Entry, make func(Subject) harness.Nemesis) Configured {
	if make != nil {
		e.make = func(_ Configured, on Subject) harness.Nemesis { return make(on) }
	}
	return Configured{For: e.For, Name: e.Name, Entry: e, Does: e.Does}
}

// MakesNothing reports whether the fault has no Nemesis, so that Make must not be called. The zero value has none.
func (f Configured) MakesNothing() bool { return f.Entry.make == nil }

// defaultsOn returns the entry's defaults. The parameter masters says that the topology has several masters.
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

// fillIn gives unset parameters their defaults. If latency or jitter is set, neither of the two gets its default.
func (f *Configured) fillIn(defaults Parameters) {
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

// parse sets the fault's name, and looks up the hosts and shapes that its parameters name. If it returns an error, it
// also returns the name of the parameter that the error is about.
func (f *Configured) parse() (parameter string, err error) {
	before, word, after := f.Entry.slot()
	f.Name = f.Entry.Name
	if word != "" {
		f.Name = before + *f.Word(slots[word]) + after
	}
	if f.Host != "" {
		if f.target, err = ParseTarget(f.Host); err != nil {
			return "host", err
		}
	}
	if f.Entry.prepare != nil {
		return f.Entry.prepare(f)
	}
	return "", nil
}

// Make returns the Nemesis that injects the fault.
func (f Configured) Make(on Subject) harness.Nemesis { return f.Entry.make(f, on) }

// Least returns how long the fault must stay in force so that it can be proved. 0: any time will do.
func (f Configured) Least(on Outlook) time.Duration {
	if f.Entry.least == nil {
		return 0
	}
	return f.Entry.least(f, on)
}

// Target returns the choice of hosts that the fault strikes. It is the zero value if the fault takes none.
func (f Configured) Target() Target { return f.target }

// Ends returns the hosts at both ends of the fault's links. They are zero values if the fault takes no From and To.
func (f Configured) Ends() (from, to Target) { return f.from, f.to }

// CheckShape returns an error that says what the topology lacks for the fault's shape. Call it only for a partition
// that has a shape.
func (f Configured) CheckShape(on Topology) error { return f.shape.Check(on) }

// Can reports whether the fault can have any of the given consequences. A fault that strikes only replicas or Sentinels
// ends no lease early, drops no key and loses no acknowledged write.
func (f Configured) Can(what Consequences) bool {
	spared := func(host string) bool {
		host = strings.TrimSpace(host)
		return host == "replica" || host == "replicas" || strings.HasPrefix(host, "s")
	}
	if hosts := strings.Split(f.Host, ","); !slices.ContainsFunc(hosts, func(h string) bool { return !spared(h) }) {
		what &^= MayLose | Loses | Forgets | AtOnce | Evicts | Ages
	}
	return f.Does&what != 0
}

// checkBounds returns an error, and the field's name, if the value is not between the bounds least and most. Outside of
// these bounds the effect of the fault could not be seen.
func checkBounds(field string, value, least, most time.Duration) (string, error) {
	if value < least || value > most {
		return field, fmt.Errorf("%s is %v: ask for %v to %v", field, value, least, most)
	}
	return "", nil
}
