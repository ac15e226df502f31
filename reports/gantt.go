package reports

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

const (
	maxOps  = 24 // operations of one anomaly that are drawn and listed
	maxRows = 12 // clients of one anomaly that are drawn
	barHigh = 14
)

// gantt draws the operations of an anomaly, a row for each client, on a clock that starts at the first Call.
type gantt struct {
	*frame
	zero    time.Duration
	meta    harness.Meta
	key     string
	clients []int
	ops     []harness.Op
	spans   []harness.Span // who held it, as the checker judged
	both    []harness.Span // when two did
}

// newGantt prepares the picture of an anomaly with at least one operation.
func newGantt(a harness.Anomaly, meta harness.Meta) *gantt {
	ops := shown(a.Ops)
	g := &gantt{meta: meta, ops: ops, zero: ops[0].Call, key: a.Key, spans: a.Spans, both: a.Overlaps()}
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

func drawAnomaly(a harness.Anomaly, meta harness.Meta) drawing {
	if len(a.Ops) == 0 {
		return drawing{}
	}
	g := newGantt(a, meta)
	for _, c := range g.clients {
		g.row(c)
	}
	front := g.Plot
	g.Plot = nil // what comes first lies behind, but its height is known only now
	g.highlight()
	g.Plot = append(g.Plot, front...)
	g.timeAxis("+")
	g.Height = int(g.bottom) + axisHeight
	return g.drawing
}

// shown are the operations of an anomaly that fit a page, in order of Call.
func shown(ops []harness.Op) []harness.Op {
	ops = slices.Clone(ops[:min(len(ops), maxOps)])
	slices.SortStableFunc(ops, func(a, b harness.Op) int { return int(a.Call - b.Call) })
	return ops
}

// scale spans the operations and, unless that would dwarf them, the end of the overlap.
func (g *gantt) scale() {
	end := g.zero
	for _, op := range g.ops {
		end = max(end, op.Return)
	}
	span := max(end-g.zero, 10*time.Microsecond)
	for _, o := range g.both {
		if o.To > 0 {
			span = max(span, min(o.To-g.zero, 3*span))
		}
	}
	g.from, g.to = -span/40, span+span/12
}

// at is where a time on the run's clock lies.
func (g *gantt) at(t time.Duration) float64 { return g.x(t - g.zero) }

// row draws one client: what it held as a light bar, its operations as dark bars with their names above.
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
			w := width(brief(op))
			x := max(0, min(g.at(op.Call), 100-w))
			labels = append(labels, label{x, rows.place(x, w), brief(op)})
		}
	}
	bar := g.bottom + 12 + float64(len(rows)*laneHeight)
	for _, l := range labels {
		g.text("op-name", l.x, bar-5-float64(l.lane*laneHeight), "start", l.text)
	}
	g.bars(client, bar)
	g.side("row-name", bar+11, clip(g.name(client), 19))
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
			g.rect("hold", g.at(s.From), g.end(s), y+3, y+barHigh-3, fmt.Sprintf("holds %s from %s%s", clip(g.key, 60), at(s.From), until(s)))
		}
	}
	for _, op := range g.ops {
		if op.Client == client {
			g.rect("op "+outcomeClass(op), g.at(op.Call), g.at(op.Return), y, y+barHigh,
				fmt.Sprintf("%s, %s to %s (%s)", brief(op), at(op.Call), at(op.Return), dur(op.Return-op.Call)))
		}
	}
}

// highlight marks the time in which two owners hold the same key.
func (g *gantt) highlight() {
	for _, o := range g.both {
		g.rect("overlap", g.at(o.From), g.end(o), g.top, g.bottom, fmt.Sprintf("two owners from %s%s", at(o.From), until(o)))
	}
}

// end is where a span ends, at the right edge if nothing ends it.
func (g *gantt) end(s harness.Span) float64 {
	if s.To == 0 {
		return 100
	}
	return g.at(s.To)
}

// until says how long a span lasts and what ends it.
func until(s harness.Span) string {
	switch s.Until {
	case harness.LeaseEnds:
		return fmt.Sprintf(" to %s (%s): its lease ends", at(s.To), dur(s.To-s.From))
	case harness.OwnRelease:
		return fmt.Sprintf(" to %s (%s): its owner releases it", at(s.To), dur(s.To-s.From))
	}
	return " on: its lease has no end"
}

// brief says in a few words what an operation was and what came of it.
func brief(op harness.Op) string {
	parts := []string{string(op.Kind)}
	if op.Result != "" {
		parts = append(parts, "→ "+clip(op.Result, 24))
	} else if op.Kind == harness.Add {
		parts = append(parts, clip(op.Arg, 24))
	}
	if op.Outcome != harness.OK {
		parts = append(parts, "("+clip(outcomeText(op), 24)+")")
	}
	return strings.Join(parts, " ")
}

// outcomeClass is the CSS class of an operation's colour.
func outcomeClass(op harness.Op) string {
	switch {
	case op.Outcome == harness.OK:
		return "ok"
	case refused(op):
		return "refused"
	case op.Outcome == harness.Fail:
		return "failed"
	default:
		return "unknown"
	}
}

func outcomeText(op harness.Op) string {
	word := outcomeClass(op)
	if op.Err != "" && !refused(op) {
		return word + ": " + op.Err
	}
	return word
}
