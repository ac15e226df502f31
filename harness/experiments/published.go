package experiments

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/template"

	"go.yaml.in/yaml/v3"

	"github.com/doublegrant/doublegrant/reports"
)

// published has the experiments, one file for each publisher.
//
//go:embed published/*.yaml
var published embed.FS

// files names the experiments' files, in the order in which All returns their experiments.
var files = []string{"jepsen", "redis", "redlock", "guards"}

// All lists the published results that can be repeated, and then the project's own measurement of protections.
func All() []Experiment { return slices.Clone(readAll()) }

// readAll reads the experiments. It panics if they are wrong: they are part of the program, and a test reads them.
var readAll = sync.OnceValue(func() (all []Experiment) {
	for _, name := range files {
		more, err := readFile("published/" + name + ".yaml")
		if err != nil {
			panic(err)
		}
		all = append(all, more...)
	}
	return all
})

func readFile(path string) ([]Experiment, error) {
	text, err := published.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	var all []Experiment
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("experiments: %s: %w", path, err)
	}
	for i := range all {
		if err := all[i].prepare(); err != nil {
			return nil, fmt.Errorf("experiments: %s: %s: %w", path, all[i].Name, err)
		}
	}
	return all, nil
}

// prepare looks up the measures of an experiment that was read, and parses its finding.
func (e *Experiment) prepare() (err error) {
	for _, name := range e.Details.Measures {
		m, err := measureNamed(name)
		if err != nil {
			return err
		}
		e.measures = append(e.measures, m)
	}
	if e.finding, err = template.New(e.Name).Funcs((armFigures{}).functions()).Parse(e.Details.Finding); err != nil {
		return err
	}
	_, _, err = e.shape(armFigures{*e, e.emptyArms()}) // names in expect and finding must exist
	return err
}

// expectation is what the figures of one measure should be in the trials of one arm. If In is empty, the bounds hold
// for every trial.
type expectation struct {
	Arm, Measure string

	In       string   // "some": for at least one trial; "median": for the median of the trials
	AtLeast  *float64 `yaml:"atLeast"`
	AtMost   *float64 `yaml:"atMost"`
	Above    *float64
	BelowArm string `yaml:"belowArm"` // name of another arm, whose median has to be larger
}

// met reports whether the figures are within the bounds.
func (x expectation) met(f armFigures) (bool, error) {
	r, err := f.figure(x.Arm, x.Measure)
	if err != nil {
		return false, err
	}
	low, high := r.Min, r.Max
	switch x.In {
	case "":
	case "some":
		low, high = r.Max, r.Min
	case "median":
		low, high = r.Median, r.Median
	default:
		return false, fmt.Errorf("in: %s: choose some or median", x.In)
	}
	if x.BelowArm != "" {
		other, err := f.figure(x.BelowArm, x.Measure)
		if err != nil || high >= other.Median {
			return false, err
		}
	}
	return (x.AtLeast == nil || low >= *x.AtLeast) && (x.AtMost == nil || high <= *x.AtMost) &&
		(x.Above == nil || low > *x.Above), nil
}

// shape reports whether the figures match the published result, and returns the finding: a sentence that explains this.
// Both are meaningful only if every trial came to a verdict.
func (e Experiment) shape(f armFigures) (matches bool, finding string, err error) {
	matches = true
	for _, x := range e.Details.Expect {
		met, err := x.met(f)
		if err != nil {
			return false, "", err
		}
		matches = matches && met
	}
	finding, err = f.write(e.finding)
	return matches, finding, err
}

// armFigures holds an experiment with the figures of the trials of each arm.
type armFigures struct {
	Experiment
	arms []reports.Arm
}

// figure returns the range of a measure over the trials of an arm.
func (f armFigures) figure(arm, name string) (reports.Range, error) {
	m := slices.IndexFunc(f.measures, func(m measure) bool { return m.Name == name })
	a := slices.IndexFunc(f.arms, func(a reports.Arm) bool { return a.Name == arm })
	if m < 0 || a < 0 {
		return reports.Range{}, fmt.Errorf("the experiment %s has no arm %q with a measure %q", f.Name, arm, name)
	}
	return f.arms[a].Ranges[m], nil
}

// functions returns the functions that a finding's template may call.
func (f armFigures) functions() template.FuncMap {
	return template.FuncMap{
		"figure": f.figure,
		// total estimates the sum of a measure over the trials of an arm.
		"total": func(arm, measure string) (float64, error) {
			r, err := f.figure(arm, measure)
			return r.Median * float64(r.N), err
		},
		// ruleOfThree returns an upper bound in percent: none in n trials means a rate below 3/n with 95 % confidence.
		"ruleOfThree": func(n float64) float64 { return 300 / n },
	}
}

func (f armFigures) write(finding *template.Template) (string, error) {
	t, err := finding.Clone()
	if err != nil {
		return "", err
	}
	var text strings.Builder
	err = t.Funcs(f.functions()).Execute(&text, nil)
	return text.String(), err
}
