package reports

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/harness/texttable"
	"github.com/doublegrant/doublegrant/harness/units"
)

// suiteRow is a line of a suite's table.
type suiteRow struct {
	tally.Case
	Ends    string // "met"
	Tone    string // colour of Ends: valid, invalid or unknown
	Cells   []string
	Results string // relative path of a report: that of the case's first failure, or of its last run
}

// suiteHeads returns the columns between the name of a case and its results. A colon aligns a column to the right.
func suiteHeads(s tally.Suite) []string {
	if s.Repeated() {
		return []string{"expected", "found last", ":runs", ":met", ":not met", ":unknown", ":failed", ":operations",
			":time"}
	}
	return []string{"verdict", "found", "expected", ":operations", ":time"}
}

func suiteRows(s tally.Suite) (all []suiteRow) {
	for _, c := range s.Cases {
		row := suiteRow{Case: c, Ends: c.Ending().String(), Tone: endingTone(c.Ending()), Results: c.First().Link}
		took := units.Duration(c.Elapsed.Round(100 * time.Millisecond))
		found := cmp.Or(c.Last.Found, noMedian)
		switch {
		case s.Repeated():
			row.Cells = []string{caseExpected(c), found}
			for _, n := range []int{c.Runs, c.Met, c.NotMet, c.Unknown, c.Failed} {
				row.Cells = append(row.Cells, units.Count(int64(n)))
			}
		case c.Runs == 0 || c.Last.Ending == tally.Failed:
			row.Cells = []string{noMedian, noMedian, caseExpected(c)}
		default:
			row.Cells = []string{c.Last.Verdict.String(), found, caseExpected(c)}
		}
		ops := noMedian // a search has none to count
		if c.Ops > 0 {
			ops = units.Count(c.Ops)
		}
		row.Cells = append(row.Cells, ops, took)
		all = append(all, row)
	}
	return all
}

// endingTone returns the verdict whose colour suits an ending.
func endingTone(e tally.Ending) string {
	switch e {
	case tally.Met:
		return "valid"
	case tally.NotMet:
		return "invalid"
	}
	return "unknown"
}

// SuiteText writes a suite for a terminal: a table, the reasons of runs that were not as expected, and the commands
// that repeat them.
func SuiteText(w io.Writer, s tally.Suite) error {
	var b strings.Builder
	var t texttable.Table
	heads := append([]string{"run", "ended"}, suiteHeads(s)...)
	for i := range heads {
		heads[i] = strings.ToUpper(strings.TrimPrefix(heads[i], ":"))
	}
	t.Add(append(heads, "RESULTS")...)
	for _, row := range suiteRows(s) {
		cells := append([]string{row.Name, row.Ends}, row.Cells...)
		for i := range cells {
			cells[i] = oneLine(cells[i])
		}
		t.Add(append(cells, cmp.Or(folderOf(row.Results), noMedian))...)
	}
	if err := t.Write(&b, texttable.Width(w)); err != nil {
		return err
	}
	b.WriteString("\n" + strings.ToUpper(suiteWord(s)) + "  " + SuiteSentence(s) + "\n")
	if on := serversOf(s); on != "" {
		b.WriteString(oneLine(on) + "\n")
	}
	if s.Ended != "" {
		b.WriteString("It ended early: " + oneLine(s.Ended) + ".\n")
	}
	const most = 3
	failures, others := s.Failures(most)
	for _, r := range failures {
		b.WriteString("\n" + wrapBehind(fmt.Sprintf("  %-8s", r.Ending), oneLine(runHeadline(r))))
		b.WriteString(wrapBehind("  to do   ", advice(r)))
		if r.Command != "" {
			b.WriteString("  again   " + r.Command + "\n") // in one piece, to be copied
		}
	}
	if others > 0 {
		fmt.Fprintf(&b, "\n  and %s more, in index.html and suite.jsonl\n", units.Count(int64(others)))
	}
	if len(s.Shards) > 0 {
		if err := shardsText(&b, s, texttable.Width(w)); err != nil {
			return err
		}
	}
	if facts := append(failoverFacts(s), memoryFacts(s.Memory)...); len(facts) > 0 {
		b.WriteString("\n")
		for _, f := range facts {
			b.WriteString(wrapBehind(fmt.Sprintf("  %-20s ", oneLine(f.Name)), f.Value))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// shardsText writes the shards of a suite as a table.
func shardsText(b *strings.Builder, s tally.Suite, width int) error {
	var t texttable.Table
	heads := []string{"SHARD"}
	for _, h := range shardHeads {
		heads = append(heads, strings.ToUpper(strings.TrimPrefix(h, ":")))
	}
	t.Add(heads...)
	for _, r := range s.Shards {
		cells := []string{r.String()}
		for _, c := range shardCells(r) {
			cells = append(cells, oneLine(c))
		}
		t.Add(cells...)
	}
	b.WriteString("\n")
	if err := t.Write(b, width); err != nil {
		return err
	}
	for _, f := range shardFacts(s) {
		b.WriteString(wrapBehind(fmt.Sprintf("  %-20s", f.Name), oneLine(f.Value)))
	}
	return nil
}

// runHeadline returns a run's name and its result.
func runHeadline(r tally.Run) string {
	which := r.Name
	if r.Seed != 0 {
		which += fmt.Sprintf(", seed %d", r.Seed)
	}
	return which + ": " + cmp.Or(strings.TrimSuffix(r.Why, "."), "no reason was given")
}

// folderOf returns the folder of a report, or an empty text if there is no report.
func folderOf(link string) string {
	if link == "" {
		return ""
	}
	return path.Dir(link)
}
