package drawing

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/units"
)

const (
	maxOps  = 24 // the largest number of operations of an anomaly that are drawn and listed
	maxRows = 12 // the largest number of clients of an anomaly that are drawn
	barHigh = 14
)

// gantt draws the operations of an anomaly, one row for each client. Times on the axis count from the first Call.
type gantt struct {
	*frame
	axis     cutAxis
	zero     time.Duration
	meta     harness.Meta
	key      string
	clients  []int
	ops      []harness.Op
	spans    []harness.Span    // the spans that the checker judged
	overlaps []harness.Overlap // the times in which two owners certainly held the key
}

// newGantt prepares the picture of an anomaly with at least one operation.
func newGantt(a harness.Anomaly, meta harness.Meta) *gantt {
	ops := Shown(a.Ops)
	g := &gantt{meta: meta, ops: ops, zero: ops[0].Call, key: a.Key, spans: a.Spans, overlaps: a.Overlaps()}
	g.frame = newFrame("the operations over time", 0, 0, 0, nil)
	g.Margin = 128
	g.scale()
	for _, op := range g.ops {
		if !slices.Contains(g.clients, op.Client) && len(g.clients) < maxRows {
			g.clients = append(g.clients, op.Client)
		}
	}
	return g
}

// Anomaly draws the operations of an anomaly, and who held its key at the time.
func Anomaly(a harness.Anomaly, meta harness.Meta) Drawing {
	if len(a.Ops) == 0 {
		return Drawing{}
	}
	g := newGantt(a, meta)
	for _, c := range g.clients {
		g.row(c)
	}
	front := g.Plot
	g.Plot = nil // the background comes first, but its height is known only now
	g.strips()
	g.highlight()
	g.Plot = append(g.Plot, front...)
	g.ticks()
	g.Height = int(g.bottom) + axisHeight
	return g.Drawing
}

// strips marks the spans of time that the picture leaves out.
func (g *gantt) strips() {
	for _, c := range g.axis.cuts {
		from, to := g.axis.x(c.from), g.axis.x(c.to)
		g.rect("left-out", from, to, g.top, g.bottom, units.Duration(c.length())+" are left out")
		g.line("left-out-edge", from, g.top, from, g.bottom+4)
		g.line("left-out-edge", to, g.top, to, g.bottom+4)
	}
}

// ticks draws the time axis, with gaps where time is left out. It omits each label that would touch an earlier one.
func (g *gantt) ticks() {
	if len(g.axis.cuts) == 0 {
		g.timeAxis("+")
		return
	}
	var taken [][2]float64
	write := func(class string, x float64, s string) {
		from := x - width(s)*map[string]float64{"middle": 0.5, "end": 1}[edge(x)]
		to := from + width(s)
		if !slices.ContainsFunc(taken, func(o [2]float64) bool { return from < o[1] && o[0] < to }) {
			taken = append(taken, [2]float64{from, to})
			g.text(class, x, g.bottom+17, edge(x), s)
		}
	}
	for _, c := range g.axis.cuts {
		write("missing", (g.axis.x(c.from)+g.axis.x(c.to))/2, units.Duration(c.length()))
	}
	step := timeTickEvery(g.axis.shown(), 6)
	for _, p := range g.axis.parts() {
		g.line("axis", g.axis.x(p.from), g.bottom, g.axis.x(p.to), g.bottom)
		for t := (p.from + step - 1) / step * step; t <= p.to; t += step {
			g.line("tick", g.axis.x(t), g.bottom, g.axis.x(t), g.bottom+4)
			write("tick-label", g.axis.x(t), "+"+timeTick(t, p.to, step))
		}
	}
}

// Shown returns the operations of an anomaly that fit on a page, in order of Call.
func Shown(ops []harness.Op) []harness.Op {
	ops = slices.Clone(ops[:min(len(ops), maxOps)])
	slices.SortStableFunc(ops, func(a, b harness.Op) int { return int(a.Call - b.Call) })
	return ops
}

// scale sets the time axis, which covers all operations. If two owners held the key beyond that time, the axis becomes
// up to three times as long.
func (g *gantt) scale() {
	end := g.zero
	for _, op := range g.ops {
		end = max(end, op.Return)
	}
	span := max(end-g.zero, 10*time.Microsecond)
	for _, o := range g.overlaps {
		if o.To > 0 {
			span = max(span, min(o.To-g.zero, 3*span))
		}
	}
	var both []timeCut
	for _, o := range g.overlaps {
		both = append(both, timeCut{o.From - g.zero, o.To - g.zero})
		if o.To == 0 {
			both[len(both)-1].to = span
		}
	}
	g.axis.cuts = quietCuts(g.moments(span), both)
	shown := span - totalLength(g.axis.cuts)
	g.from, g.to = -shown/40, span+shown/12
	g.axis.from, g.axis.to = g.from, g.to
}

