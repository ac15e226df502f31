package reports

import (
	"io"
	"strings"

	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/reports/drawing"
)

// SuiteHTML writes a suite as one page. The page links to the report of each run and needs no other file.
func SuiteHTML(w io.Writer, s tally.Suite) error {
	return render(w, "suite.html.tmpl", newSuitePage(s))
}

// suitePage holds the data for the template of a suite.
type suitePage struct {
	tally.Suite
	Tone     string
	Word     string
	Sentence string
	Setup    []fact
	Heads    []suiteHead
	Rows     []suiteLine
	Failures []suiteFailure
	Unlisted int
	Facts    []fact
	Curve    *drawing.Drawing // curve of resident memory; nil: there are too few points

	ShardHeads []suiteHead
	ShardRows  []shardLine // empty: the suite has no shards
	ShardFacts []fact

	FailoverFacts []fact // one line for each case that had failovers
}

// suiteHead is the head of a column, and the CSS class of its cells.
type suiteHead struct{ Name, Class string }

// suiteCell is a cell. It contains its column's head, for screens that are too narrow for columns.
type suiteCell struct {
	suiteHead
	Text string
}

// suiteLine is a line of the table of runs.
type suiteLine struct {
	suiteRow
	Cells []suiteCell
}

// shardLine is a line of the table of shards.
type shardLine struct {
	tally.ShardResult
	Cells []suiteCell
}

type suiteFailure struct {
	tally.Run
	Ends, Tone, Advice string
}

func newSuitePage(s tally.Suite) suitePage {
	p := suitePage{
		Suite: s, Tone: endingTone(s.Ending()), Word: suiteWord(s), Sentence: SuiteSentence(s),
		Setup: suiteFacts(s), Heads: suiteColumns(suiteHeads(s)),
		Facts: memoryFacts(s.Memory), Curve: drawing.Memory(s.Memory, s.Elapsed),
		ShardHeads: suiteColumns(shardHeads), ShardFacts: shardFacts(s), FailoverFacts: failoverFacts(s),
	}
	for _, row := range suiteRows(s) {
		p.Rows = append(p.Rows, suiteLine{row, cellsUnder(p.Heads, row.Cells)})
	}
	for _, r := range s.Shards {
		p.ShardRows = append(p.ShardRows, shardLine{r, cellsUnder(p.ShardHeads, shardCells(r))})
	}
	failures, others := s.Failures(tally.MaxFailures)
	p.Unlisted = others
	for _, r := range failures {
		p.Failures = append(p.Failures, suiteFailure{r, r.Ending.String(), endingTone(r.Ending), advice(r)})
	}
	return p
}

// suiteColumns returns the heads of columns with the given names. A name that begins with a colon aligns its column to
// the right.
func suiteColumns(names []string) (all []suiteHead) {
	for _, h := range names {
		class := map[string]string{"verdict": "nowrap"}[h]
		name, number := strings.CutPrefix(h, ":")
		if number {
			class = "n"
		}
		all = append(all, suiteHead{name, class})
	}
	return all
}

// cellsUnder returns cells with the heads of their columns.
func cellsUnder(heads []suiteHead, cells []string) (all []suiteCell) {
	for i, text := range cells {
		all = append(all, suiteCell{heads[i], text})
	}
	return all
}

// Grew reports whether the suite ran long enough to measure how the harness's memory grew.
func (p suitePage) Grew() bool { return p.Memory.Soaked() }
