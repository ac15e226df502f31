package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/reports"
)

// Options say how a suite is run. Zero values stand for defaults.
type Options struct {
	results.Options
	// how long to repeat all runs with new seeds; the first pass is always finished; 0: one pass
	For      time.Duration
	Resume   string // results folder of an interrupted suite to resume, whose own For applies; "": none
	Version  string // version of the program; only the same version can resume a suite
	FailFast bool   // whether the suite ends after the first run that is not as expected
	Begin    func(Position)
	End      func(Position, tally.Run)
}

// Position says which run of a suite begins or has ended.
type Position struct {
	Pass    int // number of the pass, from 1
	Run, Of int // number of the run, from 1, and number of runs; repetitions of a run share its number
	Name    string
	Elapsed time.Duration // time since the start of the suite, without the time in which no process ran it
	For     time.Duration // Options.For as it was when the suite first began
	Before  int           // number of runs that had ended before this process began
}

// memoryEvery is the time between two recorded samples of the harness's memory under load.
const memoryEvery = 10 * time.Second

// Run runs the suite's runs one after the other. It returns the suite's results and its results folder, which has a
// folder for each run.
//
// Before anything starts, it refuses impossible plans (plan.ErrUsage) and runs that this machine cannot carry out. A
// run whose environment fails counts as failed, and the others follow. A soak (For) records each run in one line, and
// keeps folders only of runs that were not as expected. An error means that nothing could begin, or that results could
// not be written.
func Run(ctx context.Context, s Suite, how Options) (tally.Suite, string, error) {
	if err := s.Check(); err != nil {
		return tally.Suite{}, "", err
	}
	if how.For < 0 || how.For > plan.MaxDuration {
		return tally.Suite{}, "", plan.Usagef("--for %v: ask for more than 0 and at most %gh", how.For,
			plan.MaxDuration.Hours())
	}
	r, err := s.prepare(ctx, how)
	if err != nil {
		return tally.Suite{}, "", err
	}
	dir := r.dir
	if err := results.LinkLatest(dir); err != nil { // now already, in case the suite is killed
		return r.out, dir, errors.Join(err, r.record.end(recordEnd{Reason: err.Error()}))
	}
	err = r.runAll(ctx)
	r.out.Elapsed = r.since()
	err = errors.Join(err, r.record.end(recordEnd{r.out.Elapsed, r.out.Ending(), r.out.Ended}))
	return r.out, dir, errors.Join(err, reports.WriteSuite(dir, r.out), results.LinkLatest(dir))
}

// prepare refuses runs that this machine cannot carry out, and opens the suite's record: a new one, or the one to
// resume.
func (s Suite) prepare(ctx context.Context, how Options) (*suiteRunner, error) {
	if err := s.tryScripts(ctx, how.Options); err != nil { // first, since an adapter's description completes its run
		return nil, err
	}
	head, err := s.head(how)
	if err != nil {
		return nil, err
	}
	if err := s.preflight(how.Options); err != nil {
		return nil, err
	}
	if head.Servers, err = s.servers(ctx, how.Options); err != nil {
		return nil, err
	}
	if how.Resume != "" {
		return s.resume(how, head)
	}
	dir, err := results.NewFolder(how.Results, s.folderName())
	if err != nil {
		return nil, err
	}
	head.Folder = dir
	return s.begin(how, dir, head)
}

// folderName returns the name of the suite's results folder, without its time.
func (s Suite) folderName() string {
	name := suiteFolder(s.Name)
	if s.part != nil {
		name += fmt.Sprintf("-shard-%d-of-%d", s.part.Number, s.part.Of)
	}
	return name
}

func suiteFolder(name string) string {
	return "suite-" + plan.FileName(strings.ReplaceAll(name, " ", "-"))
}

type suiteRunner struct {
	Suite
	how     Options
	dir     string
	out     tally.Suite
	record  *record
	kept    keptCounts
	sampled time.Duration // time of the last recorded memory sample, since the start

	began  time.Time      // when this process began
	before time.Duration  // time for which earlier processes ran the suite
	done   map[string]int // number of ended repetitions of each run in the interrupted pass; nil: no interruption
	ended  int            // number of runs that had ended before this process began
}

// head returns the first line of the suite's record.
func (s Suite) head(how Options) (recordHead, error) {
	head := recordHead{Name: s.Name, Started: time.Now(), For: how.For, Version: how.Version}
	for _, run := range s.Runs {
		if run.Explore != nil {
			v, err := run.Workload()
			if err != nil {
				return head, err
			}
			head.Cases = append(head.Cases, recordCase{run.Title, v.ID, run.expectedOfSearch(), run.turns})
			continue
		}
		plan, err := run.Resolve()
		if err != nil {
			return head, err
		}
		expected := plan.Expectation().String() + run.Failover.String()
		head.Cases = append(head.Cases, recordCase{run.Title, plan.Variant, expected, run.turns})
	}
	if s.part != nil {
		head.Fingerprint, head.Shard = s.part.fingerprint, &s.part.recordShard
		return head, nil
	}
	var err error
	head.Fingerprint, err = s.Fingerprint()
	return head, err
}

