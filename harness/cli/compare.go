package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/texttable"
	"github.com/doublegrant/doublegrant/harness/units"
	"github.com/doublegrant/doublegrant/reports"
	"github.com/doublegrant/doublegrant/workloads"
)

type compareFlags struct {
	planFlags
	regimes    []string      // regimes to compare, each in a row of its own
	exploreFor time.Duration // time limit of each row's search; 0: no search
}

func (f *compareFlags) add(cmd *cobra.Command) {
	f.planFlags.add(cmd)
	cmd.Flags().DurationVar(&f.exploreFor, "explore-for", plan.DefaultFor,
		"how long the explorer may search for each row; 0: no search")
	cmd.Flags().StringSliceVar(&f.regimes, "regime", nil,
		"what callers of sequences propose; each regime named gets a row (default: all regimes in one row)")
}

func (a *app) compareCommand() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare VARIANT VARIANT...",
		Short: "run several variants under the same conditions and compare them in one table",
		Long: `Runs several variants under the same conditions and compares them in one table.

Exit code 0: every variant behaved as documented, flaws included; 1: one did not, or nothing could be told of it; 2: it
was interrupted; 3: the harness or its environment failed. Your own script or adapter has no documented flaws, and
counts as documented.`,
		Example: "  doublegrant compare sequence/string-compare-hash sequence/numeric-compare-hash " +
			"sequence/digits-compare \\\n" +
			"      --regime fixed,timestamp17 --duration 2s\n" +
			"  doublegrant compare lock/set-nx-px lock/set-nx-px-wait --nemesis split-brain --min-replicas 1\n" +
			"  doublegrant compare --plan bare.yaml --plan guarded.yaml lock/set-nx-px lock/set-nx-px-wait",
		RunE: func(cmd *cobra.Command, args []string) error { return a.compare(cmd, &f, args) },
	}
	f.add(cmd)
	a.place.add(cmd)
	return a.groupFlags(cmd, ofPlans)
}

// cases lists the runs to compare: every variant of the command line under every plan. With --regime there is one plan
// for each regime. Without a variant on the command line, each plan runs the one in its file.
func (a *app) cases(cmd *cobra.Command, f *compareFlags, args []string) ([]plan.Case, error) {
	plans, err := f.plans(cmd)
	if err != nil {
		return nil, err
	}
	if len(f.files) == 0 && len(f.regimes) > 0 {
		plans = underEach(plans[0], f.regimes)
	}
	variants, err := a.variants(cmd, &f.variant, args)
	if err != nil {
		return nil, err
	}
	if len(variants) == 0 && len(f.files) == 0 {
		return nil, usage("no variant given: doublegrant list shows them all")
	}
	var out []plan.Case
	for _, p := range plans {
		if len(variants) == 0 {
			out = append(out, plan.Case{Title: p.Variant, Plan: p})
		}
		for _, v := range variants {
			// the plan's own expectation is for another variant
			p.Variant, p.Script, p.Adapter, p.Expect = v.id, v.script, v.adapter, plan.Expected{}
			out = append(out, plan.Case{Title: v.id, Plan: p})
		}
	}
	if len(out) == 1 {
		return nil, usage("only %s under one condition: give two or more variants, plans or regimes to compare, or "+
			"use doublegrant run", out[0].Title)
	}
	return out, oneFamily(out)
}

// underEach returns a copy of p for each regime.
func underEach(p plan.Plan, regimes []string) (out []plan.Plan) {
	for _, p.Regime = range regimes {
		out = append(out, p)
	}
	return out
}

// oneFamily refuses variants of different families, such as a lock and a sequence, since their figures cannot be
// compared.
func oneFamily(cases []plan.Case) error {
	var first workloads.Variant
	for i, c := range cases {
		v, err := c.Plan.Workload()
		if err != nil {
			return err
		}
		if i == 0 {
			first = v
		}
		if v.Family != first.Family {
			return usage("%s is a %s and %s is a %s: compare variants of one family", first.ID,
				first.Family, v.ID, v.Family)
		}
	}
	return nil
}

// compare runs variants and prints a table of them. The exit code is 0 if all behaved as documented.
func (a *app) compare(cmd *cobra.Command, f *compareFlags, args []string) error {
	ctx := cmd.Context()
	cases, err := a.cases(cmd, f, args)
	if err != nil {
		return err
	}
	var plans []plan.Plan
	for _, c := range cases {
		plans = append(plans, c.Plan)
	}
	if err := a.readExternal(cmd, &f.external, plans...); err != nil {
		return err
	}
	for _, p := range plans { // refuse all before running one
		if err := p.Check(); err != nil {
			return err
		}
	}
	length := lengthOf(cases)
	if f.exploreFor > 0 {
		length += time.Duration(len(cases)) * perSearch
	}
	stop := a.startBar(length, "about")
	rows, err := a.runAll(ctx, cases)
	var brokenLines []string
	if err == nil && f.exploreFor > 0 {
		brokenLines, err = a.askExplorer(ctx, cases, rows, f.exploreFor)
	}
	stop()
	if len(rows) == 0 {
		return err
	}
	ranking := reports.Rank(rows)
	page, pageErr := a.writeComparison(ranking)
	err = errors.Join(err, pageErr,
		a.tellOfRows(rows, func(w io.Writer) error { return reports.ComparisonMarkdown(w, ranking) }))
	if a.json {
		all := reports.ComparisonOf(ranking.Rows)
		all.Answer, all.Reason = ranking.Answer, ranking.Sentence
		return errors.Join(err, a.printJSON(all))
	}
	err = errors.Join(err, reports.ComparisonText(a.out, ranking, a.layout()))
	a.println("")
	err = errors.Join(err, a.table(rows))
	for _, line := range brokenLines {
		a.println("%s", line)
	}
	a.println("\ncomparison: %s", page)
	return err
}

