package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/texttable"
	"github.com/doublegrant/doublegrant/harness/units"
	"github.com/doublegrant/doublegrant/reports"
)

// exploreAll makes several searches and prints a table. The exit code is 0 if all found what is documented.
func (a *app) exploreAll(ctx context.Context, searches []plan.Search) error {
	for _, err := range plan.Missing() {
		fmt.Fprintf(a.err, "left out: %s\n", message(err))
	}
	for _, s := range searches { // refuse all before making one
		if err := s.Check(); err != nil {
			return err
		}
	}
	stop := a.startBar(time.Duration(len(searches))*perSearch, "about")
	outs, err := a.searchAll(ctx, searches)
	stop()
	if len(outs) == 0 {
		return err
	}
	var rows []reports.Row
	for _, out := range outs {
		rows = append(rows, searchRow(out))
	}
	if _, indexErr := a.writeIndex(rows); indexErr != nil {
		return errors.Join(err, indexErr)
	}
	err = errors.Join(err, a.tellOfComparison(rows))
	if a.json {
		return errors.Join(err, a.printJSON(reports.ComparisonOf(rows)))
	}
	if err := a.searchTable(outs); err != nil {
		return err
	}
	if len(outs) < len(searches) {
		a.println("%d of %d searches were not made, or ended early", len(searches)-len(outs), len(searches))
	}
	return err
}

// searchAll makes several searches, one after the other. At the first error it stops, and returns the error with the
// outcomes before it.
func (a *app) searchAll(ctx context.Context, searches []plan.Search) (outs []results.SearchOutcome, err error) {
	for i, s := range searches {
		fmt.Fprintf(a.err, "[%d/%d] %s\n", i+1, len(searches), strings.TrimSuffix(s.Variant+", "+s.Conditions(), ", "))
		a.err.beginStage(perSearch)
		out, err := a.search(ctx, s)
		if err != nil {
			return outs, err
		}
		outs = append(outs, out)
	}
	return outs, nil
}

// searchRow returns the row of a search for a table. The row names the conditions, since one variant may be searched
// under several conditions.
func searchRow(out results.SearchOutcome) reports.Row {
	row := out.Exploration.Row(filepath.Join(filepath.Base(out.Dir), reports.ReportFile))
	row.Regime = strings.TrimSuffix("every interleaving, "+out.Search.Conditions(), ", ")
	return row
}

// search makes one of several searches. The exit code becomes 1 if the result is not as documented.
func (a *app) search(ctx context.Context, s plan.Search) (results.SearchOutcome, error) {
	out, err := results.Explore(ctx, s, a.options())
	if err = orInterrupted(ctx, err); err != nil {
		return out, fmt.Errorf("explore %s: %w", s.Variant, err)
	}
	if !out.Exploration.Met && !s.IsCustom() { // a user's algorithm has no documentation
		a.code = ExitInvalid
	}
	return out, nil
}

func (a *app) searchTable(outs []results.SearchOutcome) error {
	var t texttable.Table
	t.Add("VARIANT", "UNDER", "VERDICT", "STEPS TO EACH", "AS DOCUMENTED", "SCHEDULES", "PRUNED", "FIRST", "TIME")
	var total time.Duration
	schedules := 0
	for _, out := range outs {
		e, r := out.Exploration, out.Exploration.Result
		t.Add(e.Variant, orDash(out.Search.Conditions()), e.Verdict().String(), orDash(classSteps(e)),
			metCell(e.Met, e.Verdict()),
			units.Count(int64(r.Schedules)), units.Count(int64(r.Pruned)), orDash(untilFirst(r)),
			rounded(r.Elapsed).String())
		total, schedules = total+r.Elapsed, schedules+r.Schedules+r.Pruned
	}
	if err := a.write(&t); err != nil {
		return err
	}
	a.println("\n%d searches, %s schedules in %v", len(outs), units.Count(int64(schedules)), rounded(total))
	return nil
}

// untilFirst returns the time to the first counterexample; empty if there is none.
func untilFirst(r interleave.Result) string {
	if len(r.Counterexamples) == 0 {
		return ""
	}
	return rounded(r.First).String()
}

// classSteps lists the classes of a search's counterexamples with their numbers of steps.
func classSteps(e reports.Exploration) string {
	var all []string
	for _, c := range e.Result.Counterexamples {
		all = append(all, fmt.Sprintf("%s %d", c.Anomaly.Class, c.Length()))
	}
	return strings.Join(all, ", ")
}
