package drawing

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

const (
	laneHeight = 16 // height of a row of labels, in pixels
	axisHeight = 22 // height of the time axis below a plot, in pixels
)

// frame is a drawing with a plane for values and a time axis below the plane.
type frame struct {
	Drawing
	from, to    time.Duration
	top, bottom float64 // y positions of the plane, in pixels
}

// newFrame makes a frame with a plane of the given height, and room above it for the names of the faults.
func newFrame(label string, from, to time.Duration, height int, faults []harness.Fault) *frame {
	f := &frame{Drawing: Drawing{Label: label, Margin: 84}, from: from, to: max(to, from+time.Millisecond)}
	f.top = 6
	f.nameFaults(faults)
	f.bottom = f.top + float64(height)
	f.Height = int(f.bottom) + axisHeight
	return f
}

// x returns the position of time t, in percent.
func (f *frame) x(t time.Duration) float64 {
	return 100 * min(1, max(0, float64(t-f.from)/float64(f.to-f.from)))
}

// nameFaults writes the names of the faults above the plane, or their numbers if there are many.
func (f *frame) nameFaults(faults []harness.Fault) {
	var rows lanes
	for i, fault := range faults {
		label := fmt.Sprintf("%d %s", i+1, units.Clip(fault.Name, 32))
		if len(faults) > maxNamed {
			label = fmt.Sprint(i + 1)
		}
		w := width(label)
		x := max(0, min(f.x(fault.Start), 100-w))
		row := rows.put(x, w)
		f.text("band-name", x, f.top+float64(row*laneHeight)+10, "start", label)
	}
	if len(rows) > 0 {
		f.top += float64(len(rows)*laneHeight) + 2
	}
}

// edges draws a line where each fault begins and where its heal begins. Callers draw these lines after the curves, so
// that the curves do not hide them.
func (f *frame) edges(faults []harness.Fault, top, bottom float64) {
	for _, fault := range faults {
		f.line("band-edge", f.x(fault.Start), top, f.x(fault.Start), bottom)
		if fault.Heal > 0 {
			f.line("band-edge", f.x(fault.Heal), top, f.x(fault.Heal), bottom)
		}
	}
}

// timeAxis draws the axis with at most nine ticks. Each label begins with the given sign, such as "+".
func (f *frame) timeAxis(sign string) {
	f.line("axis", 0, f.bottom, 100, f.bottom)
	step := timeTickEvery(f.to-f.from, 8)
	for t := (f.from + step - 1) / step * step; t <= f.to; t += step {
		x := f.x(t)
		f.line("tick", x, f.bottom, x, f.bottom+4)
		f.text("tick-label", x, f.bottom+17, edge(x), sign+timeTick(t, f.to, step))
	}
}

// edge returns the anchor of a label at x percent. At both ends of the axis, the anchor keeps the label inside the
// picture.
func edge(x float64) string {
	switch {
	case x < 3:
		return "start"
	case x > 98:
		return "end"
	default:
		return "middle"
	}
}

// timeTickEvery returns a round step that divides span into at most n parts.
func timeTickEvery(span time.Duration, n int) time.Duration {
	for _, s := range []time.Duration{10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600} {
		if s *= time.Second; span > 50*time.Second && span <= time.Duration(n)*s {
			return s
		}
	}
	for unit := time.Nanosecond; ; unit *= 10 {
		for _, m := range []time.Duration{1, 2, 5} {
			if span <= time.Duration(n)*m*unit {
				return m * unit
			}
		}
	}
}

// timeTick returns the label of a tick at t. The unit depends on the end of the axis, which is the parameter end. The
// number of digits depends on step, the time between two ticks.
func timeTick(t, end, step time.Duration) string {
	switch {
	case end >= 2*time.Minute && step >= time.Second:
		return units.Clock(t)
	case end >= time.Second:
		return decimal(t, time.Second, step) + " s"
	case end >= time.Millisecond:
		return decimal(t, time.Millisecond, step) + " ms"
	default:
		return decimal(t, time.Microsecond, step) + " µs"
	}
}

// decimal writes t in the given unit, with enough decimals for any multiple of step.
func decimal(t, unit, step time.Duration) string {
	digits := 0
	for part := unit; part > step && part > 1; part /= 10 {
		digits++
	}
	s := strconv.FormatFloat(float64(t)/float64(unit), 'f', digits, 64)
	if digits > 0 {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// linear draws a value axis with grid lines. The axis goes from 0 to a round value that is not below the parameter
// peak. It returns the function that maps a value to its y.
func (f *frame) linear(top, bottom, peak float64, lines int) func(float64) float64 {
	step := valueTickEvery(peak, lines)
	high := step * max(1, math.Ceil(peak/step-0.02))
	y := func(v float64) float64 { return bottom - (bottom-top)*v/high }
	for v := 0.0; v <= high*1.0001; v += step {
		if v > 0 {
			f.line("grid", 0, y(v), 100, y(v))
		}
		f.side("tick-label", y(v)+4, units.Short(v))
	}
	return y
}

// valueTickEvery returns a round step that divides the range from 0 to peak into at most n parts.
func valueTickEvery(peak float64, n int) float64 {
	if peak <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(peak/float64(n))))
	for _, m := range []float64{1, 2, 5} {
		if peak <= float64(n)*m*unit*1.0001 {
			return m * unit
		}
	}
	return 10 * unit
}

// logarithmic draws a latency axis with a line at each power of ten. The axis covers the latencies from low to high. It
// returns the function that maps a latency to its y.
func (f *frame) logarithmic(low, high time.Duration) func(time.Duration) float64 {
	from := math.Floor(math.Log10(float64(max(low, time.Microsecond))))
	to := max(from+1, math.Ceil(math.Log10(float64(max(high, time.Microsecond)))))
	y := func(d time.Duration) float64 {
		v := min(to, max(from, math.Log10(float64(max(d, 1)))))
		return f.bottom - (f.bottom-f.top)*(v-from)/(to-from)
	}
	for e := from; e <= to; e++ {
		d := time.Duration(math.Round(math.Pow(10, e)))
		if e > from {
			f.line("grid", 0, y(d), 100, y(d))
		}
		f.side("tick-label", y(d)+4, decade(d))
	}
	return y
}

// decade writes d, a power of ten in nanoseconds, in a suitable unit.
func decade(d time.Duration) string {
	switch {
	case d >= time.Second:
		return units.Count(int64(d/time.Second)) + " s"
	case d >= time.Millisecond:
		return units.Count(int64(d/time.Millisecond)) + " ms"
	case d >= time.Microsecond:
		return units.Count(int64(d/time.Microsecond)) + " µs"
	default:
		return units.Count(int64(d)) + " ns"
	}
}
