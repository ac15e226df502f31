package reports

import (
	"io"
	"strings"

	"github.com/doublegrant/doublegrant/harness/suite/tally"
	"github.com/doublegrant/doublegrant/reports/drawing"
)

// SuiteHTML writes a suite as one page that leads to the report of each run and needs nothing else.
func SuiteHTML(w io.Writer, s tally.Suite) error {
	return render(w, "suite.html.tmpl", newSuitePage(s))
}

// suitePage holds the data for the template of a suite.
type suitePage struct {
	tally.Suite
	Tone     string
	Word     string
	Sentence string
	Heads    []suiteHead
	Rows     []suiteRow
	Failures []suiteFailure
	Unlisted int
	Facts    []fact
	Curve    *drawing.Drawing // of resident memory; nil: there are too few points
}

// suiteHead is the head of a column, and the class of its cells.
type suiteHead struct{ Name, Class string }

type suiteFailure struct {
	tally.Run
	Ends, Tone, Headline string
}

func newSuitePage(s tally.Suite) suitePage {
	p := suitePage{
		Suite: s, Tone: tone(s.Ending()), Word: suiteWord(s), Sentence: SuiteSentence(s), Rows: suiteRows(s),
		Facts: memoryFacts(s.Memory), Curve: drawing.Memory(s.Memory, s.Elapsed),
	}
	for _, h := range suiteHeads(s) {
		class := map[string]string{"verdict": "nowrap"}[h]
		name, number := strings.CutPrefix(h, ":")
		if number {
			class = "n"
		}
		p.Heads = append(p.Heads, suiteHead{name, class})
	}
	failures, others := s.Failures(tally.MaxFailures)
	p.Unlisted = others
	for _, r := range failures {
		p.Failures = append(p.Failures, suiteFailure{r, r.Ending.String(), tone(r.Ending), headline(r)})
	}
	return p
}

// Grew reports whether the suite ran long enough to say how the memory of the harness grew.
func (p suitePage) Grew() bool { return p.Memory.Soaked() }

// Head returns the name of a column. Cells show it where there is no room for columns.
func (p suitePage) Head(i int) string { return p.Heads[i].Name }

// Class returns the CSS class of the cells of a column.
func (p suitePage) Class(i int) string { return p.Heads[i].Class }
