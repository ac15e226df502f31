package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"text/template"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/suggest"
	"github.com/doublegrant/doublegrant/reports"
)

// Experiment is a published result with the plans that repeat it.
type Experiment struct {
	Name      string `json:"name"`
	Title     string `json:"title"`     // the subject, in one line
	Source    string `json:"source"`    // the publisher, the title and the year
	Published string `json:"published"` // the published figures, in words

	Details details `json:"-" yaml:",inline"`

	measures []measure
	finding  *template.Template
}

// details is what the file of an experiment says about how to repeat it.
type details struct {
	Setup    string // how this project runs the experiment
	Differs  string // why figures may differ from the published ones
	Expected string // the result that the trials should show, in words
	Trials   int    // number of trials of each arm, unless Repetition.Trials is set
	Arms     []arm
	Measures []string      // names of the measures to take: see measures.go
	Expect   []expectation // what the figures must be to match the published result
	Finding  string        // template of the sentence that explains whether the figures match
}

// arm is one condition of an experiment.
type arm struct {
	Name      string
	Published []string  // the published figures in words, one for each measure
	Plan      plan.Plan // in the experiments' own format of plans, which has no defaults: see the README
}

// Repetition says how an experiment is repeated. Zero values stand for the defaults.
type Repetition struct {
	Trials   int    // number of trials of each arm; default: the experiment's number
	Parallel int    // number of trials that run at the same time, each on a cluster of its own; default 1
	Seed     uint64 // seed of the first trial; each later trial adds 1; default: random
	On       string // "process" or "docker"; default process
	Image    string // Redis image for docker
	// Done is called after each trial of an arm. The argument trial is its number, from 1, and trials is the number of
	// trials of each arm. Calls do not overlap.
	Done func(arm string, trial, trials int, t reports.Trial)
}

// Find returns the experiment with the given name.
func Find(name string) (Experiment, error) {
	var known []string
	for _, e := range All() {
		if e.Name == name {
			return e, nil
		}
		known = append(known, e.Name)
	}
	return Experiment{}, plan.Usagef("unknown experiment %q: %s", name, suggest.DidYouMean(name, known))
}

// Reproduce repeats an experiment and writes a results folder, with a folder in it for each trial. If the harness or
// its environment failed, or if ctx ended, Reproduce returns an error together with the results so far.
func Reproduce(
	ctx context.Context, e Experiment, how Repetition, o results.Options,
) (r reports.Reproduction, dir string, err error) {
	if err := e.Check(how); err != nil {
		return r, "", err
	}
	how.Trials, how.Parallel = cmp.Or(how.Trials, e.Details.Trials), cmp.Or(how.Parallel, 1)
	how.Seed = cmp.Or(how.Seed, rand.Uint64N(1<<53))
	if dir, err = results.NewFolder(o.Results, "reproduce-"+e.Name); err != nil {
		return r, "", err
	}
	o.Results, o.Progress = dir, nil
	began := time.Now()
	r = e.emptyReproduction(began)
	r.Redis = how.redis(o)
	err = e.runTrials(ctx, &r, how, o)
	r.Elapsed = time.Since(began)
	r.Summarize()
	r.Shape, r.Finding = e.compare(r, how.Trials)
	return r, dir, errors.Join(err, reports.WriteReproduction(dir, r), results.LinkLatest(dir))
}

// maxParallel is the largest Repetition.Parallel.
const maxParallel = 16

// planOfTrial returns the plan p for the trial with the given number, which counts from 0 over all arms and is added to
// the seed.
func (how Repetition) planOfTrial(p plan.Plan, trial int) plan.Plan {
	p.Seed, p.On, p.Image = how.Seed+uint64(trial), how.On, how.Image
	return p
}

// redis returns the version or the image of Redis on which the trials run.
func (how Repetition) redis(o results.Options) string {
	if how.On == cluster.OnDocker {
		return cmp.Or(how.Image, "the image that doctor --on docker names")
	}
	_, version, err := cluster.FindRedis(o.Redis)
	if err != nil {
		return ""
	}
	return version
}

