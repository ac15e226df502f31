package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster/external"
	"github.com/doublegrant/doublegrant/harness/history"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/texttable"
	"github.com/doublegrant/doublegrant/harness/units"
	"github.com/doublegrant/doublegrant/reports"
)

type runFlags struct {
	planFlags
	load loadFlags
}

func (f *runFlags) add(cmd *cobra.Command) {
	f.planFlags.add(cmd)
	f.load.add(cmd, &f.plan.Generators)
	cmd.Flags().StringVar(&f.plan.Regime, "regime", "",
		"what callers of a sequence propose: see doublegrant list (default: every regime, each on its own sequence)")
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run VARIANT",
		Short: "race clients on one variant, with or without faults, and judge what happened",
		Long: `Races clients on one variant, with or without faults, records every operation, and judges the record.
Exit code 0: valid; 1: invalid; 2: nothing can be said; 3: the harness or its environment failed.`,
		Example: "  doublegrant run lock/set-nx-px --clients 1000 --duration 30s\n" +
			"  doublegrant run lock/set-nx-px --topology sentinel --nemesis partition-primary --with writes/sadd\n" +
			"  doublegrant run sequence/incr --nemesis kill-primary --repeat 10\n" +
			"  doublegrant run --plan plan.yaml --seed 7",
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd, &f, args) },
	}
	f.add(cmd)
	a.place.add(cmd)
	a.verboseFlag(cmd)
	return a.groupFlags(cmd, ofPlans)
}

// verboseFlag adds -v.
func (a *app) verboseFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&a.verbose, "verbose", "v", false,
		"print statistics, too: what was counted and met, by checkers and in each part of a search")
}

// longRun is the estimated duration from which on a run says beforehand how long it will take.
const longRun = 2 * time.Minute

// run reads the plan, executes it, and prints the outcome. The exit code is that of the verdict.
func (a *app) run(cmd *cobra.Command, f *runFlags, args []string) error {
	p, err := a.singlePlan(cmd, &f.planFlags, args)
	if err != nil {
		return err
	}
	if err := a.readExternal(cmd, &f.external, p); err != nil {
		return err
	}
	if err := f.load.check(cmd, p.Generators); err != nil {
		return err
	}

	length, _ := p.Estimate() // Execute reports errors of the plan
	if length >= longRun {
		fmt.Fprintf(a.err, "about %v\n", length.Round(time.Second))
	}
	stop := a.startBar(length, "about")
	a.err.beginStage(length)
	progress := a.newProgress()
	o := a.options()
	o.Progress, o.OnViolation, o.Generators = progress.show, progress.found, a.generators(&f.load)
	out, err := results.Execute(cmd.Context(), p, o)
	stop()

	if err == nil {
		return a.show(out)
	}
	if out.Recorded() {
		err = keptIn(out.Dir, fmt.Errorf("%w (the recording is in %s)", err, out.Dir))
	}
	if errors.Is(err, external.ErrNotSent) || !hasVerdict(out, err) {
		return err
	}
	fmt.Fprintln(a.err, "doublegrant: "+message(err))
	return a.show(out)
}

// singlePlan returns the plan of the run command: the plan file, or the plan that the flags make of one variant.
func (a *app) singlePlan(cmd *cobra.Command, f *planFlags, args []string) (p plan.Plan, err error) {
	plans, err := f.plans(cmd)
	if err != nil {
		return p, err
	}
	variants, err := a.variants(cmd, &f.variant, args)
	switch {
	case err != nil:
		return p, err
	case len(plans) != 1:
		return p, usage("%d plans given: want one, or compare them with doublegrant compare", len(plans))
	case len(f.files) > 0 && len(variants) > 0:
		return p, usage("%s already names a variant: leave %s out, or give both to doublegrant compare", f.files[0],
			variants[0].id)
	case len(f.files) > 0:
		return plans[0], nil
	case len(variants) != 1:
		return p, wantOneVariant("run", len(variants))
	}
	p, v := plans[0], variants[0]
	p.Variant, p.Script, p.Adapter = v.id, v.script, v.adapter
	return p, nil
}

// hasVerdict reports whether a run's verdict counts although the run returned err. A violation always counts. If the
// only error is a full disk, the verdict on what was recorded by then counts, too.
func hasVerdict(out results.Outcome, err error) bool {
	j := out.Report.Judged
	return j.Verdict == harness.Invalid || len(j.Judgements) > 0 && errors.Is(err, history.ErrFull)
}

// show prints one run, as text or JSON, and sets the exit code by its verdict.
func (a *app) show(out results.Outcome) error {
	a.code = verdictCode(out.Report.Judged.Verdict)
	var err error
	if a.json {
		err = reports.JSON(a.out, out.Report)
	} else {
		err = a.printOutcome(out)
	}
	return errors.Join(err, a.tellOfRun(out.Report))
}

// layout says how text on standard output is laid out.
func (a *app) layout() reports.Layout {
	return reports.Layout{Width: texttable.Columns(a.terminal), Verbose: a.verbose}
}

// printOutcome prints one run as text.
func (a *app) printOutcome(out results.Outcome) error {
	if err := reports.ReportText(a.out, out.Report, a.layout()); err != nil {
		return err
	}
	l := a.layout()
	expected := fmt.Sprintf("%s: %s", out.Expectation, metWord(out))
	if out.Undocumented() {
		expected = fmt.Sprintf("nothing: no documentation says what %s does; a suite can say what you expect of it",
			out.Plan.Variant)
	}
	fmt.Fprint(a.out, l.Fold("expected  ", expected))
	a.println("seed      %d", out.Plan.Seed)
	if path := out.ReportPath(); path != "" {
		a.println("again     %s", out.Command())
		a.println("report    %s", path)
	}
	return nil
}

func metWord(out results.Outcome) string {
	whose := "its documentation"
	if !out.Plan.Expect.IsZero() {
		whose = "its plan"
	}
	switch {
	case out.Undocumented():
		return "not documented"
	case out.Met:
		return "as " + whose + " says"
	case out.Report.Judged.Verdict == harness.Unknown:
		return "undecided by this run" + afterUnplanned(out)
	}
	return "NOT as " + whose + " says" + afterUnplanned(out)
}

// afterUnplanned says that a run had a failover that no fault caused; empty: no such failover happened.
func afterUnplanned(out results.Outcome) string {
	if out.Report.Unplanned() == "" {
		return ""
	}
	return ", in a run with a failover that no fault caused"
}

func (a *app) println(format string, args ...any) { fmt.Fprintf(a.out, format+"\n", args...) }

// printJSON prints a document, which begins with a reports.Head.
func (a *app) printJSON(document interface{ DocumentKind() reports.Kind }) error {
	return reports.WriteJSON(a.out, document)
}

// exactArgs accepts n arguments and refuses any other number. In the error, the parameter what describes the n
// arguments.
func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return usage("%s given: want %s", units.Plural(int64(len(args)), "argument", "arguments"), what)
		}
		return nil
	}
}

func rounded(d time.Duration) time.Duration {
	switch {
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	case d > time.Millisecond:
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Microsecond)
}
