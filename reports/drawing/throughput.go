package drawing

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/units"
)

// MaxGroupRows bounds the client groups that are drawn.
const MaxGroupRows = 12

// layer is one part of the stack of outcomes.
type layer struct {
	class string
	name  string
	of    func(analysis.Counts) int64
}

func layers() []layer {
	return []layer{
		{"ok", "ok", func(c analysis.Counts) int64 { return c.OK }},
		{"refused", "refused (held)", func(c analysis.Counts) int64 { return c.Refused }},
		{"failed", "failed", func(c analysis.Counts) int64 { return c.Failed }},
		{"unknown", "unknown", func(c analysis.Counts) int64 { return c.Unknown }},
	}
}

// Throughput draws the operations a second, stacked by outcome.
func (r Run) Throughput() Drawing {
	return stacked(r, "operations a second by outcome", 190, 4, layers())
}

// Trouble draws the operations that failed or are unknown, on their own scale, since a few of them would not show among
// thousands of others.
func (r Run) Trouble() Drawing {
	return stacked(r, "failed and unknown operations a second", 70, 2, layers()[2:])
}

func stacked(r Run, label string, height, lines int, of []layer) Drawing {
	faults := r.Faults
	f := newFrame(label, r.origin(), r.horizon(), height, faults)
	f.bands(faults, -1, f.top, f.bottom)
	f.timeAxis("")
	sums := make([][]float64, len(of)+1) // sums[i][b]: the first i layers of bucket b together
	sums[0] = make([]float64, len(r.Stats.Buckets))
	for i, l := range of {
		sums[i+1] = make([]float64, len(r.Stats.Buckets))
		for b, bucket := range r.Stats.Buckets {
			sums[i+1][b] = sums[i][b] + r.Stats.PerSecond(b, l.of(bucket.Counts))
		}
	}
	y := f.linear(f.top, f.bottom, largest(sums[len(of)]), lines)
	for i, l := range of {
		f.path("area "+l.class, f.area(r.Stats, sums[i], sums[i+1], y))
	}
	f.edges(faults, f.top, f.bottom)
	f.hover(r.Stats, f.top, f.bottom, outcomes)
	return f.Drawing
}

func largest(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Max(values)
}

// area returns the outline of the area between two step curves. The parameters low and high are the values of the two
// curves, by bucket. The function y maps a value to its position.
func (f *frame) area(s analysis.Stats, low, high []float64, y func(float64) float64) string {
	if len(high) == 0 || slices.Equal(low, high) {
		return ""
	}
	var up, down []string
	for b := range high {
		x1, x2 := 10*f.x(s.Buckets[b].Start), 10*f.x(s.Buckets[b].Start+s.Width)
		up = append(up, point(x1, y(high[b])), point(x2, y(high[b])))
		down = append(down, point(x1, y(low[b])), point(x2, y(low[b])))
	}
	for i := 0; i+1 < len(down); i += 2 { // each step backwards, too
		down[i], down[i+1] = down[i+1], down[i]
	}
	for b := len(down) - 2; b >= 0; b -= 2 {
		up = append(up, down[b], down[b+1])
	}
	return "M" + strings.Join(up, "L") + "Z"
}

func point(x, y float64) string { return units.Number(x) + " " + units.Number(y) }

// hover puts an invisible column over each bucket. The column's title is the text that the given function returns for
// the bucket.
func (f *frame) hover(s analysis.Stats, top, bottom float64, tell func(analysis.Stats, int) string) {
	for b, bucket := range s.Buckets {
		if bucket.All() > 0 {
			x1, x2 := f.x(bucket.Start), f.x(bucket.Start+s.Width)
			f.rect("hover", x1, x2, top, bottom, between(s, b)+": "+tell(s, b))
		}
	}
}

func between(s analysis.Stats, b int) string {
	start := s.Buckets[b].Start
	return fmt.Sprintf("%s s to %s s", units.Number(start.Seconds()), units.Number((start + s.Width).Seconds()))
}

