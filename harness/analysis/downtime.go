package analysis

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// writableSpan is a span of time in which a node took writes.
type writableSpan struct{ from, to time.Duration }

// writableSpans lists the spans in which the node took writes. events are in order of time. If the last span is open, its to is
// harness.Forever.
func writableSpans(events []harness.Event, node string) []writableSpan {
	var all []writableSpan
	for _, e := range events {
		switch n := len(all); {
		case e.Node != node:
		case e.Kind == harness.EventWritable:
			all = append(all, writableSpan{e.At, harness.Forever})
		case e.Kind == harness.EventUnwritable && n > 0 && all[n-1].to == harness.Forever:
			all[n-1].to = e.At
		}
	}
	return all
}

// downtime finds the longest time in which neither the old nor the new primary took writes, from the start of the fault to the
// first write of the new primary.
func (a *aftermath) downtime(events []harness.Event) Downtime {
	accepted := a.firstOwnWrite()
	before := writableSpans(events, a.old)
	if !accepted.Seen || len(before) == 0 {
		return Downtime{}
	}
	first, reign := accepted.At, a.tookWritesUntil(events, accepted.At)
	d := Downtime{Seen: true, From: first, To: first}
	for i, t := range before {
		next := first
		if i+1 < len(before) {
			next = min(first, before[i+1].from)
		}
		if next > a.Start && next-t.to > d.Length() {
			d.From, d.To = t.to, next
		}
		d.Beside += max(0, min(t.to, reign)-max(t.from, first))
	}
	return d
}

// tookWritesUntil returns until when the new primary, which takes writes at from, went on taking them, at most the end of the aftermath.
func (a *aftermath) tookWritesUntil(events []harness.Event, from time.Duration) time.Duration {
	end := from
	for _, e := range events {
		end = max(end, e.At)
	}
	if !a.last {
		end = min(end, a.until)
	}
	for _, t := range writableSpans(events, a.new) {
		if t.from <= from && from <= t.to {
			end = min(end, t.to)
		}
	}
	return end
}