// writeComparison writes a page with links to the reports of the rows. It makes a folder for the page beside the
// folders of these reports.
func (a *app) writeComparison(c reports.Ranking) (path string, err error) {
	dir, err := results.NewFolder(a.place.results, "compare")
	if err != nil {
		return "", err
	}
	c.Rows = slices.Clone(c.Rows)
	for i := range c.Rows {
		c.Rows[i].Link = "../" + c.Rows[i].Link
	}
	return filepath.Join(dir, reports.IndexFile), reports.WriteComparison(dir, c)
}

// lengthOf estimates how long the cases take, one after the other.
func lengthOf(cases []plan.Case) (total time.Duration) {
	for _, c := range cases {
		one, _ := c.Plan.Estimate() // runAll reports errors of the plan
		total += one
	}
	return total
}

// runAll runs cases one after the other. At the first error it stops, and returns the error with the rows before it.
func (a *app) runAll(ctx context.Context, cases []plan.Case) (rows []reports.Row, err error) {
	for i, c := range cases {
		fmt.Fprintf(a.err, "[%d/%d] %s\n", i+1, len(cases), c.Title)
		length, _ := c.Plan.Estimate()
		a.err.beginStage(length)
		progress := a.newProgress()
		o := a.options()
		o.Progress, o.OnViolation = progress.show, progress.found
		out, row, err := a.runCase(ctx, c, o)
		if err != nil {
			return rows, err
		}
		fmt.Fprintf(a.err, "      %s, %s\n", describeResult(out), metWord(out))
		rows = append(rows, row)
	}
	return rows, nil
}

var errInterrupted = errors.New("interrupted")

// orInterrupted returns err. If err is nil and ctx has ended, it returns errInterrupted instead, since an interrupted
// run must not become a row of a table.
func orInterrupted(ctx context.Context, err error) error {
	if err == nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

func (a *app) table(rows []reports.Row) error {
	var t texttable.Table
	explored := slices.ContainsFunc(rows, func(r reports.Row) bool { return r.Explorer != "" })
	add := func(explorer string, cells ...string) { // the explorer's column comes before the last four
		if explored {
			cells = slices.Insert(cells, len(cells)-4, explorer)
		}
		t.Add(cells...)
	}
	add("EXPLORER", "VARIANT", "UNDER", "VERDICT", "FOUND", "AS DOCUMENTED", "OPS/S", "P50", "P99")
	for _, r := range rows {
		add(orDash(r.Explorer), r.Variant, orDash(r.Regime), r.Verdict.String(), orDash(r.Found), asDocumented(r),
			units.Whole(r.Rate), rounded(r.P50).String(), rounded(r.P99).String())
	}
	if err := a.write(&t); err != nil {
		return err
	}
	a.println("")
	for _, r := range rows {
		if r.First != "" {
			a.println("%s: %s", strings.TrimSuffix(r.Variant+", "+r.Regime, ", "), r.First)
		}
		if r.Link != "" {
			a.println("%s: report %s", strings.TrimSuffix(r.Variant+", "+r.Regime, ", "),
				filepath.Join(a.place.results, r.Link))
		}
	}
	return nil
}

// describeResult summarizes the result of a run.
func describeResult(out results.Outcome) string {
	if found := out.Report.ViolationCounts(); found != "" {
		return "broken: " + found
	}
	return strings.TrimSuffix(out.Report.Sentence(), ".")
}

func orDash(s string) string { return cmp.Or(s, "-") }

// asDocumented returns the cell that says whether the result is as documented. The cell is "-" for the user's own
// algorithm, which has no documentation.
func asDocumented(r reports.Row) string {
	switch {
	case r.Expected == "":
		return "-"
	case r.Contradicted:
		return metCell(false, harness.Invalid)
	case r.Undecided:
		return metCell(false, harness.Unknown)
	}
	return metCell(r.Met, r.Verdict)
}

// metCell returns the cell that says whether a result is as documented: "yes" if the parameter met is true. Otherwise
// the cell is "cannot tell" if the verdict is unknown, and "NO" for any other verdict.
func metCell(met bool, v harness.Verdict) string {
	switch {
	case met:
		return "yes"
	case v == harness.Unknown:
		return "cannot tell"
	}
	return "NO"
}

// writeIndex writes a page with links to the reports of all rows, and returns its path.
func (a *app) writeIndex(rows []reports.Row) (path string, err error) {
	path = filepath.Join(a.place.results, reports.IndexFile)
	return path, reports.WriteFile(path, func(w io.Writer) error { return reports.Index(w, rows) })
}
