package suite

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/reports"
)

// Repetition is one repetition of one run: the unit that is never split, and all that another machine needs to make it.
type Repetition struct {
	Entry     // with the seed of this repetition alone
	Turn  int // which it is of its run, from 0
}

// Repetitions lists the repetitions of all runs, in the order in which one machine makes them.
func (s Suite) Repetitions() (all []Repetition) {
	for _, r := range s.Runs {
		for _, turn := range r.repetitions() {
			all = append(all, r.repetition(1, turn))
		}
	}
	return all
}

// repetition returns a repetition of the run in a pass. The seed counts on with each repetition and pass, so that a repetition has the same
// in the whole suite, in a shard and on another machine.
func (r Entry) repetition(pass, turn int) Repetition {
	if r.Seed != 0 {
		r.Seed += uint64((pass-1)*max(1, r.Times) + turn)
	}
	r.Times, r.turns = 0, nil
	return Repetition{r, turn}
}

// Encode returns the run as a text that DecodeRun reads, with the texts of its scripts: another machine needs no file beside it.
func (r Entry) Encode() ([]byte, error) { return Suite{Name: r.Title, Runs: []Entry{r}}.Encode() }

// DecodeRun reads what Entry.Encode returned, as strictly as a file is read. The error wraps plan.ErrUsage.
func DecodeRun(text []byte) (Entry, error) {
	s, err := Decode(text)
	if err == nil && len(s.Runs) != 1 {
		err = plan.Usagef("%d runs in place of one", len(s.Runs))
	}
	if err != nil {
		return Entry{}, err
	}
	return s.Runs[0], nil
}

// RunsCode reports whether the run starts a program of its own on the machine that makes it: a client by its command line, or a container of
// an image that it names. Lua in Redis does not count.
func (r Entry) RunsCode() bool { return r.Client != nil || r.Image != "" }

// Made is what came of a repetition on another machine.
type Made struct {
	Run     tally.Run         `json:"run"`     // its link leads into the folder
	Folder  string            `json:"folder"`  // that has all that it left, as the machine names it
	Servers map[string]string `json:"servers"` // that it was made on: see tally.Suite
}

// Make makes the repetition on this machine, as Run does, and leaves what it wrote in the folder o.Results. The error says that it could not
// begin, or was interrupted.
func (r Repetition) Make(ctx context.Context, o results.Options) (m Made, err error) {
	one := Suite{Name: r.Title, Runs: []Entry{r.Entry}}
	if err := one.Check(); err != nil {
		return m, err
	}
	if err := one.tryScripts(ctx, o); err != nil {
		return m, err
	}
	if err := one.preflight(o); err != nil {
		return m, err
	}
	if m.Servers, err = one.servers(ctx, o); err != nil {
		return m, err
	}
	r.Entry = one.Runs[0] // with what its program has said of itself
	m.Run, m.Folder = r.make(ctx, o).run, o.Results
	return m, ctx.Err()
}

// Claim returns what a repetition that is made twice has to have in common: whether it was as expected. Under load nothing else is the same
// each time. It is empty if the repetition tells nothing: its environment failed, or its verdict is unknown though one was expected.
func (m Made) Claim() string {
	if m.Run.Ending != tally.Met && m.Run.Ending != tally.NotMet {
		return ""
	}
	return m.Run.Ending.String()
}

// made is what came of a repetition here.
type made struct {
	run  tally.Run // without its pass and what was expected of it
	dirs []string  // results folders
}

// make makes the repetition in the folder o.Results. Links lead from there.
func (r Repetition) make(ctx context.Context, o results.Options) (m made) {
	began := time.Now()
	if r.Explore != nil {
		m = r.search(ctx, o)
	} else {
		out, err := results.Execute(ctx, r.Plan, o)
		m = made{suiteRun(out, err), []string{out.Dir}}
		m.run.Link = out.ReportPath()
		if r.Failover != nil {
			r.Failover.judge(&m.run)
		}
	}
	m.run.Name, m.run.Started, m.run.Elapsed = r.Title, began, time.Since(began)
	if ctx.Err() != nil {
		m.run.Ending = tally.NotRun // an interrupted run says nothing about the case
	}
	if rel, err := filepath.Rel(o.Results, m.run.Link); err == nil && m.run.Link != "" {
		m.run.Link = filepath.ToSlash(rel)
	}
	return m
}

// suiteRun sums up the outcome of a plan as a run of the suite.
func suiteRun(out results.Outcome, err error) tally.Run {
	run := tally.Run{Seed: out.Plan.Seed, Ending: tally.Failed}
	if out.Dir != "" {
		run.Command = out.Command()
	}
	j := out.Report.Judged
	run.Verdict, run.Found, run.Ops = j.Verdict, out.Report.Found(), out.Report.Stats.Totals.All()
	if all := out.Report.Failovers; len(all) > 0 {
		run.Failovers, run.Stages = reports.FailoversOf(all), reports.FailoverTimes()
	}
	switch {
	case err != nil:
		run.Why = strings.ReplaceAll(err.Error(), "\n", "; ")
		if unexpected := out.Expectation.Disallowed(j); len(unexpected) > 0 { // a violation counts whatever else went wrong
			run.Ending, run.Why = tally.NotMet, strings.Join(append(unexpected, run.Why), "; ")
		}
		return run
	case out.Met:
		run.Ending = tally.Met
		return run
	case j.Verdict == harness.Unknown:
		run.Ending, run.Why = tally.Unsaid, out.Report.Sentence()
	default:
		run.Ending, run.Why = tally.NotMet, out.Expectation.Surprise(j)
	}
	return run
}
