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
	Ends    string // how the runs ended, such as "met"
	Tone    string // verdict that gives Ends its colour: valid, invalid or unknown
	Cells   []string
	Results string // relative path of a report: that of the case's first failure, or of its last run
}

// suiteHeads returns the heads of the columns after the case's name and its ending. A head that begins with a colon
// aligns its column to the right.
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
		found := orDash(c.Last.Found)
		switch {
		case s.Repeated():
			row.Cells = []string{caseExpected(c), found}
			for _, n := range []int{c.Runs, c.Met, c.NotMet, c.Unknown, c.Failed} {
				row.Cells = append(row.Cells, units.Count(int64(n)))
			}
		case c.Runs == 0 || c.Last.Ending == tally.Failed:
			row.Cells = []string{dash, dash, caseExpected(c)}
		default:
			row.Cells = []string{c.Last.Verdict.String(), found, caseExpected(c)}
		}
		ops := dash // a search has none to count
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

// SuiteText writes a suite for a terminal: the verdict, the runs that were not as expected, and a table of all runs. A
// run that was not as expected has its reason and the command that repeats it. If l.Verbose is set, statistics follow.
func SuiteText(w io.Writer, s tally.Suite, l Layout) error {
	var b strings.Builder
	b.WriteString(l.Fold(strings.ToUpper(suiteWord(s))+"  ", SuiteSentence(s)))
	if on := serversOf(s); on != "" {
		b.WriteString(l.Fold("", on))
	}
	if s.Ended != "" {
		b.WriteString(l.Fold("", "It ended early: "+s.Ended+"."))
	}
	b.WriteString(l.Fold("ran: ", suiteRan(s)))
	suiteFailures(&b, s, l)
	b.WriteString("\n")
	suiteTable(&b, s, l)
	if len(s.Shards) > 0 {
		shardsText(&b, s, l)
	}
	facts := failoverFacts(s)
	if l.Verbose {
		facts = append(facts, memoryFacts(s.Memory)...)
	}
	if len(facts) > 0 {
		b.WriteString("\n")
		for _, f := range facts {
			b.WriteString(l.Fold(fmt.Sprintf("  %-20s ", oneLine(f.Name)), f.Value))
		}
	}
	return writeText(w, "text", b.String())
}

// suiteRan says how much was run under load, and how many searches were made.
func suiteRan(s tally.Suite) string {
	var runs, searches int
	var ops int64
	for _, c := range s.Cases {
		if c.Last.Seed == 0 { // a search has no seed
			searches += c.Runs
			continue
		}
		runs, ops = runs+c.Runs, ops+c.Ops
	}
	return fmt.Sprintf("%s under load with %s, and %s through interleavings", units.Plural(int64(runs), "run", "runs"),
		units.Plural(ops, "operation", "operations"), units.Plural(int64(searches), "search", "searches"))
}

// suiteFailures writes the first runs that were not as expected.
func suiteFailures(b *strings.Builder, s tally.Suite, l Layout) {
	const most = 3
	failures, others := s.Failures(most)
	for _, r := range failures {
		b.WriteString("\n" + l.Fold(fmt.Sprintf("  %-8s", r.Ending), runHeadline(r)))
		b.WriteString(l.Fold("  to do   ", advice(r)))
		if r.Command != "" {
			b.WriteString("  again   " + r.Command + "\n") // in one piece, to be copied
		}
	}
	if others > 0 {
		b.WriteString("\n" + l.Fold("  ", fmt.Sprintf("and %s more, in index.html and suite.jsonl",
			units.Count(int64(others)))))
	}
}

// suiteTable writes a line for each run. If l.Verbose is set, the line also has the folder of the run's results.
func suiteTable(b *strings.Builder, s tally.Suite, l Layout) {
	var t texttable.Table
	heads := append([]string{"run", "ended"}, suiteHeads(s)...)
	if s.Repeated() {
		heads = []string{"run", "ended", "expected", "found last", "runs", "operations", "time"}
	}
	if l.Verbose {
		heads = append(heads, "results")
	}
	for i := range heads {
		heads[i] = strings.ToUpper(strings.TrimPrefix(heads[i], ":"))
	}
	t.Add(heads...)
	for _, row := range suiteRows(s) {
		cells := append([]string{row.Name, row.Ends}, row.Cells...)
		if n := len(row.Cells); s.Repeated() {
			cells = append([]string{row.Name, row.Ends, row.Cells[0], row.Cells[1], endings(row.Case)}, row.Cells[n-2:]...)
		}
		if l.Verbose {
			cells = append(cells, orDash(folderOf(row.Results)))
		}
		for i := range cells {
			cells[i] = oneLine(cells[i])
		}
		t.Add(cells...)
	}
	_ = t.Write(b, l.width()) // a strings.Builder never fails
}

// endings counts the runs of a case by how they ended: "12 met, 1 unknown".
func endings(c tally.Case) string {
	var all []string
	for _, e := range []struct {
		n  int
		as tally.Ending
	}{{c.Met, tally.Met}, {c.NotMet, tally.NotMet}, {c.Unknown, tally.Undecided}, {c.Failed, tally.Failed}} {
		if e.n > 0 {
			all = append(all, units.Count(int64(e.n))+" "+e.as.String())
		}
	}
	return orDash(strings.Join(all, ", "))
}

// shardsText writes the shards of a suite as a table.
func shardsText(b *strings.Builder, s tally.Suite, l Layout) {
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
	_ = t.Write(b, l.width()) // a strings.Builder never fails
	for _, f := range shardFacts(s) {
		b.WriteString(l.Fold(fmt.Sprintf("  %-20s", f.Name), f.Value))
	}
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
