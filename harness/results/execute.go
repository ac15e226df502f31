package results

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/history"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/reports"
)

// Options say how plans and searches are run. The zero value is usable.
type Options struct {
	Results  string                 // folder in which results folders are made; default "results"
	Redis    string                 // redis-server binary; default: see cluster.FindRedis
	Log      *slog.Logger           // default: silent
	Progress func(harness.Progress) // called about once a second while load runs

	// Docker returns the platform for plans on docker; image "" is the default image. If Docker is nil, plans on docker
	// are an error. Package harness/cluster/docker has the platform.
	Docker func(image string) cluster.Platform

	External plan.OnExternal // used by plans of topology external; Execute sets its Note and OnNotSent

	Warn func(string) // called before a run for each limit of this machine that may be too low

	OnSearch func(explore.Progress) // called a few times a second while a search runs

	// Save and Resume are for searches only.
	Save   string // file in which Explore saves the search, to be resumed later; empty: none
	Resume *Saved // saved search to resume; nil: the search begins anew

	// Pieces returns how the pieces of a search are handed to workers. It gets the search without its limits For and
	// MaxSchedules, and the version of this machine's Redis. If Pieces is nil, this process runs the whole search.
	Pieces func(s plan.Search, server string) *explore.Pieces

	// Generators connects a plan with its n generators. If it is nil, plans with generators are an error.
	Generators func(ctx context.Context, n int) (GeneratorOptions, error)

	// OnViolation is called during the load for each violation, with the time since the start. The final report may
	// give the violation another class. OnViolation must not block.
	OnViolation func(harness.Anomaly, time.Duration)
}

func (o Options) machine() plan.Machine {
	return plan.Machine{Redis: o.Redis, Docker: o.Docker, External: o.External}
}

// Outcome is the result of running a plan.
type Outcome struct {
	Plan        plan.Plan // the plan, with its defaults and its seed filled in
	Dir         string
	Report      reports.Report
	Expectation plan.Expectation
	Met         bool

	options Options // the Options that Execute was given
}

