package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/history"
	"github.com/doublegrant/doublegrant/reports"
	"github.com/doublegrant/doublegrant/workloads"
)

// Options are how plans are executed, beside what they are.
type Options struct {
	Results  string                 // folder for results folders; default "results"
	Redis    string                 // redis-server binary; default as cluster.FindRedis
	Log      *slog.Logger           // default: silent
	Progress func(harness.Progress) // called about once a second while load runs
}

// Outcome is what came of a plan.
type Outcome struct {
	Plan        Plan // with its defaults filled in, seed included
	Dir         string
	Report      reports.Report
	Expectation Expectation
	Met         bool
}

// ReportPath is where the run's report is; empty if it has none, as that of a run which was killed.
func (out Outcome) ReportPath() string {
	path := filepath.Join(out.Dir, reportFile)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// Layout of a results folder.
const (
	historyDir   = "history"
	nodesDir     = "nodes"
	anomaliesDir = "anomalies"
	reportFile   = "report.html"
	latest       = "latest"

	maxPages = 10 // anomalies that porcupine draws
)

// Check tells whether a plan could be run, without running it. The error wraps ErrUsage.
func (p Plan) Check() error {
	_, err := p.resolve()
	return err
}

// Execute runs a plan and leaves a results folder behind, whatever the verdict: plan, history, verdict, report and node
// logs. The error says that the plan is unusable (ErrUsage) or that the harness or its environment failed; an Outcome
// beside it has a Dir if anything was recorded.
func Execute(ctx context.Context, p Plan, o Options) (Outcome, error) {
	r, err := p.resolve()
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{Plan: r.Plan, Expectation: r.expect()}
	if _, err := r.machine(o).Preflight(); err != nil {
		return out, err // before anything is written
	}
	if out.Dir, err = resultsDir(o.Results, r.Plan); err != nil {
		return out, err
	}
	spec, err := r.spec(out.Dir, o)
	if err != nil {
		return out, err
	}
	res, runErr := harness.Run(ctx, spec)
	if res.History.Ops == nil || res.History.Meta.Workers == 0 {
		return out, runErr
	}
	err = out.report(res)
	return out, errors.Join(runErr, err, relink(out.Dir))
}

// spec is the plan as the harness takes it.
func (r resolved) spec(dir string, o Options) (harness.Spec, error) {
	store, err := history.Create(filepath.Join(dir, historyDir))
	if err != nil {
		return harness.Spec{}, err
	}
	machine := r.machine(o)
	machine.LogDir = filepath.Join(dir, nodesDir)
	c := r.cluster(machine)
	spec := harness.Spec{
		Name: r.Name(), System: c, Store: store, Log: o.Log, Progress: o.Progress, Labels: r.labels(),
		Workload: r.variant.Workload(c, workloads.Options{Keys: r.Keys, TTL: r.TTL, Regime: r.regime}),
		Clients:  r.Clients, Duration: r.Duration, Rate: max(0, r.Rate), Seed: r.Seed, Checkers: r.checkers(),
	}
	for _, v := range r.with {
		spec.Riders = append(spec.Riders, harness.Rider{Workload: v.Workload(c, workloads.Options{}), Clients: riderClients})
	}
	for range r.Repeat {
		for _, n := range r.nemeses {
			spec.Steps = append(spec.Steps, harness.Step{Nemesis: n.make(c), For: r.FaultFor})
		}
	}
	return spec, nil
}

func (r resolved) cluster(o cluster.Options) *cluster.Cluster {
	if r.Topology == sentinel {
		return cluster.Sentinel(o)
	}
	return cluster.Standalone(o)
}

// machine is what the plan needs of this machine.
func (r resolved) machine(o Options) cluster.Options {
	return cluster.Options{RedisServer: o.Redis, Clients: r.Clients + len(r.with)*riderClients}
}

func (r resolved) labels() map[string]string {
	l := map[string]string{"variant": r.Variant, "topology": r.Topology, "claim": string(r.variant.Claim)}
	for name, value := range map[string]string{
		"nemesis": strings.Join(r.Nemesis, ", "), "regime": r.Plan.Regime, "with": strings.Join(r.With, ", "),
	} {
		if value != "" {
			l[name] = value
		}
	}
	return l
}

// checkers are those of the families involved, and the gates.
func (r resolved) checkers() []harness.Checker {
	var out []harness.Checker
	for _, v := range append([]workloads.Variant{r.variant}, r.with...) {
		switch v.Family {
		case workloads.Lock:
			out = append(out, checkers.Mutex(), checkers.Stuck())
			if v.Fenced() {
				out = append(out, checkers.Fence())
			}
		case workloads.Dedup:
			out = append(out, checkers.Dedup())
		case workloads.Sequence:
			out = append(out, checkers.Sequence())
		case workloads.Writes:
			out = append(out, checkers.Writes())
		}
	}
	return append(out, checkers.Gates())
}

// report writes everything that is derived from the history.
func (out *Outcome) report(res harness.Result) (err error) {
	if err := out.judge(res.History, res.Judged); err != nil {
		return err
	}
	if out.Report.Pages, err = drawAnomalies(out.Dir, res.History, res.Judged); err != nil {
		return err
	}
	return reports.Write(out.Dir, out.Report)
}

// judge fills the outcome in from a judged history.
func (out *Outcome) judge(h harness.History, j harness.Judged) (err error) {
	out.Met = out.Expectation.Met(j)
	if out.Report, err = reports.New(h, j); err != nil {
		return fmt.Errorf("suite: report: %w", err)
	}
	out.Report.Command, out.Report.Expected, out.Report.Met = out.Plan.Command(), out.Expectation.String(), out.Met
	return nil
}

// drawAnomalies has porcupine draw the first anomalies that it certified, and returns their pages' paths inside dir.
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
		err := reports.WriteFile(filepath.Join(dir, rel), func(w io.Writer) error { return checkers.Draw(w, a, h.Meta, h.Faults) })
		if err != nil {
			return pages, fmt.Errorf("suite: draw anomaly %d: %w", i+1, err)
		}
		pages[i] = rel
	}
	return pages, nil
}

