package plan

import (
	"slices"

	"github.com/doublegrant/doublegrant/nemesis"
)

// FaultDoc describes a fault or a package that a plan can name.
type FaultDoc struct {
	Group      string   `json:"group"`
	Name       string   `json:"name"` // such as "kill-HOST"; HOST and SIDES stand for values, as in "kill-primary"
	Doc        string   `json:"doc"`
	Parameters []string `json:"parameters,omitempty"` // parameters with their defaults, such as "host=primary"
	Names      []string `json:"-"`                    // all names for it, with a value for each word in capitals
}

// FaultDocs lists the faults and packages that a plan can name.
func FaultDocs() []FaultDoc {
	var out []FaultDoc
	for _, g := range nemesis.Catalogue() {
		for _, e := range g.Entries {
			out = append(out, FaultDoc{g.Name, e.Name, e.Doc, e.Parameters(), namesOf(e)})
		}
	}
	for _, p := range packages() {
		out = append(out, FaultDoc{Group: "packages", Name: p.name, Doc: p.doc, Names: []string{p.name}})
	}
	return out
}

// namesOf lists the names that a plan can use for the catalogue's entry, on at least one topology.
func namesOf(e nemesis.Entry) []string {
	return slices.DeleteFunc(e.Names(), func(name string) bool {
		return !slices.ContainsFunc([]string{Sentinel, ManyMasters}, func(topology string) bool {
			on, err := parseTopology(topology)
			if err != nil {
				return false
			}
			f, err := FaultPlan{}.findFault("fault", name, on)
			return err == nil && f.configured.Entry.Name == e.Name
		})
	})
}
