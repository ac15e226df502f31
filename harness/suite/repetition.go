package suite

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/reports"
)

// Repetition is one repetition of one run, with all that another machine needs to run it. It is never split.
type Repetition struct {
	Entry     // its Seed is the seed of this repetition
	Turn  int // index among its run's repetitions, from 0
}

// Repetitions lists the repetitions of all runs, in the order in which one machine runs them.
func (s Suite) Repetitions() (all []Repetition) {
	for _, r := range s.Runs {
		for _, turn := range r.repetitions() {
			all = append(all, r.repetition(1, turn))
		}
	}
	return all
}

// repetition returns a repetition of the run in a pass. Its seed depends on the pass and the turn alone, so it is the
// same in the whole suite, in a shard and on another machine.
func (r Entry) repetition(pass, turn int) Repetition {
	if r.Seed != 0 {
		r.Seed += uint64((pass-1)*max(1, r.Times) + turn)
	}
	r.Times, r.turns = 0, nil
	return Repetition{r, turn}
}

// Encode returns the run as text for DecodeRun. It includes the texts of scripts, so that another machine needs no
// other file.
func (r Entry) Encode() ([]byte, error) { return Suite{Name: r.Title, Runs: []Entry{r}}.Encode() }

// DecodeRun reads what Entry.Encode returned, as strictly as a file. The error wraps plan.ErrUsage.
func DecodeRun(text []byte) (Entry, error) {
	s, err := Decode(text)
	if err == nil && len(s.Runs) != 1 {
		err = plan.Usagef("%d runs instead of one", len(s.Runs))
	}
	if err != nil {
		return Entry{}, err
	}
	return s.Runs[0], nil
}

// RunsCode reports whether the run starts a program of the user's: an adapter by its command line, or a container of a
// named image. Lua in Redis does not count.
func (r Entry) RunsCode() bool { return r.Adapter != nil || r.Image != "" }

// RemoteResult is the result of a repetition on another machine.
type RemoteResult struct {
	Run     tally.Run         `json:"run"`     // the run, whose link is relative to Folder
	Folder  string            `json:"folder"`  // path, on that machine, of the folder with its files
	Servers map[string]string `json:"servers"` // servers that the repetition ran on: see tally.Suite
}

// Make runs the repetition on this machine, as Run does, and keeps its files in the folder o.Results. It returns an
// error if the repetition could not begin or was interrupted.
func (r Repetition) Make(ctx context.Context, o results.Options) (m RemoteResult, err error) {
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
	r.Entry = one.Runs[0] // now with the adapter's description of itself
	m.Run, m.Folder = r.make(ctx, o).run, o.Results
	return m, ctx.Err()
}

// Claim returns what two executions of one repetition must have in common: only whether it was as expected, since the
// figures of a load differ each time. It is empty if the result decides nothing: the environment failed, or the verdict
// is unknown and should not be.
func (m RemoteResult) Claim() string {
	if m.Run.Ending != tally.Met && m.Run.Ending != tally.NotMet {
		return ""
	}
	return m.Run.Ending.String()
}

// repetitionResult is the result of a repetition on this machine.
type repetitionResult struct {
	run  tally.Run // the run, before the number of its pass and its expectation are filled in
	dirs []string  // results folders of the repetition
}

// make runs the repetition, and keeps its files in the folder o.Results. Links are relative to that folder.
func (r Repetition) make(ctx context.Context, o results.Options) (m repetitionResult) {
	began := time.Now()
	if r.Explore != nil {
		m = r.search(ctx, o)
	} else {
		out, err := results.Execute(ctx, r.Plan, o)
		m = repetitionResult{suiteRun(out, err), []string{out.Dir}}
		m.run.Link = out.ReportPath()
		r.judgeFailovers(&m.run, out, o.Redis)
		if m.run.Unplanned = out.Report.Unplanned(); m.run.Unplanned != "" && m.run.Ending != tally.Met {
			m.run.Why = m.run.Unplanned + "; " + m.run.Why // first, since reports cut long reasons
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

// again names a file in the results folder of a run with a Threshold. The file is a suite that repeats the run. A plan
// could not do so, since it cannot state a Threshold.
const again = "suite.yaml"

// judgeFailovers compares the run's failovers with its Threshold, if it has one. It also makes the run's command repeat
// the run with the same Threshold.
func (r Repetition) judgeFailovers(run *tally.Run, out results.Outcome, redis string) {
	if r.Failover == nil {
		return
	}
	r.Failover.judge(run)
	if run.Command == "" {
		return
	}
	r.Seed = out.Plan.Seed
	text, err := r.Encode()
	file := filepath.Join(out.Dir, again)
	if err == nil {
		err = os.WriteFile(file, text, 0o644)
	}
	if err != nil {
		run.Ending, run.Why = tally.Failed, err.Error()
		return
	}
	run.Command = out.Plan.SuiteCommand(file, redis)
}

// suiteRun sums up the outcome of a plan as a run of the suite.
func suiteRun(out results.Outcome, err error) tally.Run {
	run := tally.Run{Seed: out.Plan.Seed, Ending: tally.Failed}
	if out.Dir != "" {
		run.Command = out.Command()
	}
	j := out.Report.Judged
	run.Verdict, run.Found, run.Ops = j.Verdict, out.Report.ViolationCounts(), out.Report.Stats.Totals.All()
	if all := out.Report.Failovers; len(all) > 0 {
		run.Failovers, run.Stages = reports.FailoversOf(all), reports.FailoverTimes()
	}
	switch {
	case err != nil:
		run.Why = strings.ReplaceAll(err.Error(), "\n", "; ")
		// a violation counts even if something else failed, too
		if unexpected := out.Expectation.Disallowed(j); len(unexpected) > 0 {
			run.Ending, run.Why = tally.NotMet, strings.Join(append(unexpected, run.Why), "; ")
		}
		return run
	case out.Met:
		run.Ending = tally.Met
		return run
	case j.Verdict == harness.Unknown:
		run.Ending, run.Why = tally.Undecided, out.Report.Sentence()
	default:
		run.Ending, run.Why = tally.NotMet, out.Expectation.Surprise(j)
	}
	return run
}
