package reports

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Names of the files of reports. They determine the kind of a folder (results.KindOf).
const (
	VerdictFile      = "verdict.json"      // verdict of a run or a search
	ReportFile       = "report.html"       // report of a run, a search or a reproduction
	JUnitFile        = "junit.xml"         // results of a run, a search or a suite for CI
	SummaryFile      = "summary.md"        // summary of a run, a search, a suite or a reproduction
	SuiteFile        = "suite.json"        // results of a suite
	IndexFile        = "index.html"        // page of a suite, or of several results folders
	ReproductionFile = "reproduction.json" // results of a reproduction
)

// Format is one file of a report. R is what the report is about, such as a Report or an Exploration.
type Format[R any] struct {
	File  string
	Write func(io.Writer, R) error
}

// Formats lists every file of a report.
func Formats() []Format[Report] {
	return []Format[Report]{
		{VerdictFile, JSON},
		{ReportFile, HTML},
		{JUnitFile, func(w io.Writer, r Report) error { return JUnit(w, r.Name, []Row{RowOf(r, ReportFile)}) }},
		{SummaryFile, Summary},
	}
}

// ExplorationFormats lists every file of a search. Their names are those of a run's files.
func ExplorationFormats() []Format[Exploration] {
	return []Format[Exploration]{
		{VerdictFile, ExplorationJSON},
		{ReportFile, ExplorationHTML},
		{JUnitFile, func(w io.Writer, e Exploration) error { return JUnit(w, e.title(), []Row{e.Row(ReportFile)}) }},
		{SummaryFile, ExplorationSummary},
	}
}

// Write writes every format into dir, which it makes if necessary. Each file appears complete or not at all. If a
// format fails, the others are still written.
func Write(dir string, r Report) error { return writeAll(dir, Formats(), r) }

// WriteExploration writes every format of a search into dir, as Write does for a run.
func WriteExploration(dir string, e Exploration) error { return writeAll(dir, ExplorationFormats(), e) }

func writeAll[R any](dir string, formats []Format[R], r R) error {
	var failed []error
	for _, f := range formats {
		failed = append(failed, WriteFile(filepath.Join(dir, f.File), func(w io.Writer) error { return f.Write(w, r) }))
	}
	return errors.Join(failed...)
}

// writeText writes a complete text. The parameter what is the name of the text in errors.
func writeText(w io.Writer, what, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("reports: write %s: %w", what, err)
	}
	return nil
}

// WriteFile writes a file that appears complete or not at all. It makes the folder of path if necessary, writes to a
// temporary file in that folder, and renames the temporary file to path.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".*-"+filepath.Base(path))
	if err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return fmt.Errorf("reports: write %s: %w", filepath.Base(path), err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	return nil
}
