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

// tellOfRows makes GitHub Actions show runs or searches: an annotation for each one that did not pass, and the Markdown
// that summary writes. Outside of GitHub Actions it does nothing; see tell.
func (a *app) tellOfRows(rows []reports.Row, summary func(io.Writer) error) error {
	return a.tell(func(w io.Writer) error { return reports.AnnotateRows(w, rows) }, summary)
}

// tellOfRun makes GitHub Actions show the result of one run; see tell.
func (a *app) tellOfRun(r reports.Report) error {
	return a.tellOfRows([]reports.Row{reports.RowOf(r, "")}, func(w io.Writer) error { return reports.Summary(w, r) })
}

// tellOfComparison makes GitHub Actions show several runs or searches in one table; see tell.
func (a *app) tellOfComparison(rows []reports.Row) error {
	return a.tellOfRows(rows, func(w io.Writer) error { return reports.CompareMarkdown(w, rows) })
}

// tellOfRegimes makes GitHub Actions show searches of one variant under several regimes; see tell.
func (a *app) tellOfRegimes(outs []results.SearchOutcome) error {
	var rows []reports.Row
	for _, out := range outs {
		rows = append(rows, out.Exploration.Row(""))
	}
	return a.tellOfComparison(rows)
}

// tellOfSuite makes GitHub Actions show the result of a suite: an annotation for each run that was not as expected, and
// a summary; see tell.
func (a *app) tellOfSuite(s tally.Suite) error {
	return a.tell(func(w io.Writer) error { return reports.AnnotateSuite(w, s) },
		func(w io.Writer) error { return reports.SuiteSummary(w, s) })
}

// tell writes annotations to standard error, where GitHub Actions finds them. It appends the summary to the file that
// GitHub Actions names for that. Outside of GitHub Actions tell does nothing.
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
