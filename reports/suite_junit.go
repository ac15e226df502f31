package reports

import (
	"fmt"
	"io"
	"strings"
)

// SuiteJUnit writes a suite for CI, each case a test case: a failure if a run was not as expected, an error if nothing can
// be said or its environment failed, skipped if it did not run.
func SuiteJUnit(w io.Writer, s Suite) error {
	suite := junitSuite{Name: s.Name, Tests: len(s.Cases), Time: seconds(s.Elapsed)}
	if !s.Started.IsZero() {
		suite.Timestamp = s.Started.UTC().Format("2006-01-02T15:04:05")
	}
	for _, c := range s.Cases {
		one := s.junitCase(c)
		switch {
		case one.Failure != nil:
			suite.Failures++
		case one.Error != nil:
			suite.Errors++
		case one.Skipped != nil:
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, one)
	}
	return writeXML(w, junitSuites{Suites: []junitSuite{suite}})
}

func (s Suite) junitCase(c SuiteCase) junitCase {
	one := junitCase{Name: c.Name, Class: "doublegrant." + s.Name, Time: seconds(c.Elapsed), Out: c.sums()}
	first := c.first()
	problem := &junitProblem{Message: first.Why, Type: c.Ending().String(), Text: c.story()}
	switch c.Ending() {
	case Met:
	case NotMet:
		problem.Message = fmt.Sprintf("expected %s: %s", c.Expected, first.Why)
		one.Failure = problem
	case NotRun:
		one.Skipped = &junitProblem{Message: s.Ended, Type: NotRun.String()}
	default:
		one.Error = problem
	}
	return one
}

// sums are the numbers of a case in one line.
func (c SuiteCase) sums() string {
	sums := fmt.Sprintf("%s as expected", count(int64(c.Met)))
	if c.Runs != c.Met {
		sums += fmt.Sprintf(", %s not, %s unknown, %s failed", count(int64(c.NotMet)), count(int64(c.Unknown)), count(int64(c.Failed)))
	}
	last := strings.TrimSuffix(fmt.Sprintf("%s, %s", c.Last.Verdict, c.Last.Found), ", ")
	return fmt.Sprintf("%s: %s; last %s; expected %s", plural(int64(c.Runs), "run", "runs"), sums, last, c.Expected)
}

// story lists a case's failures with the commands that repeat them.
func (c SuiteCase) story() string {
	var b strings.Builder
	for _, r := range c.Failures {
		fmt.Fprintf(&b, "%s: %s\n", r.Ending, r.headline())
		if r.Command != "" {
			fmt.Fprintf(&b, "run it again: %s\n", r.Command)
		}
		if r.Link != "" {
			fmt.Fprintf(&b, "report: %s\n", r.Link)
		}
	}
	return b.String()
}