func (e Experiment) emptyReproduction(began time.Time) reports.Reproduction {
	r := reports.Reproduction{
		Name: e.Name, Title: e.Title, Source: e.Source, Published: e.Published,
		Setup: e.Details.Setup, Differs: e.Details.Differs, Expected: e.Details.Expected, Started: began,
	}
	for _, m := range e.measures {
		r.Measures = append(r.Measures, m.Measure)
	}
	r.Arms = e.emptyArms()
	return r
}

func (e Experiment) emptyArms() (all []reports.Arm) {
	for _, a := range e.Details.Arms {
		none := make([]reports.Range, len(e.measures))
		all = append(all, reports.Arm{Name: a.Name, Published: a.Published, Ranges: none})
	}
	return all
}

// runTrials runs every trial of every arm. It starts the first trials of all arms before the second of any, so that an
// interrupted reproduction has some trials of each arm. After the first error it starts no further trials.
func (e Experiment) runTrials(ctx context.Context, r *reports.Reproduction, how Repetition, o results.Options) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	all := &trials{Experiment: e, how: how, options: o, report: r}
	for range e.Details.Arms {
		all.of = append(all.of, make([]*reports.Trial, how.Trials))
	}
	slots := make(chan struct{}, how.Parallel)
	var running sync.WaitGroup
	for n := range how.Trials {
		for i := range e.Details.Arms {
			slots <- struct{}{}
			if ctx.Err() != nil {
				<-slots
				continue
			}
			running.Go(func() {
				defer func() { <-slots }()
				if err := all.run(ctx, i, n); err != nil {
					stop(fmt.Errorf("%s, trial %d: %w", e.Details.Arms[i].Name, n+1, err))
				}
			})
		}
	}
	running.Wait()
	for i, of := range all.of {
		for _, t := range of {
			if t != nil {
				r.Arms[i].Trials = append(r.Arms[i].Trials, *t)
			}
		}
	}
	return context.Cause(ctx)
}

// trials holds the trials of a running experiment.
type trials struct {
	Experiment
	how     Repetition
	options results.Options

	mu     sync.Mutex
	of     [][]*reports.Trial // trials by arm and number; nil: not completed
	report *reports.Reproduction
}

func (t *trials) run(ctx context.Context, i, n int) error {
	a := t.Details.Arms[i]
	trial, command, err := t.trial(ctx, t.how.planOfTrial(a.Plan, n*len(t.Details.Arms)+i), t.options)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of[i][n] = &trial
	if n == 0 {
		t.report.Arms[i].Command = command
	}
	if t.how.Done != nil {
		t.how.Done(a.Name, n+1, t.how.Trials, trial)
	}
	return nil
}

// trial runs one plan and measures it.
func (e Experiment) trial(
	ctx context.Context, p plan.Plan, o results.Options,
) (t reports.Trial, command string, err error) {
	out, err := results.Execute(ctx, p, o)
	if err == nil {
		err = context.Cause(ctx) // an interrupted run has no figures
	}
	if err != nil {
		return t, "", err
	}
	j := out.Report.Judged
	command = out.Command()
	t = reports.Trial{
		Seed: out.Plan.Seed, Verdict: j.Verdict,
		Link: filepath.Join(filepath.Base(out.Dir), filepath.Base(out.ReportPath())),
	}
	if j.Verdict == harness.Unknown {
		t.Reason, t.Values = j.Summary(), make([]float64, len(e.measures))
		return t, command, nil
	}
	for _, m := range e.measures {
		v, err := m.of(ctx, out.Report.History, j)
		if err != nil {
			return t, "", fmt.Errorf("%s: %w", m.Name, err)
		}
		t.Values = append(t.Values, v)
	}
	return t, command, nil
}

// compare compares the results with the published ones. The string is the finding or, if a trial came to no verdict,
// says why there is none.
func (e Experiment) compare(r reports.Reproduction, trials int) (reports.Shape, string) {
	for i, a := range r.Arms {
		if said := a.DecidedTrials(); said < trials {
			return reports.Untold,
				fmt.Sprintf("of %d trials of %q only %d came to a verdict", trials, e.Details.Arms[i].Name, said)
		}
	}
	matches, finding, err := e.shape(armFigures{e, r.Arms})
	switch {
	case err != nil: // reading the experiment has checked for this
		return reports.Untold, err.Error()
	case !matches:
		return reports.Differs, finding
	}
	return reports.Matches, finding
}
