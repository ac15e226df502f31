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

// unknownFault returns the error for an unknown name, with similar names. packagesToo is false for random entries,
// which take no packages.
func unknownFault(name string, packagesToo bool) error {
	if fault, _, given := strings.Cut(name, "("); given {
		return fmt.Errorf("unknown fault %q: give parameters in a plan file (run --plan), as fields beside %q",
			fields.Shortened(name), "fault: "+fields.Shortened(fault))
	}
	similar := nearestNames(name, packagesToo)
	if len(similar) == 0 {
		return fmt.Errorf("unknown fault %q: doublegrant list shows them all", fields.Shortened(name))
	}
	return fmt.Errorf("unknown fault %q: did you mean %s? doublegrant list shows them all", fields.Shortened(name),
		strings.Join(similar, ", or "))
}

// nearestNames lists up to three faults and packages with similar names: one name is a prefix of the other, or they
// differ by a few letters.
func nearestNames(name string, packagesToo bool) (names []string) {
	if name == "" || len(name) > maxName {
		return nil
	}
	type candidate struct {
		name     string
		distance int
	}
	var all []candidate
	add := func(shown string, spelled ...string) {
		for _, s := range spelled {
			distance := suggest.Distance(name, s)
			if len(name) > 2 && strings.HasPrefix(s, name) {
				distance = 0
			}
			if distance <= len(name)/3 || strings.HasPrefix(name, s+"-") {
				all = append(all, candidate{shown, distance})
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
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	for _, n := range all[:min(3, len(all))] {
		names = append(names, n.name)
	}
	return names
}

// maxName bounds the names that are compared. It is longer than any fault's name.
const maxName = 60

// withExample returns the entry's name, with an example of each placeholder's value.
func withExample(e nemesis.Entry) string {
	if example := e.Example(); example != e.Name {
		return fmt.Sprintf("%s (such as %s)", e.Name, example)
	}
	return e.Name
}
