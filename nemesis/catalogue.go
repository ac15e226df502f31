package nemesis

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Entry is a fault that a plan can name. A word in capitals in the fault's name, HOST or SIDES, stands for a parameter.
// A plan writes kill-HOST as "kill-primary", or as "kill" with the parameter host.
type Entry struct {
	Name     string
	Doc      string
	Takes    []string      // names of the parameters that a plan can give the fault
	Defaults Parameters    // values of the parameters that a plan leaves out
	For      time.Duration // how long the fault stays in force if a plan does not say; 0: 5 s
	// Strikes lists the kinds of hosts that Parameters.Host may name: r (Redis nodes), s (Sentinels), g (client
	// groups). Empty: the fault takes no Host.
	Strikes string
	Needs   Need
	Acts    Acting
	Does    Consequences // consequences of the fault; parameters may add more: see Configured.Does

	// least returns how long the fault must stay in force so that it can be proved. nil: any time will do.
	least func(Configured, Outlook) time.Duration
	// link makes the entry's link fault from the parameters, for prepareLink. It is nil if prepare is another function.
	link func(Parameters) harness.LinkFault
	// prepare interprets the parameters and refuses those that make no sense. If it returns an error, it also returns
	// the name of the parameter that the error is about. nil: no parameter needs this.
	prepare func(*Configured) (parameter string, err error)
	make    func(Configured, Subject) harness.Nemesis
}

// Parameters holds the values that a plan can give to a fault. The fault's Entry lists those that it takes, and their
// defaults.
type Parameters struct {
	Host  string `yaml:"host,omitempty"`  // the fault's targets: see ParseTarget
	Shape string `yaml:"sides,omitempty"` // who is cut off from whom: see ParseShape
	How   string `yaml:"how,omitempty"`   // hold, drop, drop-replies or refuse
	From  string `yaml:"from,omitempty"`  // who opens the connections of the links
	To    string `yaml:"to,omitempty"`    // the hosts that the connections of the links lead to

	Latency   time.Duration `yaml:"latency,omitempty" zero:"default"`
	Jitter    time.Duration `yaml:"jitter,omitempty"`
	Bandwidth int           `yaml:"bandwidth,omitempty" zero:"default"` // bytes a second
	Size      int           `yaml:"size,omitempty" zero:"default"`      // size of a slice in bytes
	Delay     time.Duration `yaml:"delay,omitempty" zero:"default"`     // pause between slices, or before a close
	Bytes     int           `yaml:"bytes,omitempty" zero:"default"`     // how many bytes pass before a connection ends
	By        time.Duration `yaml:"by,omitempty" zero:"default"`        // how far a clock is set ahead or back
}

// Word returns a pointer to the parameter called name, which is one of the two that names of entries contain: Shape for
// "sides", otherwise Host.
func (p *Parameters) Word(name string) *string {
	if name == "sides" {
		return &p.Shape
	}
	return &p.Host
}

// value returns the value of the parameter called name, or the zero reflect.Value if there is no such parameter.
func (p Parameters) value(name string) reflect.Value {
	for i, v := 0, reflect.ValueOf(p); i < v.NumField(); i++ {
		if tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ","); tag == name {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

// Need names what a topology must have for a fault to apply.
type Need string

const (
	NeedsNothing    Need = ""
	NeedsSentinels  Need = "Sentinels"
	NeedsSuccessors Need = "somebody who takes over" // several masters meet this need, too
	NeedsMasters    Need = "several masters"
)

// Acting says on which of the Redis nodes a fault has an effect.
type Acting int

const (
	OnAnyNode       Acting = iota
	OnSomePrimary          // clients talk to primaries only: on replicas alone the fault would touch nothing
	OnPrimariesOnly        // the fault cannot act on a replica
)

// Consequences is a set of what a fault may bring about in an algorithm, and of what a run with the fault needs. What
// the fault does to its targets is in harness.Effects, which reports and checkers use.
type Consequences uint

const (
	MayLose    Consequences = 1 << iota // after a failover the new primary may lack what the old one acknowledged
	Loses                               // as MayLose, and under a steady load certainly, unless a setting prevents it
	Forgets                             // a node comes back without its data, unless there is an append-only file
	AtOnce                              // a node comes back before any lease ends
	Evicts                              // a node drops keys with a TTL
	Ages                                // a node's leases end early
	SetsClocks                          // the clocks of nodes can be set
	Crashes                             // clients crash
	Freezes                             // clients stand still, for longer than a lease
	Skews                               // clients' clocks are wrong
)

// OfClients is the set of consequences of faults that act on the clients themselves, through a Fleet.
const OfClients = Crashes | Freezes | Skews

// Subject is the system on which the faults of the catalogue act.
type Subject struct {
	Cluster Cluster
	Fleet   *harness.Fleet // through which faults strike clients
}

// Cluster combines all that the faults of the catalogue need of a cluster.
type Cluster interface {
	Restartable
	Pausable
	DebugSleeper
	Clocked
	Crashable
	Flushable
	ClientKillable
	ClientPausable
	MemoryLimited
	Partitionable
}

// Outlook is what is known of a cluster before it starts.
type Outlook interface {
	Sentinels() []string
	// Failover returns how long a primary has to be gone for its Sentinels to replace it.
	Failover() time.Duration
}

// Section is a part of the catalogue under one heading.
type Section struct {
	Name    string
	Entries []Entry
}

// Catalogue lists the faults that can be named.
func Catalogue() []Section {
	return []Section{
		{"nodes", nodeFaults()},
		{"Sentinels", sentinelFaults()},
		{"commands to nodes", commandFaults()},
		{"network", networkFaults()},
		{"links", linkFaults()},
		{"clients", clientFaults()},
	}
}

// Entries lists all entries of the catalogue, without headings.
func Entries() (all []Entry) {
	for _, g := range Catalogue() {
		all = append(all, g.Entries...)
	}
	return all
}

// Parameters lists the parameters that the entry takes: those with a default as "host=primary", the others by name
// alone.
func (e Entry) Parameters() (out []string) {
	for _, name := range e.Takes {
		if v := e.Defaults.value(name); v.IsValid() && !v.IsZero() {
			name = fmt.Sprintf("%s=%v", name, v.Interface())
		}
		out = append(out, name)
	}
	return out
}
