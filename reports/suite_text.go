package reports

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/texttable"
)

// suiteRow is a line of a suite's table.
type suiteRow struct {
	SuiteCase
	Ends    string // "met"
	Tone    string // of that: valid, invalid or unknown
	Cells   []string
	Results string // relative path of the report of the run that the case ended with, or of its first failure
}

// heads are the columns between what a case is called and where its results are. A colon aligns to the right.
func (s Suite) heads() []string {
	if s.repeated() {
		return []string{"expected", "found last", ":runs", ":met", ":not met", ":unknown", ":failed", ":operations", ":time"}
	}
	return []string{"verdict", "found", "expected", ":operations", ":time"}
}

func (s Suite) rows() (all []suiteRow) {
	for _, c := range s.Cases {
		row := suiteRow{SuiteCase: c, Ends: c.Ending().String(), Tone: c.Ending().tone(), Results: c.first().Link}
		took := dur(c.Elapsed.Round(100 * time.Millisecond))
		found := cmp.Or(c.Last.Found, noMedian)
		switch {
		case s.repeated():
			row.Cells = []string{c.expected(), found}
			for _, n := range []int{c.Runs, c.Met, c.NotMet, c.Unknown, c.Failed} {
				row.Cells = append(row.Cells, count(int64(n)))
			}
		case c.Runs == 0 || c.Last.Ending == Failed:
			row.Cells = []string{noMedian, noMedian, c.expected()}
		default:
			row.Cells = []string{c.Last.Verdict.String(), found, c.expected()}
		}
		row.Cells = append(row.Cells, count(c.Ops), took)
		all = append(all, row)
	}
	return all
}

// tone is the verdict whose colour suits an ending.
func (e Ending) tone() string {
	switch e {
	case Met:
		return "valid"
	case NotMet:
		return "invalid"
	}
	return "unknown"
}

// SuiteText writes a suite for a terminal: a table, why runs were not as expected, and how to repeat them.
func SuiteText(w io.Writer, s Suite) error {
	var b strings.Builder
	var t texttable.Table
	heads := append([]string{"run", "ended"}, s.heads()...)
	for i := range heads {
		heads[i] = strings.ToUpper(strings.TrimPrefix(heads[i], ":"))
	}
	t.Add(append(heads, "RESULTS")...)
	for _, row := range s.rows() {
		cells := append([]string{row.Name, row.Ends}, row.Cells...)
		for i := range cells {
			cells[i] = oneLine(cells[i])
		}
		t.Add(append(cells, cmp.Or(folder(row.Results), noMedian))...)
	}
	if err := t.Write(&b, texttable.Width(w)); err != nil {
		return err
	}
	b.WriteString("\n" + strings.ToUpper(s.word()) + "  " + s.Sentence() + "\n")
	if s.Ended != "" {
		b.WriteString("It ended early: " + oneLine(s.Ended) + ".\n")
	}
	const most = 3
	failures, others := s.failures(most)
	for _, r := range failures {
		b.WriteString("\n" + wrapped(fmt.Sprintf("  %-8s", r.Ending), oneLine(r.headline())))
		if r.Command != "" {
			b.WriteString("  again   " + r.Command + "\n") // in one piece, to be copied
		}
	}
	if others > 0 {
		fmt.Fprintf(&b, "\n  and %s more, in index.html and suite.jsonl\n", count(int64(others)))
	}
	if facts := s.Memory.facts(); len(facts) > 0 {
		b.WriteString("\n")
		for _, f := range facts {
			b.WriteString(wrapped(fmt.Sprintf("  %-20s", f.Name), f.Value))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// headline says which run it was, and what came of it.
func (r SuiteRun) headline() string {
	which := r.Name
	if r.Seed != 0 {
		which += fmt.Sprintf(", seed %d", r.Seed)
	}
	return which + ": " + cmp.Or(strings.TrimSuffix(r.Why, "."), "no reason was given")
}

// folder is where a report lies.
func folder(link string) string {
	dir, _, _ := strings.Cut(link, "/")
	return dir
}
