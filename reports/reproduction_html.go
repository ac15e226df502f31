package reports

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
)

// ReproductionHTML writes a reproduction as one page that needs nothing else: no network, no script, no other file.
func ReproductionHTML(w io.Writer, r Reproduction) error {
	return render(w, "reproduction.html.tmpl", newReproductionPage(r))
}

// reproductionPage is what the template of a reproduction asks for.
type reproductionPage struct {
	Reproduction
	Tone   string // of the headline: valid, invalid or unknown
	Facts  []fact
	Doubts []string
	Heads  []string
	Cells  []armCells
	Plots  []rangePlot
}

// armCells is one row of the table.
type armCells struct {
	Arm
	Told  string
	Cells []rangeCell
}

type rangeCell struct{ Ours, Published string }

// rangePlot is one measure over all arms.
type rangePlot struct {
	Head    string
	Picture drawing
}

func newReproductionPage(r Reproduction) reproductionPage {
	p := reproductionPage{Reproduction: r, Facts: r.facts(), Doubts: r.doubts(), Tone: r.tone().String()}
	p.Facts = slices.DeleteFunc(p.Facts, func(f fact) bool { return f.Name == "shape" }) // the headline says it
	for _, m := range r.Measures {
		p.Heads = append(p.Heads, m.head())
	}
	for _, a := range r.Arms {
		row := armCells{Arm: a, Told: count(int64(a.Told()))}
		for m := range r.Measures {
			cell := rangeCell{Ours: noMedian, Published: a.published(m)}
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

// tone colours the headline as a verdict would.
func (r Reproduction) tone() harness.Verdict {
	switch r.Shape {
	case Matches:
		return harness.Valid
	case Differs:
		return harness.Invalid
	}
	return harness.Unknown
}

const (
	rangeRow  = 42 // pixels of an arm: its name, and below it the trials
	rangeName = 15 // of these the name's
)

// drawRanges draws every trial of every arm as a dot, the span from least to largest as a bar and the median as a stroke.
func (r Reproduction) drawRanges(m int) drawing {
	d := drawing{Label: r.Measures[m].head(), Margin: 12, Height: len(r.Arms)*rangeRow + axisHeight}
	top := 0.0
	for _, a := range r.Arms {
		if m < len(a.Ranges) {
			top = max(top, a.Ranges[m].Max)
		}
	}
	top = roundUp(top)
	x := func(v float64) float64 { return 98 * max(0, v) / top }
	bottom := float64(len(r.Arms) * rangeRow)
	for i := range 5 {
		v := top * float64(i) / 4
		d.line("grid", x(v), 0, x(v), bottom)
		d.text("tick-label", x(v), bottom+17, edge(x(v)), figure(v))
	}
	d.line("axis", 0, bottom, 100, bottom)
	for i, a := range r.Arms {
		y := float64(i*rangeRow) + rangeName + (rangeRow-rangeName)/2
		d.text("row-name", 0.5, y-rangeName, "start", clip(a.Name, 80))
		if m >= len(a.Ranges) || a.Ranges[m].N == 0 {
			d.text("missing", 1, y+4, "start", "nothing can be said")
			continue
		}
		span := a.Ranges[m]
		d.rect("span", x(span.Min), max(x(span.Max), x(span.Min)+0.2), y-4, y+4, a.Name+": "+span.String())
		for k, t := range a.Trials {
			if t.Verdict != harness.Unknown {
				d.dot("trial", x(t.Values[m]), y, fmt.Sprintf("trial %d: %s", k+1, figure(t.Values[m])))
			}
		}
		d.line("median", x(span.Median), y-9, x(span.Median), y+9)
	}
	return d
}

// roundUp is the next number of one digit and zeros, at least v, and 1 for nothing.
func roundUp(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	return math.Ceil(v/unit) * unit
}