func outcomes(s analysis.Stats, b int) string {
	var parts []string
	for _, l := range layers() {
		if n := l.of(s.Buckets[b].Counts); n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", units.Count(n), l.name))
		}
	}
	return strings.Join(parts, ", ")
}

// PerGroup draws the ok operations a second of each client group in a separate row, all on one scale.
func (r Run) PerGroup() Drawing {
	const row, gap = 44, 10
	groups := min(max(1, r.Groups), MaxGroupRows)
	f := newFrame("ok operations a second by client group", r.origin(), r.horizon(), groups*(row+gap), r.Faults)
	f.timeAxis("")
	high := GroupPeak(r.Stats)
	for g := range groups {
		top := f.top + float64(g*(row+gap)) + gap
		f.group(r, g, top, top+row, max(high, 1))
	}
	return f.Drawing
}

// GroupPeak returns the highest rate of any client group. In PerGroup a curve at this rate reaches the top of its row.
func GroupPeak(s analysis.Stats) float64 {
	high := 0.0
	for b, bucket := range s.Buckets {
		for _, n := range bucket.Groups {
			high = max(high, s.PerSecond(b, n))
		}
	}
	return high
}

func (f *frame) group(r Run, g int, top, bottom, high float64) {
	f.bands(r.Faults, g, top, bottom)
	rates, zero, sum := make([]float64, len(r.Stats.Buckets)), make([]float64, len(r.Stats.Buckets)), int64(0)
	for b, bucket := range r.Stats.Buckets {
		if g < len(bucket.Groups) {
			rates[b], sum = r.Stats.PerSecond(b, bucket.Groups[g]), sum+bucket.Groups[g]
		}
	}
	y := func(v float64) float64 { return bottom - (bottom-top)*v/high }
	f.line("grid", 0, bottom, 100, bottom)
	f.path("area ok", f.area(r.Stats, zero, rates, y))
	f.edges(r.Faults, top, bottom)
	f.hover(r.Stats, top, bottom, func(s analysis.Stats, b int) string {
		return fmt.Sprintf("group %d: %s", g, units.Rate(rates[b]))
	})
	f.side("row-name", top+18, fmt.Sprintf("group %d", g))
	f.side("tick-label", top+34, units.Count(sum)+" ok")
}

// Latencies draws the quantiles of the latency of ok operations on a logarithmic axis.
func (r Run) Latencies() Drawing {
	f := newFrame("latency of ok operations", r.origin(), r.horizon(), 190, r.Faults)
	f.bands(r.Faults, -1, f.top, f.bottom)
	f.timeAxis("")
	low, high := time.Duration(0), time.Duration(0)
	for _, b := range r.Stats.Buckets {
		if b.OK > 0 && (low == 0 || b.P50 < low) {
			low = b.P50
		}
		high = max(high, b.Max)
	}
	y := f.logarithmic(low*9/10, high*11/10)
	f.path("curve max", f.curve(r.Stats, y, func(b analysis.Bucket) time.Duration { return b.Max }))
	f.path("curve p99", f.curve(r.Stats, y, func(b analysis.Bucket) time.Duration { return b.P99 }))
	f.path("curve p50", f.curve(r.Stats, y, func(b analysis.Bucket) time.Duration { return b.P50 }))
	f.hover(r.Stats, f.top, f.bottom, func(s analysis.Stats, b int) string {
		l := s.Buckets[b].Latency
		return fmt.Sprintf("p50 %s, p99 %s, max %s",
			units.Duration(l.P50), units.Duration(l.P99), units.Duration(l.Max))
	})
	return f.Drawing
}

// curve returns a step curve of a latency. The last parameter is a function that takes this latency from a bucket. The
// curve has gaps where no operation was ok.
func (f *frame) curve(s analysis.Stats, y func(time.Duration) float64, of func(analysis.Bucket) time.Duration) string {
	var path strings.Builder
	pen := "M"
	for _, b := range s.Buckets {
		if b.OK == 0 {
			pen = "M"
			continue
		}
		v := y(of(b))
		path.WriteString(pen + point(10*f.x(b.Start), v) + "L" + point(10*f.x(b.Start+s.Width), v))
		pen = "L"
	}
	return path.String()
}
