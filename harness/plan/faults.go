package plan

import "github.com/doublegrant/doublegrant/nemesis"

// fault is the fault of an entry of the timetable, found in the catalogue, with all its parameters filled in.
type fault struct {
	FaultPlan
	it nemesis.Fault
}

// Nemesis describes a fault or a package that a plan can name.
type Nemesis struct {
	Group      string   `json:"group"`
	Name       string   `json:"name"` // such as "kill-HOST"; HOST and SIDES stand for a value, as primary in "kill-primary"
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
