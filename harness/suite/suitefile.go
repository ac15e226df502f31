package suite

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/internal/fields"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/suggest"
)

// Suite is a list of runs, each with its expectation.
type Suite struct {
	Name  string
	About string // purpose of the suite in one line; may be empty
	Runs  []Entry

	part *part // which part of a whole suite this is; nil: the whole suite
}

// Entry is one run of a suite: a plan, and the name that reports use for it.
type Entry struct {
	Title string `yaml:"name,omitempty"` // name of the run; default: the plan's Name
	// number of repetitions in a pass, each with another seed; default 1
	Times     int `yaml:"times,omitempty" zero:"default"`
	plan.Plan `yaml:",inline"`

	Failover *Threshold `yaml:"failover,omitempty"` // bounds on how long the run's failovers take; nil: none

	Explore *plan.Search `yaml:"explore,omitempty"` // if set, the run is a search instead of a load

	turns []int // numbers of the repetitions that a shard runs, from 0, in order; nil: all
}

// errorf returns a usage error about a field of the run.
func (r Entry) errorf(field, format string, args ...any) error {
	return plan.Usagef("%s%w", r.Place().At(field), fmt.Errorf(format, args...))
}

// suiteText holds the content of a suite's file.
type suiteText struct {
	Name     string    `yaml:"name,omitempty"`     // name of the suite; default: the name of the file
	About    string    `yaml:"about,omitempty"`    // purpose of the suite, in one line
	Defaults plan.Plan `yaml:"defaults,omitempty"` // values of fields that a run does not give itself
	Runs     runNodes  `yaml:"runs"`

	place fields.Place
}

func (t *suiteText) Put(p fields.Place) { t.place = p }

// runNodes holds the runs as nodes. They are decoded last, since the defaults may follow them in the file.
type runNodes struct{ list []*yaml.Node }

func (r *runNodes) ReadField(f fields.Reader, name string, n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return f.Errorf(n, "%s is a list: begin each entry with a dash", name)
	}
	r.list = n.Content
	return nil
}

//go:embed suites/*.yaml
var builtIn embed.FS