// resultsDir makes a fresh folder for a run, with its plan in it.
func resultsDir(root string, p Plan) (string, error) {
	dir, err := makeResultsDir(root, p.Name())
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(filepath.Join(dir, nodesDir), 0o755); err != nil {
		return "", err
	}
	return dir, p.write(dir)
}

// makeResultsDir makes a fresh folder in root, named after the time and name.
func makeResultsDir(root, name string) (dir string, err error) {
	root = cmp.Or(root, "results")
	base := filepath.Join(root, time.Now().Format("20060102-150405-")+name)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", usage("results cannot be kept in %s: %w", root, err)
	}
	dir = base
	for n := 2; ; n++ {
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return "", usage("results cannot be kept in %s: %w", root, err)
		}
		dir = fmt.Sprintf("%s-%d", base, n)
	}
}

// relink makes results/latest lead to dir.
func relink(dir string) error {
	link := filepath.Join(filepath.Dir(dir), latest)
	fresh := filepath.Join(filepath.Dir(dir), "."+latest+"-"+filepath.Base(dir)) // runs may end side by side
	if err := os.Symlink(filepath.Base(dir), fresh); err != nil {
		return err
	}
	if err := os.Rename(fresh, link); err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	return nil
}

// Recheck judges the stored run in a results folder again, and writes nothing.
func Recheck(ctx context.Context, dir string) (Outcome, error) {
	p, err := readPlan(dir)
	if err != nil {
		return Outcome{}, err
	}
	r, err := p.resolve()
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", dir, err)
	}
	out := Outcome{Plan: p, Dir: dir, Expectation: r.expect()}
	h, err := history.Open(filepath.Join(dir, historyDir))
	if err != nil {
		return out, err
	}
	return out, out.judge(h, harness.Judge(ctx, h, r.checkers()))
}
