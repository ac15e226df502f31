package analysis

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// gap finds the longest gap: a time in which clients sent requests and none of them succeeded. Time without requests
// does not count.
type gap struct {
	longest         Outage
	upperBound      time.Duration // upper bound of the length of any gap
	lastAnswer      time.Duration // Return of the latest successful request
	hasAnswer       bool          // false: no request has succeeded yet
	firstUnanswered time.Duration // earliest Call of the requests that failed since lastAnswer
	lastUnanswered  time.Duration // latest Return of those requests
	failed          int64         // requests since lastAnswer that certainly had no effect
	unknown         int64         // requests since lastAnswer that may have had an effect
}

// add adds the next request. Requests are added in order of Return. A successful request ends the current gap. The gap
// is measured only if it ends after the time in the parameter start, and the parameter over is false. Other gaps are
// not costs of the failover.
func (g *gap) add(op harness.Op, succeeded bool, start time.Duration, over bool) {
	if !succeeded {
		g.countUnanswered(op)
		return
	}
	if g.hasAnswer && !over && op.Return > start {
		g.measure(op, start)
	}
	g.lastAnswer, g.hasAnswer, g.firstUnanswered, g.lastUnanswered, g.failed, g.unknown = op.Return, true,
		harness.Forever, 0, 0, 0
}

// measure measures the gap that ends with op, a successful request. It keeps the longest gap.
func (g *gap) measure(op harness.Op, start time.Duration) {
	o := Outage{Seen: true, From: max(g.lastAnswer, min(g.firstUnanswered, op.Call)), To: op.Return, Failed: g.failed,
		Unknown: g.unknown}
	o.Least = o.Length()
	if silent := op.Call - max(g.lastUnanswered, o.From); g.failed+g.unknown > 0 && silent > 0 {
		o.Least -= silent // no client was waiting in that time
	}
	if o.Least > g.longest.Least || !g.longest.Seen {
		g.longest = o
	}
	gapStart := g.lastAnswer
	if g.firstUnanswered > start { // all requests before start succeeded
		gapStart = max(gapStart, start)
	}
	g.upperBound = max(g.upperBound, op.Return-gapStart, o.Length())
}

// outage returns the longest gap.
func (g *gap) outage() Outage {
	o := g.longest
	o.Most = g.upperBound
	return o
}

// countUnanswered counts a failed request in the current gap. The request also counts in the longest gap so far, if it
// was sent before that gap's end.
func (g *gap) countUnanswered(op harness.Op) {
	g.firstUnanswered, g.lastUnanswered = min(g.firstUnanswered, op.Call), max(g.lastUnanswered, op.Return)
	inLongest := g.longest.Seen && op.Call < g.longest.To
	switch op.Outcome {
	case harness.Fail:
		g.failed++
		if inLongest {
			g.longest.Failed++
		}
	default:
		g.unknown++
		if inLongest {
			g.longest.Unknown++
		}
	}
}
