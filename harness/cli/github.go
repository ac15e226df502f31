package cli

import (
	"errors"
	"io"
	"os"

	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/reports"
)

// This file tells GitHub Actions about results, where it runs a command.

// tellOfRows tells GitHub Actions about runs or searches. summary writes them as Markdown.
func (a *app) tellOfRows(rows []reports.Row, summary func(io.Writer) error) error {
	return a.tell(func(w io.Writer) error { return reports.AnnotateRows(w, rows) }, summary)
}

// tellOfRun tells GitHub Actions about one run.
func (a *app) tellOfRun(r reports.Report) error {
	return a.tellOfRows([]reports.Row{reports.RowOf(r, "")}, func(w io.Writer) error { return reports.Summary(w, r) })
}

// tellOfComparison tells GitHub Actions about runs or searches that have one table.
func (a *app) tellOfComparison(rows []reports.Row) error {
	return a.tellOfRows(rows, func(w io.Writer) error { return reports.CompareMarkdown(w, rows) })
}

// tellOfRegimes tells GitHub Actions about searches under several regimes.
func (a *app) tellOfRegimes(outs []results.SearchOutcome) error {
	var rows []reports.Row
	for _, out := range outs {
		rows = append(rows, out.Exploration.Row(""))
	}
	return a.tellOfComparison(rows)
}

// tellOfSuite tells GitHub Actions about a suite.
func (a *app) tellOfSuite(s tally.Suite) error {
	return a.tell(func(w io.Writer) error { return reports.AnnotateSuite(w, s) },
		func(w io.Writer) error { return reports.SuiteSummary(w, s) })
}

// tell writes annotations to standard error, where GitHub Actions finds them, and a summary to the file that GitHub
// Actions names. Outside of GitHub Actions it does nothing.
func (a *app) tell(annotations, summary func(io.Writer) error) error {
	if os.Getenv("GITHUB_ACTIONS") != "true" {
		return nil
	}
	err := annotations(a.err)
	if path := os.Getenv("GITHUB_STEP_SUMMARY"); path != "" {
		err = errors.Join(err, reports.AppendStepSummary(path, summary))
	}
	return err
}
