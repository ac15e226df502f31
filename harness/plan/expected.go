package plan

import (
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/internal/fields"
	"github.com/doublegrant/doublegrant/harness/suggest"
	"github.com/doublegrant/doublegrant/workloads"
)

// Expected is the expectation that a plan states for its run. The zero value states none: see Plan.Expect. In a file it
// is "valid", "documented", or a mapping such as {invalid: [double-grant]}.
type Expected struct {
	Valid   bool            // true: there may be no violation, except of the classes in the field May
	Invalid []harness.Class // each of these classes has to be found
	May     []harness.Class // these classes may be found as well
}

const (
	expectValid      = "valid"
	expectDocumented = "documented"
)

// classList is a list of classes in a file. A single class may stand alone.
type classList []harness.Class

// expectedClasses is the form in which a file states an expectation with classes.
type expectedClasses struct {
	Invalid classList `yaml:"invalid,omitempty,flow"`
	May     classList `yaml:"may,omitempty,flow"`
}

// IsZero reports whether the plan states no expectation.
func (e Expected) IsZero() bool { return !e.Valid && len(e.Invalid) == 0 && len(e.May) == 0 }

// MarshalYAML returns the expectation as it stands in a file.
func (e Expected) MarshalYAML() (any, error) {
	switch {
	case e.IsZero():
		return expectDocumented, nil
	case len(e.Invalid)+len(e.May) == 0:
		return expectValid, nil
	}
	return expectedClasses{e.Invalid, e.May}, nil
}

// ReadField reads the expectation from a file.
func (e *Expected) ReadField(r fields.Reader, _ string, n *yaml.Node) error {
	*e = Expected{}
	if n.Kind == yaml.MappingNode {
		var c expectedClasses
		if err := r.Fill(n, reflect.ValueOf(&c).Elem()); err != nil {
			return err
		}
		if len(c.Invalid)+len(c.May) == 0 {
			return r.Errorf(n, "expect names no class: write %s, or {invalid: [double-grant]}", expectValid)
		}
		*e = Expected{Valid: len(c.Invalid) == 0, Invalid: c.Invalid, May: c.May}
		return nil
	}
	switch {
	case n.Kind == yaml.ScalarNode && n.Value == expectValid:
		e.Valid = true
	case n.Kind != yaml.ScalarNode || n.Value != expectDocumented:
		return r.Errorf(n, "expect is %s: write %s, %s or {invalid: [double-grant]}", fields.Written(n), expectValid,
			expectDocumented)
	}
	return nil
}

// ReadField reads one class or a list of classes.
func (c *classList) ReadField(r fields.Reader, name string, n *yaml.Node) error {
	words := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		words = n.Content
	}
	*c = nil
	for _, word := range words {
		class := harness.Class(fields.Followed(word).Value)
		if fields.Followed(word).Kind != yaml.ScalarNode || !slices.Contains(allClasses(), class) {
			var known []string
			for _, c := range allClasses() {
				known = append(known, string(c))
			}
			return r.Errorf(word, "unknown class %s in %s: %s", fields.Written(fields.Followed(word)), name,
				suggest.DidYouMean(string(class), known))
		}
		*c = append(*c, class)
	}
	return nil
}

// Expectation converts e. e must not be zero, since a zero Expectation expects no violation.
func (e Expected) Expectation() (out Expectation) {
	for _, class := range e.Invalid {
		out.Must = append(out.Must, []harness.Class{class})
	}
	out.May = e.May
	return out
}

func allClasses() (all []harness.Class) {
	for _, d := range harness.Classes() {
		all = append(all, d.Class)
	}
	return all
}

// findableClasses lists the classes that a run of the plan, or a search of its variants, can show.
func (r Resolved) findableClasses() []harness.Class { return checkers.Finds(r.described()...) }

// checkExpected refuses an expectation that no run can meet.
func (r *Resolved) checkExpected() error {
	for _, class := range slices.Concat(r.Expect.Invalid, r.Expect.May) {
		if can := r.findableClasses(); !slices.Contains(can, class) {
			return r.errorf("expect", "no run of %[2]s can show %[1]s: expect one of %[3]s",
				class, strings.Join(append([]string{r.Variant}, r.With...), " and "), joinClasses(can, ", "))
		}
	}
	if r.Expect.Valid && r.Clients == 1 && r.variant.Family != workloads.Writes {
		return r.errorf("expect", "a run of one client is never valid, since there is no contention: ask for 2 "+
			"clients or more")
	}
	return nil
}
