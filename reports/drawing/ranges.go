package drawing

import (
	"fmt"
	"math"

	"github.com/doublegrant/doublegrant/harness/units"
)

const (
	rangeRow  = 42 // height in pixels of a row, with its name above its trials
	rangeName = 15 // height in pixels of the row's name
)

// Range holds the values of one condition of an experiment.
type Range struct {
	Name             string
	Says             string // the range in words; empty: the range is unknown
	Min, Median, Max float64
	Trials           []Trial
}

// Trial is the value of one run.
type Trial struct {
	Number int // number of the run, from 1
	Value  float64
}

// Ranges draws one row for each condition: a dot for each trial, a bar from the least to the largest value, and a
// stroke at the median.
func Ranges(label string, rows []Range) Drawing {
	d := Drawing{Label: label, Margin: 12, Height: len(rows)*rangeRow + axisHeight}
	top := 0.0
	for _, r := range rows {
		top = max(top, r.Max)
	}
	top = roundUp(top)
	x := func(v float64) float64 { return 98 * max(0, v) / top }
	bottom := float64(len(rows) * rangeRow)
	for i := range 5 {
		v := top * float64(i) / 4
		d.line("grid", x(v), 0, x(v), bottom)
		d.text("tick-label", x(v), bottom+17, edge(x(v)), units.Figure(v))
	}
	d.line("axis", 0, bottom, 100, bottom)
	for i, r := range rows {
		y := float64(i*rangeRow) + rangeName + (rangeRow-rangeName)/2
		d.text("row-name", 0.5, y-rangeName, "start", units.Clip(r.Name, 80))
		if r.Says == "" {
			d.text("missing", 1, y+4, "start", "nothing can be said")
			continue
		}
		d.rect("span", x(r.Min), max(x(r.Max), x(r.Min)+0.2), y-4, y+4, r.Name+": "+r.Says)
		for _, t := range r.Trials {
			d.dot("trial", x(t.Value), y, fmt.Sprintf("trial %d: %s", t.Number, units.Figure(t.Value)))
		}
		d.line("median", x(r.Median), y-9, x(r.Median), y+9)
	}
	return d
}

// roundUp returns the smallest number that is at least v and has one digit other than 0, such as 400. For 0 it returns
// 1, so that an axis has a length.
func roundUp(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	return math.Ceil(v/unit) * unit
}