// ReportPath returns the path of the run's report. It is empty if there is none, as after a killed run.
func (out Outcome) ReportPath() string {
	path := filepath.Join(out.Dir, reports.ReportFile)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// Names in a results folder.
const (
	historyDir   = "history"
	nodesDir     = "nodes"
	anomaliesDir = "anomalies"
	Latest       = "latest"

	maxPages = 10 // largest number of anomalies that porcupine draws
)

// Execute runs a plan and writes a results folder with plan, history, verdict, report and node logs, whatever the
// verdict. It returns an error if the plan is impossible (plan.ErrUsage), or if the harness or its environment failed.
// Even with an error, the Outcome has a Dir if the folder was made.
func Execute(ctx context.Context, p plan.Plan, o Options) (out Outcome, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	o.External.Note, o.External.OnNotSent = o.Warn, func(error) { stop() }
	if err := p.CheckPlace(); err != nil {
		return Outcome{}, err // before an adapter is started to describe itself
	}
	if p.Adapter, err = described(ctx, p.Adapter, o); err != nil {
		return Outcome{}, err
	}
	r, err := p.Resolve()
	if err != nil {
		return Outcome{}, err
	}
	defer r.Close()
	out = Outcome{Plan: r.Plan, Expectation: r.Expectation(), options: o}
	if err := preflight(r, o); err != nil {
		return out, err // nothing is written yet
	}
	machine := o.machine()
	var team *team
	if r.Generators > 0 {
		if team, err = gatherTeam(ctx, r, o); err != nil {
			return out, err
		}
		defer func() { err = errors.Join(err, team.leave(ctx)) }()
		machine.Generators = team
	}
	if out.Dir, err = resultsDir(o.Results, r.Plan); err != nil {
		return out, err
	}
	spec, err := spec(r, machine, out.Dir, o)
	if err != nil {
		return out, err
	}
	team.setSystem(spec.System)
	if err := LinkLatest(out.Dir); err != nil { // now already, since the harness may be killed
		return out, err
	}
	res, runErr := harness.Run(ctx, spec)
	if res.History.Ops == nil || res.History.Meta.Workers == 0 {
		return out, runErr
	}
	if only := r.OnlyCover(); only != "" {
		res.Notes = append(res.Notes, only)
	}
	err = out.report(res)
	return out, errors.Join(runErr, err, LinkLatest(out.Dir))
}

// spec returns the harness's spec of the plan, with all results in the folder dir.
func spec(r plan.Resolved, machine plan.Machine, dir string, o Options) (harness.Spec, error) {
	store, err := history.Create(filepath.Join(dir, historyDir))
	if err != nil {
		return harness.Spec{}, err
	}
	s := r.Spec(machine, filepath.Join(dir, nodesDir), store)
	s.Log, s.Progress, s.OnAnomaly = o.Log, o.Progress, o.OnViolation
	return s, nil
}

// Preflight returns an error if the plan is impossible (plan.ErrUsage), or if this machine cannot carry it out. It
// calls Options.Warn for each limit that may be too low.
func Preflight(p plan.Plan, o Options) error {
	r, err := p.Resolve()
	if err != nil {
		return err
	}
	return preflight(r, o)
}

func preflight(r plan.Resolved, o Options) error {
	if err := r.Missing(); err != nil {
		return err
	}
	warnings, err := r.Preflight(o.machine())
	if err != nil || o.Warn == nil {
		return err
	}
	for _, w := range warnings {
		o.Warn(w.String())
	}
	return nil
}

// report writes all files that are derived from the history.
func (out *Outcome) report(res harness.Result) (err error) {
	if err := out.addVerdict(res.History, res.Judged); err != nil {
		return err
	}
	out.Report.Notes = res.Notes
	return out.write()
}

// write writes the judged run's files.
func (out *Outcome) write() error { return writeReports(out.Dir, &out.Report) }

// writeReports writes the reports of a judged history into dir, and adds porcupine's pages to r.
func writeReports(dir string, r *reports.Report) (err error) {
	if r.Pages, err = drawAnomalies(dir, r.History, r.Judged); err != nil {
		return err
	}
	return reports.Write(dir, *r)
}

// addVerdict fills in the outcome from a judged history.
func (out *Outcome) addVerdict(h harness.History, j harness.Judged) (err error) {
	out.Met = out.Expectation.Met(j)
	if out.Report, err = reports.New(h, j); err != nil {
		return fmt.Errorf("results: report: %w", err)
	}
	out.Report.Command = out.Command()
	out.Report.Expected, out.Report.Met = out.Expectation.String(), out.Met
	if out.Undocumented() {
		out.Report.Expected = ""
	}
	return nil
}

// Undocumented reports whether the run has no expectation: the algorithm is the user's own, and the plan states none.
func (out Outcome) Undocumented() bool { return out.Plan.IsCustom() && out.Plan.Expect.IsZero() }

// Recorded reports whether the run has recorded operations. A run may have ended before its first operation.
func (out Outcome) Recorded() bool {
	if out.Dir == "" {
		return false
	}
	segments, _ := filepath.Glob(filepath.Join(out.Dir, historyDir, "ops-*"))
	return slices.ContainsFunc(segments, func(name string) bool {
		info, err := os.Stat(name)
		return err == nil && info.Size() > 0
	})
}

// Command returns the command line that repeats the run, relative to the current folder.
func (out Outcome) Command() string {
	return out.Plan.CommandWith(filepath.Join(out.Dir, plan.File), out.options.Redis)
}

// drawAnomalies has porcupine draw the first anomalies that it certified. It returns the pages' paths inside dir, by
// the index of the anomaly.
func drawAnomalies(dir string, h harness.History, j harness.Judged) (map[int]string, error) {
	pages := map[int]string{}
	for i, a := range j.Anomalies {
		if len(pages) == maxPages {
			break
		}
		if !a.Certified {
			continue
		}
		rel := filepath.Join(anomaliesDir, fmt.Sprintf("%03d-%s.html", i+1, a.Class))
		err := reports.WriteFile(filepath.Join(dir, rel),
			func(w io.Writer) error { return checkers.WritePage(w, a, h.Meta, h.Faults) })
		if err != nil {
			return pages, fmt.Errorf("results: draw anomaly %d: %w", i+1, err)
		}
		pages[i] = rel
	}
	return pages, nil
}
