package nemesis

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Entry is a fault that can be named. HOST or SIDES in its name stand for a parameter: kill-HOST is written as "kill-primary", or
// as "kill" with the parameter host.
type Entry struct {
	Name     string
	Doc      string
	Takes    []string      // parameters, by their names
	Defaults Parameters    // of those that nobody gives
	For      time.Duration // how long it stays in force if nobody says; 0: 5 s
	Strikes  string        // kinds of hosts that Host may be: r, s, g; empty: it takes none
	Needs    Need
	Acts     Acting
	Does     Consequences // more may follow from parameters: see Fault.Does

	least   func(Fault, Outlook) time.Duration         // shorter it cannot be proved; nil: any time will do
	link    func(Parameters) harness.LinkFault         // of a fault that prepareLink prepares
	prepare func(*Fault) (parameter string, err error) // looks parameters up and refuses what makes no sense; nil: nothing to do
	make    func(Fault, Target) harness.Nemesis
}

// Parameters are what a fault can be told. Which of them it takes, and their defaults, its Entry says.
type Parameters struct {
	Host  string `yaml:"host,omitempty"`  // whom it strikes: see ParseHosts
	Sides string `yaml:"sides,omitempty"` // who is cut off from whom: see ParseShape
	How   string `yaml:"how,omitempty"`   // hold, drop, drop-replies or refuse
	From  string `yaml:"from,omitempty"`  // who opens the connections of the links
	To    string `yaml:"to,omitempty"`    // whom they lead to

	Latency   time.Duration `yaml:"latency,omitempty" zero:"default"`
	Jitter    time.Duration `yaml:"jitter,omitempty"`
	Bandwidth int           `yaml:"bandwidth,omitempty" zero:"default"` // bytes a second
	Size      int           `yaml:"size,omitempty" zero:"default"`      // bytes of a slice
	Delay     time.Duration `yaml:"delay,omitempty" zero:"default"`     // between slices, or before a close
	Bytes     int           `yaml:"bytes,omitempty" zero:"default"`     // that pass before a connection ends
	By        time.Duration `yaml:"by,omitempty" zero:"default"`        // by how much a clock is wrong
}

// Word is the parameter of that name, "host" or "sides".
func (p *Parameters) Word(name string) *string {
	if name == "sides" {
		return &p.Sides
	}
	return &p.Host
}

// value is the parameter of that name.
func (p Parameters) value(name string) reflect.Value {
	for i, v := 0, reflect.ValueOf(p); i < v.NumField(); i++ {
		if tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ","); tag == name {
			return v.Field(i)
		}
	}
	panic("nemesis: no parameter is called " + name)
}

// Need is what a topology has to have for a fault to apply.
type Need string

const (
	NeedsNothing    Need = ""
	NeedsSentinels  Need = "Sentinels"
	NeedsSuccessors Need = "somebody who takes over" // or several masters
	NeedsMasters    Need = "several masters"
)

// Acting says on which of the Redis nodes a fault acts at all.
type Acting int

const (
	OnAnyNode       Acting = iota
	OnSomePrimary          // clients talk to primaries only: on replicas alone it would touch nobody
	OnPrimariesOnly        // it cannot be on a replica
)

// Consequences are what a fault does beside what its name says: what it may bring out in an algorithm, and what it needs. What
// it does to its targets, as reports and checkers ask, are harness.Effects.
type Consequences uint

const (
	MayLose    Consequences = 1 << iota // a failover may find that the new primary lacks what the old one acknowledged
	Loses                               // it does, under any load worth the name, where no guard prevents it
	Forgets                             // a node comes back without its data, unless there is an append-only file
	AtOnce                              // it comes back inside any lease
	Evicts                              // a node drops keys with a TTL
	Ages                                // a node's leases end early
	SetsClocks                          // the clocks of nodes can be set
	Crashes                             // clients crash
	Freezes                             // clients stand still, for longer than a lease
	Skews                               // clients' clocks are wrong
)

// OfClients are the consequences for which a fault needs a hold of the clients.
const OfClients = Crashes | Freezes | Skews

// Target is what the faults of the catalogue act on.
type Target struct {
	Cluster Cluster
	Fleet   *harness.Fleet // for what clients suffer
}

// Cluster is all that the faults of the catalogue need of a cluster.
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
	Degradable
}

// Outlook is what is known of a cluster before there is one.
type Outlook interface {
	Sentinels() []string
	// Failover is how long a primary has to be gone for its Sentinels to replace it.
	Failover() time.Duration
}

// Section is a heading of the catalogue.
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

// Entries lists them without headings.
func Entries() (all []Entry) {
	for _, g := range Catalogue() {
		all = append(all, g.Entries...)
	}
	return all
}

// Parameters lists what the entry takes, with its defaults, such as "host=primary".
func (e Entry) Parameters() (out []string) {
	for _, name := range e.Takes {
		if v := e.Defaults.value(name); !v.IsZero() {
			name = fmt.Sprintf("%s=%v", name, v.Interface())
		}
		out = append(out, name)
	}
	return out
}
