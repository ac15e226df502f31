package suite

import (
	"strings"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

// nemesisEntry is a fault that a plan can name.
type nemesisEntry struct {
	name          string
	doc           string
	needsSentinel bool
	losesWrites   bool // for certain, under any load worth the name; the others may
	make          func(*cluster.Cluster) harness.Nemesis
}

func nemeses() []nemesisEntry {
	return []nemesisEntry{
		{
			name: "kill-primary", doc: "SIGKILL of the primary; it starts again, empty, when the fault ends",
			needsSentinel: true,
			make:          func(c *cluster.Cluster) harness.Nemesis { return nemesis.KillPrimary(c) },
		},
		{
			name: "partition-primary", doc: "primary, one Sentinel and 2/5 of the client groups cut off from the rest: a split brain",
			needsSentinel: true, losesWrites: true,
			make: func(c *cluster.Cluster) harness.Nemesis { return nemesis.PartitionPrimary(c) },
		},
		{
			name: "pause-primary", doc: "SIGSTOP of the primary; SIGCONT when the fault ends",
			make: func(c *cluster.Cluster) harness.Nemesis { return nemesis.PausePrimary(c) },
		},
	}
}

// Nemesis is a fault's name and what it does.
type Nemesis struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
}

// Nemeses lists the faults that a plan can name.
func Nemeses() []Nemesis {
	var out []Nemesis
	for _, n := range nemeses() {
		out = append(out, Nemesis{n.name, n.doc})
	}
	return out
}

func findNemesis(name string) (nemesisEntry, error) {
	var known []string
	for _, n := range nemeses() {
		if n.name == name {
			return n, nil
		}
		known = append(known, n.name)
	}
	return nemesisEntry{}, usage("unknown nemesis %q: choose of %s", name, strings.Join(known, ", "))
}
