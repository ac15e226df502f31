package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/units"
	"github.com/doublegrant/doublegrant/reports"
)

func (a *app) demoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "a tour in about 90 seconds: naive variants caught, scripts compared, a failover reported",
		Args:  exactArgs(0, "none"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context()) },
	}
	a.place.add(cmd)
	return cmd
}

func (a *app) demo(ctx context.Context) error {
	began := time.Now()
	stop := a.startBar(time.Duration(len(plan.DemoSearches()))*perSearch+lengthOf(plan.Demo()), "about")
	defer stop()
	searches, searched, err := a.searchAll(ctx, plan.DemoSearches())
	if err != nil {
		return err
	}
	rows, outs, err := a.runAll(ctx, plan.Demo())
	stop()
	if err != nil {
		if a.json && len(rows) > 0 {
			return errors.Join(err, a.printJSON(reports.ComparisonOf(rows)))
		}
		return err
	}
	all := append(searched, rows...)
	index, err := a.writeIndex(all)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(reports.ComparisonOf(all))
	}
	a.println("Every interleaving of three clients, with a crash and an expiry, or a failover:\n")
	if err := a.searchTable(searches); err != nil {
		return err
	}
	a.println("\nThousands of operations on a real cluster:\n")
	if err := a.table(rows); err != nil {
		return err
	}
	a.println("")
	a.println("What was found, in %v:", time.Since(began).Round(time.Second))
	cases := plan.Demo()
	for i, out := range outs {
		a.println("  %s%s", caseLine(cases[i].Title, describeResult(out)), onlyExplored(out, searches))
	}
	for _, out := range outs {
		for _, f := range out.Report.Failovers {
			a.println("  failover in %s: %s", filepath.Base(out.Dir), f)
		}
	}
	a.println("")
	a.println("%s", demoEnding(outs, searches))
	a.println("All reports: %s", index)
	return nil
}

// demoEnding returns the last sentence of the tour. Runs on a slow or busy machine may be undecided, which the sentence
// does not blame on the variants.
func demoEnding(outs []results.Outcome, searches []results.Searched) string {
	wrong, unclear := 0, 0
	count := func(met bool, v harness.Verdict) {
		switch {
		case met:
		case v == harness.Unknown:
			unclear++
		default:
			wrong++
		}
	}
	for _, out := range outs {
		count(out.Met, out.Report.Judged.Verdict)
	}
	for _, s := range searches {
		count(s.Exploration.Met, s.Exploration.Verdict())
	}
	switch {
	case wrong > 0:
		return "NOT every variant did what its documentation says: see the column AS DOCUMENTED."
	case unclear > 0:
		return fmt.Sprintf("Of %s nothing can be said: the machine may be too slow or too busy, and each run above "+
			"says what it lacked. "+
			"The others did what their documentation says.", units.Plural(int64(unclear), "run", "runs"))
	}
	return "Every variant did what its documentation says."
}

// caseLine returns the line of one case: its title, which may contain a colon, and its result.
func caseLine(title, result string) string {
	return title + " -> " + strings.ToLower(result[:1]) + result[1:]
}

// onlyExplored returns what the explorer found in a variant whose load found nothing.
func onlyExplored(out results.Outcome, searches []results.Searched) string {
	if out.Report.Judged.Verdict != harness.Valid || len(out.Plan.Nemesis) > 0 {
		return ""
	}
	for _, s := range searches {
		e := s.Exploration
		if e.Variant == out.Plan.Variant && s.Search.Regime == out.Plan.Regime && e.Verdict() == harness.Invalid &&
			s.Search.Failovers == 0 {
			return "; this load did not meet what breaks it: the explorer did, in " + e.Brief()
		}
	}
	return ""
}
