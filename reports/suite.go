package reports

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness/suite/tally"
	"github.com/doublegrant/doublegrant/harness/units"
)

// WriteSuite writes index.html, suite.json, junit.xml and summary.md into dir, as Write does for a run.
func WriteSuite(dir string, s tally.Suite) error {
	var failed []error
	for _, f := range []struct {
		name  string
		write func(io.Writer, tally.Suite) error
	}{{"suite.json", SuiteJSON}, {"index.html", SuiteHTML}, {"junit.xml", SuiteJUnit}, {"summary.md", SuiteSummary}} {
		failed = append(failed, WriteFile(filepath.Join(dir, f.name), func(w io.Writer) error { return f.write(w, s) }))
	}
	return errors.Join(failed...)
}

// SuiteJSON writes a suite for programs. Times are in nanoseconds, memory in bytes.
func SuiteJSON(w io.Writer, s tally.Suite) error {
	s.Cases = slices.Clone(list(s.Cases))
	s.Memory.Load.All, s.Memory.Runs.All = list(s.Memory.Load.All), list(s.Memory.Runs.All)
	for i := range s.Cases {
		s.Cases[i].Failures = list(s.Cases[i].Failures)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		return fmt.Errorf("reports: write json: %w", err)
	}
	return nil
}

// SuiteSentence returns the suite's result in one sentence.
func SuiteSentence(s tally.Suite) string {
	t := s.Total()
	words := units.Count(int64(t.Met)) + " of " + units.Plural(int64(t.Runs), "run", "runs") + " ended as expected"
	var others []string
	for _, other := range []struct {
		n    int
		what string
	}{{t.NotMet, "not"}, {t.Unknown, "unknown"}, {t.Failed, "failed for want of something"}, {s.Missing(), "not run"}} {
		if other.n > 0 {
			others = append(others, units.Count(int64(other.n))+" "+other.what)
		}
	}
	if len(others) > 0 {
		words += ", " + units.And(others)
	}
	return words + ", in " + units.Duration(s.Elapsed.Round(time.Second)) + "."
}

// suiteWord returns the suite's ending for a headline.
func suiteWord(s tally.Suite) string {
	if s.Ended != "" && s.Ending() == tally.NotRun {
		return "ended early"
	}
	return map[tally.Ending]string{
		tally.NotRun: "not run", tally.Met: "passed", tally.Unsaid: "unknown", tally.Failed: "not carried out", tally.NotMet: "failed",
	}[s.Ending()]
}

// caseExpected is the expectation without what only matters where it is broken.
func caseExpected(c tally.Case) string { return cmp.Or(c.Expected, noMedian) }
