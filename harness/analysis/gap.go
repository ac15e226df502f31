package analysis

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// gap finds the longest time in which clients waited and none had an answer. Time in which no client asks does not count as
// waiting.
type gap struct {
	longest Outage
	waited  time.Duration // the part of the longest gap in which some client waited
	last    time.Duration // Return of the latest answer
	began   bool          // there was an answer
	asked   time.Duration // the earliest Call of the operations that have ended without an answer since then
	failed  int64         // operations without effect since then
	unknown int64
}

// add takes the next operation, in order of Return. A gap counts if it ended after start. Once over is true, no further gap
// counts.
func (g *gap) add(op harness.Op, start time.Duration, over bool) {
	if !wasAnswered(op) {
		g.countUnanswered(op)
		return
	}
	waited := op.Return - max(g.last, min(g.asked, op.Call))
	if g.began && !over && op.Return > start && waited > g.waited {
		g.longest = Outage{Seen: true, From: g.last, To: op.Return, Failed: g.failed, Unknown: g.unknown}
		g.waited = waited
	}
	g.last, g.began, g.asked, g.failed, g.unknown = op.Return, true, harness.Forever, 0, 0
}

// wasAnswered reports whether the system answered op: it did what was asked, or said that another client has the lock.
func wasAnswered(op harness.Op) bool { return op.Outcome == harness.OK || op.Denied() }

// countUnanswered counts an operation without an answer in the open gap, and in the longest one if it was under way then.
func (g *gap) countUnanswered(op harness.Op) {
	g.asked = min(g.asked, op.Call)
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
