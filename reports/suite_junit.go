package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/harness/units"
)

// SuiteJUnit writes a suite for CI, with a test case for each case of the suite. A test case fails if a run was not as
// expected. It is an error if a verdict is unknown or the environment failed. It is skipped if it did not run.
func SuiteJUnit(w io.Writer, s tally.Suite) error {
	var cases []junitCase
	for _, c := range s.Cases {
		cases = append(cases, junitOf(s, c))
	}
	return writeJUnit(w, s.Name, s.Started, s.Elapsed, cases)
}

func junitOf(s tally.Suite, c tally.Case) junitCase {
	one := junitCase{Name: c.Name, Class: "doublegrant." + s.Name, Time: seconds(c.Elapsed), Out: caseNumbers(c)}
	first := c.First()
	problem := &junitProblem{Message: first.Why, Type: c.Ending().String(), Text: failuresText(c)}
	switch c.Ending() {
	case tally.Met:
	case tally.NotMet:
		problem.Message = fmt.Sprintf("expected %s: %s", c.Expected, first.Why)
		one.Failure = problem
	case tally.NotRun:
		one.Skipped = &junitProblem{Message: s.Ended, Type: tally.NotRun.String(), Text: s.Ended}
	default:
		one.Error = problem
	}
	return one
}

// caseNumbers returns the numbers of a case in one line.
func caseNumbers(c tally.Case) string {
	sums := fmt.Sprintf("%s as expected", units.Count(int64(c.Met)))
	if c.Runs != c.Met {
		sums += fmt.Sprintf(", %s not, %s unknown, %s failed", units.Count(int64(c.NotMet)),
			units.Count(int64(c.Unknown)), units.Count(int64(c.Failed)))
	}
	last := strings.TrimSuffix(fmt.Sprintf("%s, %s", c.Last.Verdict, c.Last.Found), ", ")
	runs := units.Plural(int64(c.Runs), "run", "runs")
	return fmt.Sprintf("%s: %s; last %s; expected %s", runs, sums, last, c.Expected)
}

// failuresText lists a case's failures with the commands that repeat them.
func failuresText(c tally.Case) string {
	var b strings.Builder
	for _, r := range c.Failures {
		fmt.Fprintf(&b, "%s: %s\n", r.Ending, runHeadline(r))
		if r.Steps != "" {
			fmt.Fprintf(&b, "\n%s\n", r.Steps)
		}
		if r.Command != "" {
			fmt.Fprintf(&b, "run it again: %s\n", r.Command)
		}
		if r.Link != "" {
			fmt.Fprintf(&b, "report: %s\n", r.Link)
		}
	}
	return b.String()
}