// begin begins a suite anew.
func (s Suite) begin(how Options, dir string, head recordHead) (*suiteRunner, error) {
	record, err := newRecord(dir, head)
	if err != nil {
		return nil, err
	}
	r := &suiteRunner{Suite: s, how: how, dir: dir, record: record, kept: keptCounts{}, began: head.Started}
	head.begin(&r.out)
	return r, nil
}

// since returns how long the suite has run.
func (r *suiteRunner) since() time.Duration { return r.before + time.Since(r.began) }

// runAll repeats passes until there is a reason to end.
func (r *suiteRunner) runAll(ctx context.Context) error {
	for r.out.Ended == "" {
		r.out.Passes++
		before := r.countFailed()
		for i := range r.Runs {
			turns := r.Runs[i].repetitions()
			for _, turn := range turns[min(r.done[r.Runs[i].Title], len(turns)):] {
				if r.out.Passes > 1 && r.timeIsUp() {
					return nil
				}
				if err := r.runOne(ctx, i, turn); err != nil || r.out.Ended != "" {
					return err
				}
			}
		}
		clear(r.done)
		if r.timeIsUp() {
			return nil
		}
		if r.countFailed()-before == r.runs() { // a soak would fail like this for hours
			r.out.Ended = "no run of a whole pass could be carried out"
		}
	}
	return nil
}

// timeIsUp reports whether the requested time is over. Without a requested time it returns true.
func (r *suiteRunner) timeIsUp() bool { return r.since() >= r.how.For }

// runs returns the number of repetitions in a pass.
func (r *suiteRunner) runs() (n int) {
	for _, run := range r.Runs {
		n += len(run.repetitions())
	}
	return n
}

// countFailed counts the runs whose environment failed.
func (r *suiteRunner) countFailed() (n int) {
	for _, c := range r.out.Cases {
		n += c.Failed
	}
	return n
}

// runOne runs one repetition of the suite's run i.
func (r *suiteRunner) runOne(ctx context.Context, i, turn int) error {
	if ctx.Err() != nil {
		r.out.Ended = "interrupted"
		return nil
	}
	where := Position{
		Pass: r.out.Passes, Run: i + 1, Of: len(r.Runs), Name: r.Runs[i].Title, Elapsed: r.since(), For: r.how.For,
		Before: r.ended,
	}
	if r.how.Begin != nil {
		r.how.Begin(where)
	}
	run, err := r.execute(ctx, i, turn)
	if err != nil {
		return err
	}
	r.out.Cases[i].Add(run)
	if r.how.End != nil {
		r.how.End(where, run)
	}
	switch {
	case run.Ending == tally.NotRun:
		r.out.Ended = interruptedIn(run)
	case r.how.FailFast && run.Ending != tally.Met:
		r.out.Ended = "a run was not as expected (--fail-fast)"
	}
	return nil
}

// interruptedIn describes the run in which the suite was interrupted, and its folder.
func interruptedIn(run tally.Run) string {
	if run.Link == "" { // nothing of the run was recorded
		return "interrupted"
	}
	return fmt.Sprintf("interrupted during the run %q, whose folder is %s", run.Name, path.Dir(run.Link))
}

// execute runs a repetition of run i, and records its result.
func (r *suiteRunner) execute(ctx context.Context, i, turn int) (tally.Run, error) {
	o := r.how.Options
	o.Results, o.Progress = r.dir, r.progress
	result := r.Runs[i].repetition(r.out.Passes, turn).make(ctx, o)
	run := result.run
	run.Pass, run.Expected = r.out.Passes, r.out.Cases[i].Expected
	for _, dir := range result.dirs {
		link := run.Link
		if err := r.tidy(dir, &run); err != nil {
			return run, err
		}
		if run.Ending != tally.Met { // the link may lead to another search's folder
			run.Link = link
		}
	}
	run.Process = measureProcess(r.since())
	r.out.Memory.AfterRun(run.Pass, run.Process)
	return run, r.record.write(recordLine{Run: &run})
}

// tidy removes those files of the run that a soak does not keep, and the link "latest" inside the suite's folder.
func (r *suiteRunner) tidy(dir string, run *tally.Run) error {
	if err := os.Remove(filepath.Join(r.dir, results.Latest)); err != nil && !errors.Is(err, os.ErrNotExist) {
		// the link could lead to a removed folder; results/latest leads to the suite
		return fmt.Errorf("suite: %w", err)
	}
	if r.how.For == 0 || run.Ending == tally.NotRun {
		return nil
	}
	kept, err := r.kept.tidy(dir, *run)
	if err != nil {
		return fmt.Errorf("suite: %w", err)
	}
	if !kept {
		run.Link = ""
	}
	if run.Ending == tally.Met {
		run.Command = ""
	}
	return nil
}

// progress passes a run's progress on, and samples the harness's memory. It is called about once a second.
func (r *suiteRunner) progress(p harness.Progress) {
	s := measureProcess(r.since())
	r.out.Memory.UnderLoad(s)
	if s.At-r.sampled >= memoryEvery {
		r.sampled = s.At
		_ = r.record.write(recordLine{Sample: &s}) // if the disk is full, writing the run's own line fails, too
	}
	if r.how.Progress != nil {
		r.how.Progress(p)
	}
}
