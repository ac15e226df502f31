package plan

import (
	"fmt"
	"reflect"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/internal/fields"
	"github.com/doublegrant/doublegrant/nemesis"
)

// faultEntry is a fault that a plan can name. HOST or SIDES in its name stand for a parameter: kill-HOST is written as
// "kill-primary", or as "kill" with a field host.
type faultEntry struct {
	name     string
	doc      string
	takes    []string  // parameters, by their names in a plan
	defaults FaultPlan // of parameters, and of For
	strikes  string    // kinds of hosts that Host may be: r, s, g; empty: it takes none
	needs    need
	acts     acting
	least    func(f fault, on blueprint) time.Duration // shorter it cannot be proved; nil: any time will do
	does     effect
	prepare  func(*fault) (field string, err error) // looks parameters up and refuses what makes no sense; nil: nothing to do
	make     func(fault, target) harness.Nemesis
}

// need is what a topology has to have for a fault to apply.
type need string

const (
	anything   need = ""
	sentinels  need = "Sentinels"
	successors need = "somebody who takes over" // or several masters
	many       need = "several masters"
)

// acting says on which of the Redis nodes a fault acts at all.
type acting int

const (
	anywhere      acting = iota
	somePrimary          // clients talk to primaries only: on replicas alone it would touch nobody
	onlyPrimaries        // it cannot be on a replica
)

// effect is what a fault does beside what its name says: what it may bring out in a variant, and what it needs.
type effect uint

const (
	mayLose effect = 1 << iota // a failover may find that the new primary lacks what the old one acknowledged
	loses                      // it does, under any load worth the name, where no guard prevents it
	forgets                    // a node comes back without its data, unless there is an append-only file
	atOnce                     // it comes back inside any lease
	evicts                     // a node drops keys with a TTL
	ages                       // a node's leases end early
	clocks                     // the clocks of nodes can be set
	crashes                    // clients crash
	freezes                    // clients stand still, for longer than a lease
	skews                      // clients' clocks are wrong
)

// ofClients are effects by which a fault needs a hold of the clients.
const ofClients = crashes | freezes | skews

// target is what faults act on.
type target struct {
	cluster *cluster.Cluster
	fleet   *harness.Fleet
}

// fault is a step's fault with its names looked up and its parameters complete.
type fault struct {
	FaultPlan
	name  string // as the short form has it
	entry faultEntry
	does  effect

	hosts, from, to nemesis.Hosts
	oneWay          bool // only links that from opens to to are meant
	sides           nemesis.Sides
	way             nemesis.Way
}

// group is a heading of the list of faults.
type group struct {
	name    string
	entries []faultEntry
}

func groups() []group {
	return []group{
		{"nodes", nodeFaults()},
		{"Sentinels", sentinelFaults()},
		{"commands to nodes", commandFaults()},
		{"network", networkFaults()},
		{"links", linkFaults()},
		{"clients", clientFaults()},
	}
}

func entries() (all []faultEntry) {
	for _, g := range groups() {
		all = append(all, g.entries...)
	}
	return all
}

// Nemesis is a fault or package that a plan can name, and what it does.
type Nemesis struct {
	Group      string   `json:"group"`
	Name       string   `json:"name"` // HOST and SIDES stand for a word, as in "kill-primary"
	Doc        string   `json:"doc"`
	Parameters []string `json:"parameters,omitempty"` // with their defaults, such as "host=primary"
}

// Nemeses lists the faults and packages that a plan can name.
func Nemeses() []Nemesis {
	var out []Nemesis
	for _, g := range groups() {
		for _, e := range g.entries {
			out = append(out, Nemesis{g.name, e.name, e.doc, e.parameters()})
		}
	}
	for _, p := range packages() {
		out = append(out, Nemesis{Group: "packages", Name: p.name, Doc: p.doc})
	}
	return out
}

// parameters lists what the entry takes, with its defaults.
func (e faultEntry) parameters() (out []string) {
	for _, name := range e.takes {
		v := fields.Named(reflect.ValueOf(&e.defaults).Elem(), name)
		if !v.IsZero() {
			name = fmt.Sprintf("%s=%v", name, v.Interface())
		}
		out = append(out, name)
	}
	return out
}

// Words are what stands for a parameter in a fault's name, and what can be in its place.
type Words struct {
	Name, Doc string
	Values    [][2]string // a word, and what it means
}

// WordsInNames explains HOST and SIDES.
func WordsInNames() []Words {
	sides := Words{Name: "SIDES", Doc: "who loses whom"}
	for _, s := range nemesis.AllSides() {
		sides.Values = append(sides.Values, [2]string{s.String(), s.Doc()})
	}
	return []Words{{Name: "HOST", Doc: hostWords}, {Name: "HOW", Doc: howWords}, sides}
}

const (
	hostWords = "primary, replica, replicas, sentinel, sentinels, node, nodes, minority, majority, group, clients, " +
		"or a name: r1, s2, g0"
	howWords = "hold: bytes wait until the heal; drop: they are lost; drop-replies: only answers are; " +
		"refuse: connections are reset"
)
