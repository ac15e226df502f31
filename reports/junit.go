package reports

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// JUnit writes runs as one test suite with a test case for each run. A run with an expectation passes if the
// expectation was met, and fails otherwise. A run without one passes if valid, fails if invalid, and is an error if
// unknown.
func JUnit(w io.Writer, name string, rows []Row) error {
	var began time.Time
	var took time.Duration
	var cases []junitCase
	for i, r := range rows {
		if i == 0 {
			began = r.Started
		}
		took += r.Elapsed
		cases = append(cases, junitCaseOf(r))
	}
	return writeJUnit(w, name, began, took, cases)
}

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr,omitempty"`
	Time      string      `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr,omitempty"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitProblem `xml:"failure"`
	Error   *junitProblem `xml:"error"`
	Skipped *junitProblem `xml:"skipped"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

func junitCaseOf(r Row) junitCase {
	c := junitCase{Name: r.Name, Class: "doublegrant", Time: seconds(r.Elapsed),
		Out: r.Verdict.String() + ": " + r.Sentence}
	if r.Unasked != "" {
		c.Out += " " + r.Unasked
	}
	if r.Variant != "" {
		c.Class += "." + r.Variant
	}
	problem := &junitProblem{Message: r.Sentence, Type: r.Verdict.String(), Text: failureText(r)}
	switch {
	case r.passed():
	case r.Expected == "" && r.Verdict == harness.Unknown:
		c.Error = problem
	case r.Expected != "":
		problem.Message = fmt.Sprintf("expected %s: %s", r.Expected, r.Sentence)
		c.Failure = problem
	default:
		c.Failure = problem
	}
	return c
}

// problem returns the message and the text of the failure or error, and says no sentence twice. Both are empty if the
// test passed.
func (c junitCase) problem() string {
	p := cmp.Or(c.Failure, c.Error)
	if p == nil {
		return ""
	}
	if strings.HasPrefix(p.Text, p.Message) {
		return p.Text
	}
	return p.Message + "\n" + p.Text
}

// failureText returns the text of a failed test.
func failureText(r Row) string {
	s := r.Sentence + "\n"
	if r.Unplanned != "" {
		s += r.Unplanned + "\n"
	}
	switch {
	case r.Steps != "":
		s += "\n" + r.Steps + "\n"
	case r.First != "":
		s += "first: " + r.First + "\n"
	}
	if r.Command != "" {
		s += "run it again: " + r.Command + "\n"
	}
	return s
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// writeJUnit writes cases as one test suite.
func writeJUnit(w io.Writer, name string, began time.Time, took time.Duration, cases []junitCase) error {
	suite := junitSuite{Name: name, Tests: len(cases), Time: seconds(took), Cases: cases}
	if !began.IsZero() {
		suite.Timestamp = began.UTC().Format("2006-01-02T15:04:05")
	}
	for _, c := range cases {
		switch {
		case c.Failure != nil:
			suite.Failures++
		case c.Error != nil:
			suite.Errors++
		case c.Skipped != nil:
			suite.Skipped++
		}
	}
	text, err := xml.MarshalIndent(junitSuites{Suites: []junitSuite{suite}}, "", "  ")
	if err != nil {
		return fmt.Errorf("reports: write junit: %w", err)
	}
	return writeText(w, "junit", xml.Header+string(text)+"\n")
}