// moments lists the times at which something begins or ends, up to the time in the parameter span.
func (g *gantt) moments(span time.Duration) []time.Duration {
	all := []time.Duration{0, span}
	for _, op := range g.ops {
		all = append(all, op.Call-g.zero, op.Return-g.zero)
	}
	for _, s := range g.spans {
		all = append(all, s.From-g.zero, s.To-g.zero)
	}
	for _, o := range g.overlaps {
		all = append(all, o.From-g.zero, o.To-g.zero)
	}
	return slices.DeleteFunc(all, func(t time.Duration) bool { return t < 0 || t > span })
}

// at returns the position of a time on the run's clock, in percent.
func (g *gantt) at(t time.Duration) float64 { return g.axis.x(t - g.zero) }

// row draws one client: its holds as light bars, and its operations as dark bars with their names above.
func (g *gantt) row(client int) {
	type label struct {
		x    float64
		lane int
		text string
	}
	var rows lanes
	var labels []label
	for _, op := range g.ops {
		if op.Client == client {
			w := width(describeOp(op))
			x := max(0, min(g.at(op.Call), 100-w))
			labels = append(labels, label{x, rows.put(x, w), describeOp(op)})
		}
	}
	bar := g.bottom + 12 + float64(len(rows)*laneHeight)
	for _, l := range labels {
		g.text("op-name", l.x, bar-5-float64(l.lane*laneHeight), "start", l.text)
	}
	g.bars(client, bar)
	g.side("row-name", bar+11, units.Clip(g.name(client), 19))
	g.bottom = bar + barHigh + 6
}

func (g *gantt) name(client int) string {
	if client < 0 {
		return "harness"
	}
	if g.meta.Groups > 1 {
		return fmt.Sprintf("client %d, group %d", client, g.meta.Group(client))
	}
	return fmt.Sprintf("client %d", client)
}

func (g *gantt) bars(client int, y float64) {
	for _, s := range g.spans {
		if s.Client == client {
			g.rect(spanClass[s.Kind], g.at(s.From), g.end(s), y+3, y+barHigh-3, g.describeSpan(s))
		}
	}
	for _, op := range g.ops {
		if op.Client == client {
			g.rect("op "+OutcomeClass(op), g.at(op.Call), g.at(op.Return), y, y+barHigh,
				fmt.Sprintf("%s, %s to %s (%s)", describeOp(op), units.At(op.Call), units.At(op.Return),
					units.Duration(op.Return-op.Call)))
		}
	}
}

// highlight marks the times in which two owners certainly held the key.
func (g *gantt) highlight() {
	for _, o := range g.overlaps {
		g.rect("overlap", g.at(o.From), g.end(o.Span), g.top, g.bottom,
			fmt.Sprintf("two owners from %s%s", units.At(o.From), untilWords(o.Span)))
	}
}

// end returns the position, in percent, at which a span ends. A span without an end goes to the right edge.
func (g *gantt) end(s harness.Span) float64 {
	if s.To == 0 {
		return 100
	}
	return g.at(s.To)
}

// describeOp describes an operation and its outcome in a few words.
func describeOp(op harness.Op) string {
	parts := []string{string(op.Kind)}
	if op.Result != "" {
		parts = append(parts, "→ "+units.Clip(op.Result, 24))
	} else if op.Kind == harness.Add {
		parts = append(parts, units.Clip(op.Arg, 24))
	}
	if op.Outcome != harness.OK {
		parts = append(parts, "("+units.Clip(OutcomeText(op), 24)+")")
	}
	return strings.Join(parts, " ")
}

// OutcomeClass returns the CSS class of an operation's colour.
func OutcomeClass(op harness.Op) string {
	switch {
	case op.Outcome == harness.OK:
		return "ok"
	case analysis.Refused(op):
		return "refused"
	case op.Outcome == harness.Fail:
		return "failed"
	default:
		return "unknown"
	}
}

// OutcomeText returns an operation's outcome in words.
func OutcomeText(op harness.Op) string {
	word := OutcomeClass(op)
	if op.Err != "" && !analysis.Refused(op) {
		return word + ": " + op.Err
	}
	return word
}
