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

// hold is the time in which an owner may rely on what it was granted.
type hold struct {
	op       harness.Op
	from, to time.Duration
	why      string // what ends it
}

// holds derives from the operations of an anomaly who held what, by the rule of the checkers: from the return of the
// grant to the release, the end of the lease or the promised end, whichever is first.
func holds(ops []harness.Op, drift float64) []hold {
	var all []hold
	for _, op := range ops {
		if !grants(op) {
			continue
		}
		lease := time.Duration(float64(op.TTL) * (1 - drift))
		h := hold{op: op, from: op.Return, to: op.Call + lease, why: "the lease ends"}
		if op.Until > 0 && op.Until < h.to {
			h.to, h.why = op.Until, "the promised end"
		}
		if end, ok := released(op, ops); ok && end < h.to {
			h.to, h.why = end, "its release"
		}
		if h.to > h.from {
			all = append(all, h)
		}
	}
	return all
}

func grants(op harness.Op) bool {
	return op.Outcome == harness.OK && op.TTL > 0 &&
		(op.Kind == harness.Acquire || (op.Kind == harness.Claim && op.Result == harness.ResultFirst))
}

// released is the Call of the first release by the client that was granted op.
func released(op harness.Op, ops []harness.Op) (time.Duration, bool) {
	end, found := time.Duration(0), false
	for _, r := range ops {
		mine := r.Kind == harness.Release && r.Client == op.Client && r.Key == op.Key && r.Call >= op.Return
		if mine && (!found || r.Call < end) {
			end, found = r.Call, true
		}
	}
	return end, found
}

// overlaps are the times in which two owners hold the same key.
func overlaps(all []hold) [][2]time.Duration {
	var both [][2]time.Duration
	for i, a := range all {
		for _, b := range all[i+1:] {
			from, to := max(a.from, b.from), min(a.to, b.to)
			same := a.op.Client == b.op.Client && a.op.Arg == b.op.Arg
			if !same && a.op.Key == b.op.Key && from <= to {
				both = append(both, [2]time.Duration{from, to})
			}
		}
	}
	return both
}

// gantt draws the operations of an anomaly, a row for each client, on a clock that starts at the first Call.
type gantt struct {
	*frame
	zero    time.Duration
	meta    harness.Meta
	clients []int
	ops     []harness.Op
	holds   []hold
}

// newGantt prepares the picture of operations, of which there is at least one, in order of Call.
func newGantt(ops []harness.Op, meta harness.Meta) *gantt {
	g := &gantt{meta: meta, ops: ops, zero: ops[0].Call, holds: holds(ops, meta.Drift)}
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
	g := newGantt(shown(a.Ops), meta)
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
	for _, o := range overlaps(g.holds) {
		span = max(span, min(o[1]-g.zero, 3*span))
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
	for _, h := range g.holds {
		if h.op.Client == client {
			g.rect("hold", g.at(h.from), g.at(h.to), y+3, y+barHigh-3,
				fmt.Sprintf("holds %s from %s to %s: %s", clip(h.op.Key, 60), at(h.from), at(h.to), h.why))
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
	for _, o := range overlaps(g.holds) {
		g.rect("overlap", g.at(o[0]), g.at(o[1]), g.top, g.bottom,
			fmt.Sprintf("two owners from %s to %s (%s)", at(o[0]), at(o[1]), dur(o[1]-o[0])))
	}
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
