package reports

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/tally"
)

// This file writes what GitHub Actions shows of a job: annotations, which are lines of its log in a form of their own
// ("workflow commands" in its documentation), and a step's summary, a Markdown file that GITHUB_STEP_SUMMARY names.

const (
	maxAnnotations = 10        // the largest number of annotations; GitHub shows that many errors of a step
	maxSummary     = 1_000_000 // the largest summary of a step in bytes; GitHub takes 1 MiB, and drops a larger one
)

// AnnotateRows writes an annotation for each of the first runs or searches that did not pass, at most maxAnnotations.
// An annotation is an error, or a warning if the verdict is unknown.
func AnnotateRows(w io.Writer, rows []Row) error {
	n := 0
	for _, r := range rows {
		if r.passed() || n == maxAnnotations {
			continue
		}
		n++
		if err := annotate(w, r.Verdict == harness.Unknown, r.Name, junitCaseOf(r).problem()); err != nil {
			return err
		}
	}
	return nil
}

// AnnotateSuite writes an annotation for each of the first runs of a suite that did not end as expected, at most
// maxAnnotations. An annotation is an error, or a warning if the verdict is unknown.
func AnnotateSuite(w io.Writer, s tally.Suite) error {
	failures, _ := s.Failures(maxAnnotations)
	for _, r := range failures {
		text := r.Why
		if r.Steps != "" {
			text += "\n\n" + r.Steps
		}
		if r.Command != "" {
			text += "\nrun it again: " + r.Command
		}
		if err := annotate(w, r.Ending == tally.Undecided, s.Name+": "+r.Name, text); err != nil {
			return err
		}
	}
	return nil
}

func annotate(w io.Writer, warning bool, title, text string) error {
	level := "error"
	if warning {
		level = "warning"
	}
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	_, err := fmt.Fprintf(w, "::%s title=%s::%s\n", level, property.Replace("doublegrant: "+title), data.Replace(text))
	return err
}

// AppendStepSummary appends a summary in Markdown to the file at path, as long as the file stays small enough for
// GitHub. A summary that does not fit is cut at a line's end, and says that it was cut.
func AppendStepSummary(path string, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("reports: step summary: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		_, err = f.Write(fitted(text.Bytes(), maxSummary-info.Size()))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("reports: step summary: %w", err)
	}
	return nil
}

// fitted returns the text, cut to at most n bytes.
func fitted(text []byte, n int64) []byte {
	const more = "\n\nThis summary is cut: its results folder has the whole.\n"
	if int64(len(text)) <= n {
		return text
	}
	n -= int64(len(more))
	if n <= 0 {
		return nil
	}
	return append(text[:bytes.LastIndexByte(text[:n], '\n')+1:n], more...)
}
