package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness/internal/fields"
	"github.com/doublegrant/doublegrant/harness/suggest"
	"github.com/doublegrant/doublegrant/nemesis"
)

// unknownFault returns the error for an unknown name, with similar names. packagesToo is false for random entries, which
// take no packages.
func unknownFault(name string, packagesToo bool) error {
	if fault, _, given := strings.Cut(name, "("); given {
		return fmt.Errorf("unknown fault %q: parameters stand in a plan (run --plan), as fields beside %q", fields.Shortened(name), "fault: "+fields.Shortened(fault))
	}
	near := nearest(name, packagesToo)
	if len(near) == 0 {
		return fmt.Errorf("unknown fault %q: doublegrant list names them all", fields.Shortened(name))
	}
	return fmt.Errorf("unknown fault %q: did you mean %s? doublegrant list names them all", fields.Shortened(name), strings.Join(near, ", or "))
}

// nearest lists up to three faults and packages with similar names: one name begins with the other, or they differ by a few
// letters.
func nearest(name string, packagesToo bool) (names []string) {
	if name == "" || len(name) > maxName {
		return nil
	}
	type near struct {
		name string
		far  int
	}
	var all []near
	add := func(shown string, spelled ...string) {
		for _, s := range spelled {
			far := suggest.Distance(name, s)
			if len(name) > 2 && strings.HasPrefix(s, name) {
				far = 0
			}
			if far <= len(name)/3 || strings.HasPrefix(name, s+"-") {
				all = append(all, near{shown, far})
				return
			}
		}
	}
	for _, e := range nemesis.Entries() {
		add(withExample(e), e.Example(), e.Base())
	}
	for _, p := range packages() {
		if packagesToo {
			add(p.name, p.name)
		}
	}
	slices.SortStableFunc(all, func(a, b near) int { return cmp.Compare(a.far, b.far) })
	for _, n := range all[:min(3, len(all))] {
		names = append(names, n.name)
	}
	return names
}

// maxName is longer than the name of any fault.
const maxName = 60

// withExample returns the entry's name, with an example in place of each word that stands for a parameter.
func withExample(e nemesis.Entry) string {
	if example := e.Example(); example != e.Name {
		return fmt.Sprintf("%s (such as %s)", e.Name, example)
	}
	return e.Name
}