// BuiltIn lists the suites that come with the program, sorted by name.
func BuiltIn() (all []Suite, err error) {
	for _, name := range builtInNames() {
		s, err := Read(name)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// builtInNames lists the names of the suites that come with the program.
func builtInNames() (names []string) {
	files, _ := fs.Glob(builtIn, "suites/*.yaml") // the pattern is known to be valid
	for _, file := range files {
		names = append(names, strings.TrimSuffix(path.Base(file), ".yaml"))
	}
	return names
}

// Text returns the text of the built-in suite with the given name or, if there is none, of the file with that name. The
// error wraps plan.ErrUsage.
func Text(name string) ([]byte, error) {
	if text, err := builtIn.ReadFile("suites/" + name + ".yaml"); err == nil {
		return text, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		if meant := suggest.Question("", name, builtInNames()); meant != "" && errors.Is(err, os.ErrNotExist) {
			return nil, plan.Usagef("no suite: %w: %s doublegrant suite --list shows them all", err, meant)
		}
		return nil, plan.Usagef("no suite: %w: name a file, or a suite that doublegrant suite --list shows", err)
	}
	return text, nil
}

// Read reads the built-in suite with the given name or, if there is none, the file with that name. An error wraps
// plan.ErrUsage and gives the number of the wrong line. Read does not look up the variants and faults that plans name:
// Check does.
func Read(name string) (s Suite, err error) {
	text, err := Text(name)
	if err != nil {
		return s, err
	}
	return read(name, text, func(r *Entry) error { return r.ReadScript(name) })
}

// read reads the text of a suite. It calls the function scripts for each run, to read the run's script files.
func read(name string, text []byte, scripts func(*Entry) error) (s Suite, err error) {
	var file suiteText
	if err := fields.Read(name, bytes.NewReader(text), &file); err != nil {
		return s, plan.Usagef("%w", err)
	}
	s.Name, s.About = file.Name, file.About
	if s.Name == "" {
		s.Name = strings.TrimSuffix(path.Base(name), path.Ext(name))
	}
	for _, n := range file.Runs.list {
		run := Entry{Plan: file.Defaults}
		if err := (fields.Reader{File: name}).Fill(n, reflect.ValueOf(&run).Elem()); err != nil {
			return s, plan.Usagef("%w", err)
		}
		if run.Explore != nil {
			if err := run.dropLoadFields(fieldNames(n)); err != nil {
				return s, err
			}
		}
		if err := scripts(&run); err != nil {
			return s, err
		}
		run.Put(run.Place().WithDefaults(file.Defaults.Place()))
		s.Runs = append(s.Runs, run)
	}
	if len(s.Runs) == 0 {
		return s, plan.Usagef("%sno runs: add a list of plans under runs", file.place.At("runs"))
	}
	return s, s.nameRuns()
}

// fieldNames lists the fields that a run gives itself, by their current names.
func fieldNames(n *yaml.Node) (all []string) {
	n = fields.Followed(n)
	for i := 0; i < len(n.Content); i += 2 {
		all = append(all, fields.Current(reflect.TypeFor[Entry](), n.Content[i].Value))
	}
	return all
}

// nameRuns gives each run without a name the name of its plan. It refuses two runs with the same name.
func (s *Suite) nameRuns() error {
	seen := map[string]bool{}
	for i := range s.Runs {
		r := &s.Runs[i]
		if r.Title == "" {
			r.Title = r.Plan.Name()
			if r.Explore != nil {
				r.Title = "explore " + r.Title
			}
		}
		if seen[r.Title] {
			return r.errorf("name", "two runs have the name %q: rename one of them", fields.Shortened(r.Title))
		}
		seen[r.Title] = true
	}
	return nil
}

// Join combines several suites, and puts each suite's name before the names of its runs. A single suite is returned
// unchanged.
func Join(suites ...Suite) Suite {
	if len(suites) == 1 {
		return suites[0]
	}
	var all Suite
	var names []string
	for _, s := range suites {
		names = append(names, s.Name)
		for _, r := range s.Runs {
			r.Title = s.Name + ": " + r.Title
			all.Runs = append(all.Runs, r)
		}
	}
	all.Name = strings.Join(names, "-")
	return all
}

// Only returns the suite with just the runs whose names match the regular expression. It returns an error, which wraps
// plan.ErrUsage, if nothing matches or the pattern is not a regular expression.
func (s Suite) Only(pattern string) (Suite, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return s, plan.Usagef("--only %q is not a regular expression: %w", pattern, err)
	}
	chosen := slices.DeleteFunc(slices.Clone(s.Runs), func(r Entry) bool { return !re.MatchString(r.Title) })
	if len(chosen) == 0 {
		return s, plan.Usagef("--only %q: no run of %s has a matching name: choose one of %s", pattern, s.Name,
			strings.Join(s.titles(), "; "))
	}
	s.Runs = chosen
	return s, nil
}

// titles lists the quoted names of the suite's runs.
func (s Suite) titles() (all []string) {
	for _, r := range s.Runs {
		all = append(all, strconv.Quote(r.Title))
	}
	return all
}

// Check returns an error if a run of the suite is impossible. It starts nothing. A run whose adapter has not described
// itself yet is checked later, by tryScripts. The error wraps plan.ErrUsage.
func (s Suite) Check() error {
	for _, r := range s.Runs {
		if r.Adapter.FamilyUnknown() {
			continue
		}
		if err := r.check(); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error if the run is impossible.
func (r Entry) check() error {
	if r.Times < 0 || r.Times > plan.MostTimes {
		return r.errorf("times", "%d times: ask for 1 to %d", r.Times, plan.MostTimes)
	}
	if r.Failover != nil {
		if field, err := r.Failover.check(); err != nil {
			return r.errorf(field, "%w", err)
		}
	}
	check := r.Plan.Check
	if r.Explore != nil {
		check = r.checkSearch
	}
	if err := check(); err != nil {
		return fmt.Errorf("%w (in the run %q)", err, fields.Shortened(r.Title))
	}
	return nil
}

// preflight returns an error if this machine cannot carry out one of the suite's runs.
func (s Suite) preflight(o results.Options) error {
	for _, run := range s.Runs {
		if err := results.Preflight(run.Plan, o); err != nil {
			return fmt.Errorf("%w (in the run %q)", err, fields.Shortened(run.Title))
		}
	}
	return nil
}

// TryScripts tries every script of the suite on a Redis of this machine, so that a broken one is reported before runs
// are handed out. The error wraps plan.ErrUsage.
func (s Suite) TryScripts(ctx context.Context, o results.Options) error {
	var scripts Suite
	for _, r := range s.Runs {
		if r.Script != nil {
			scripts.Runs = append(scripts.Runs, r)
		}
	}
	return scripts.tryScripts(ctx, o)
}

// tryScripts tries every script and every adapter of the suite, so that a broken one is reported before the first run.
// It stores in the runs how the adapters describe themselves. It skips runs in containers, since this machine may have
// no Redis outside of them.
func (s Suite) tryScripts(ctx context.Context, o results.Options) error {
	for i, run := range s.Runs {
		if run.Adapter != nil && run.On != string(cluster.OnDocker) {
			known, err := results.DescribeAdapter(ctx, *run.Adapter, o)
			if err != nil {
				return fmt.Errorf("%s%w (in the run %q)", run.Place().At("adapter"), err, fields.Shortened(run.Title))
			}
			s.Runs[i].Adapter = &known
			if run.Adapter.FamilyUnknown() {
				if err := s.Runs[i].check(); err != nil {
					return err
				}
			}
		}
		if run.Script == nil || run.On == string(cluster.OnDocker) {
			continue
		}
		if _, _, err := results.TryScript(ctx, *run.Script, o); err != nil {
			return fmt.Errorf("%s%w (in the run %q)", run.Place().At("script"), err, fields.Shortened(run.Title))
		}
	}
	return nil
}
