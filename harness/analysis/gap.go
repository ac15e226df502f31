package analysis

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// gap finds the longest time in which clients asked and none got what it asked for. Time in which nobody asks does not
// count.
type gap struct {
	longest Outage
	most    time.Duration // the longest that any gap can have been
	last    time.Duration // Return of the latest request that got something
	began   bool          // there was one
	asked   time.Duration // the earliest Call of the requests that got nothing since then
	ended   time.Duration // the latest Return of those
	failed  int64         // requests without effect since then
	unknown int64
}

// add takes the next request, in order of Return, and whether it got what it asked for. A gap counts from start on,
// until over is true.
func (g *gap) add(op harness.Op, got bool, start time.Duration, over bool) {
	if !got {
		g.countUnanswered(op)
		return
	}
	if g.began && !over && op.Return > start {
		g.measure(op, start)
	}
	g.last, g.began, g.asked, g.ended, g.failed, g.unknown = op.Return, true, harness.Forever, 0, 0, 0
}

// measure takes the gap that op ends.
func (g *gap) measure(op harness.Op, start time.Duration) {
	o := Outage{Seen: true, From: max(g.last, min(g.asked, op.Call)), To: op.Return, Failed: g.failed, Unknown: g.unknown}
	o.Least = o.Length()
	if silent := op.Call - max(g.ended, o.From); g.failed+g.unknown > 0 && silent > 0 {
		o.Least -= silent // nobody asked meanwhile
	}
	if o.Least > g.longest.Least || !g.longest.Seen {
		g.longest = o
	}
	since := g.last
	if g.asked > start { // nothing was wrong before
		since = max(since, start)
	}
	g.most = max(g.most, op.Return-since, o.Length())
}

// outage returns the longest gap.
func (g *gap) outage() Outage {
	o := g.longest
	o.Most = g.most
	return o
}

// countUnanswered counts a request that got nothing in the open gap, and in the longest one if it was under way then.
func (g *gap) countUnanswered(op harness.Op) {
	g.asked, g.ended = min(g.asked, op.Call), max(g.ended, op.Return)
	late := g.longest.Seen && op.Call < g.longest.To
	switch op.Outcome {
	case harness.Fail:
		g.failed++
		if late {
			g.longest.Failed++
		}
	default:
		g.unknown++
		if late {
			g.longest.Unknown++
		}
	}
}
