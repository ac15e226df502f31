package plan

import "github.com/doublegrant/doublegrant/nemesis"

// FaultDoc describes a fault or a package that a plan can name.
type FaultDoc struct {
	Group      string   `json:"group"`
	Name       string   `json:"name"` // such as "kill-HOST"; HOST and SIDES stand for values, as in "kill-primary"
	Doc        string   `json:"doc"`
	Parameters []string `json:"parameters,omitempty"` // with their defaults, such as "host=primary"
}

// FaultDocs lists the faults and packages that a plan can name.
func FaultDocs() []FaultDoc {
	var out []FaultDoc
	for _, g := range nemesis.Catalogue() {
		for _, e := range g.Entries {
			out = append(out, FaultDoc{g.Name, e.Name, e.Doc, e.Parameters()})
		}
	}
	for _, p := range packages() {
		out = append(out, FaultDoc{Group: "packages", Name: p.name, Doc: p.doc})
	}
	return out
}
