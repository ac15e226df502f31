package plan

import "github.com/doublegrant/doublegrant/nemesis"

// fault is a step's fault: its parameters are complete, and looked up in it.
type fault struct {
	FaultPlan
	it nemesis.Fault
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
	for _, g := range nemesis.Catalogue() {
		for _, e := range g.Entries {
			out = append(out, Nemesis{g.Name, e.Name, e.Doc, e.Parameters()})
		}
	}
	for _, p := range packages() {
		out = append(out, Nemesis{Group: "packages", Name: p.name, Doc: p.doc})
	}
	return out
}
