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
	"github.com/doublegrant/doublegrant/reports"
)

func (a *app) demoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "a tour in about 80 seconds: a race step by step, naive and right side by side, failovers",
		Args:  exactArgs(0, "none"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context()) },
	}
	a.place.add(cmd)
	return cmd
}

// scene is one search or run of the tour, with its result.
type scene struct {
	plan.Scene
	searched *reports.Exploration // result of a search; nil: the scene is a run
	ran      reports.Report
	first    time.Duration // when the first violation was seen; 0: none was seen
	row      reports.Row
}

func (a *app) demo(ctx context.Context) error {
	began := time.Now()
	tour := plan.Demo()
	scenes, err := a.playAll(ctx, tour.Scenes())
	var rows []reports.Row
	for _, s := range scenes {
		rows = append(rows, s.row)
	}
	if err != nil {
		if a.json && len(rows) > 0 {
			return errors.Join(err, a.printJSON(reports.ComparisonOf(rows)))
		}
		return err
	}
	index, err := a.writeIndex(rows)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(reports.ComparisonOf(rows))
	}
	pairs, numbers := len(tour.Pairs), len(tour.Pairs)+len(tour.Numbers)
	a.println("%s", story{scenes[:pairs], scenes[pairs:numbers], scenes[numbers:]})
	a.println("%s", wrap(demoEnding(scenes)))
	a.println("It took %v. Reports: %s", time.Since(began).Round(time.Second), index)
	return nil
}

// playAll plays scenes one after the other, with a line of progress for each. At the first error it stops, and returns
// the error with the scenes that were played before.
func (a *app) playAll(ctx context.Context, all []plan.Scene) (played []scene, err error) {
	var total time.Duration
	for _, s := range all {
		total += s.Takes()
	}
	stop := a.startBar(total, "about")
	defer stop()
	for i, s := range all {
		a.err.beginStage(s.Takes())
		a.err.say(s.Title)
		now, err := a.play(ctx, s)
		if err != nil {
			return played, err
		}
		fmt.Fprintf(a.err, "[%2d/%d] %-32s %s\n", i+1, len(all), s.Title, now.brief())
		played = append(played, now)
	}
	return played, nil
}

// play makes the search or the run of a scene.
func (a *app) play(ctx context.Context, s plan.Scene) (scene, error) {
	now := scene{Scene: s}
	if s.Search.Variant != "" {
		out, err := a.search(ctx, s.Search)
		now.searched, now.row = &out.Exploration, searchRow(out)
		return now, err
	}
	o := a.options()
	o.OnViolation = func(_ harness.Anomaly, at time.Duration) {
		if now.first == 0 {
			now.first = at
		}
	}
	out, row, err := a.runCase(ctx, plan.Case{Title: s.Title, Plan: s.Plan}, o)
	now.ran, now.row = out.Report, row
	return now, err
}

// runCase makes one of several runs, and returns its outcome and its row for a table. The exit code becomes 1 if a
// variant of the catalogue did not do what is documented.
func (a *app) runCase(ctx context.Context, c plan.Case, o results.Options) (results.Outcome, reports.Row, error) {
	out, err := results.Execute(ctx, c.Plan, o)
	if err = orInterrupted(ctx, err); err != nil {
		return out, reports.Row{}, keptIn(out.Dir, fmt.Errorf("%s: %w", c.Title, err))
	}
	if !out.Met && !out.Undocumented() {
		a.code = ExitInvalid
	}
	row := reports.RowOf(out.Report, filepath.Join(filepath.Base(out.Dir), filepath.Base(out.ReportPath())))
	row.Name = row.Variant
	row.Regime = strings.Trim(row.Regime+", "+out.Plan.Conditions(), ", ")
	row.Mechanism = mechanism(c.Plan, out.Report.Judged.Anomalies)
	return out, row, nil
}

// demoEnding returns the last sentence of the tour: whether everything was as documented. It blames an undecided run on
// the machine, which may be slow or busy, and not on the variant.
func demoEnding(scenes []scene) string {
	var wrong, unclear []string
	for _, s := range scenes {
		switch {
		case s.row.Met:
		case s.row.Verdict == harness.Unknown:
			unclear = append(unclear, s.Title)
		default:
			wrong = append(wrong, s.Title)
		}
	}
	switch {
	case len(wrong) > 0:
		return "NOT as documented: " + strings.Join(wrong, "; ") + "."
	case len(unclear) > 0:
		return "Nothing can be said of: " + strings.Join(unclear, "; ") +
			". The machine may be too slow or too busy; the reports say what was lacking."
	}
	return "Everything is as documented."
}
