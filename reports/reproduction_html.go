package reports

import (
	"io"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
	"github.com/doublegrant/doublegrant/reports/drawing"
)

// ReproductionHTML writes a reproduction as one self-contained page. It loads no other file, runs no script and uses no
// network.
func ReproductionHTML(w io.Writer, r Reproduction) error {
	return render(w, "reproduction.html.tmpl", newReproductionPage(r))
}

// reproductionPage holds the data for the template of a reproduction.
type reproductionPage struct {
	Reproduction
	Tone   string // verdict that gives the headline its colour: valid, invalid or unknown
	Facts  []fact
	Doubts []string
	Heads  []string
	Cells  []armCells
	Plots  []rangePlot
}

// armCells is one row of the table.
type armCells struct {
	Arm
	Told  string // number of trials with a verdict
	Cells []rangeCell
}

type rangeCell struct{ Ours, Published string }

// rangePlot is the plot of one measure, with all arms.
type rangePlot struct {
	Head    string
	Picture drawing.Drawing
}

func newReproductionPage(r Reproduction) reproductionPage {
	p := reproductionPage{Reproduction: r, Facts: r.facts(), Doubts: r.doubts(), Tone: r.tone().String()}
	p.Facts = slices.DeleteFunc(p.Facts, func(f fact) bool { return f.Name == "shape" }) // the headline says it
	for _, m := range r.Measures {
		p.Heads = append(p.Heads, m.head())
	}
	for _, a := range r.Arms {
		row := armCells{Arm: a, Told: units.Count(int64(a.DecidedTrials()))}
		for m := range r.Measures {
			cell := rangeCell{Ours: dash, Published: a.published(m)}
			if m < len(a.Ranges) {
				cell.Ours = a.Ranges[m].String()
			}
			row.Cells = append(row.Cells, cell)
		}
		p.Cells = append(p.Cells, row)
	}
	for m := range r.Measures {
		p.Plots = append(p.Plots, rangePlot{r.Measures[m].head(), r.drawRanges(m)})
	}
	return p
}

// tone returns the verdict whose colour the headline gets.
func (r Reproduction) tone() harness.Verdict {
	switch r.Shape {
	case Matches:
		return harness.Valid
	case Differs:
		return harness.Invalid
	}
	return harness.Unknown
}

// drawRanges draws measure m of all arms.
func (r Reproduction) drawRanges(m int) drawing.Drawing {
	var rows []drawing.Range
	for _, a := range r.Arms {
		row := drawing.Range{Name: a.Name}
		if m < len(a.Ranges) && a.Ranges[m].N > 0 {
			span := a.Ranges[m]
			row.Says, row.Min, row.Median, row.Max = span.String(), span.Min, span.Median, span.Max
			for k, t := range a.Trials {
				if t.Verdict != harness.Unknown {
					row.Trials = append(row.Trials, drawing.Trial{Number: k + 1, Value: t.Values[m]})
				}
			}
		}
		rows = append(rows, row)
	}
	return drawing.Ranges(r.Measures[m].head(), rows)
}
