package analysis

import (
	"cmp"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// writableSpan is a span of time in which a node took writes.
type writableSpan struct{ from, to time.Duration }

// spansOf lists, by node, the spans in which it took writes. If the last one is open, its to is harness.Forever.
func spansOf(events []harness.Event) map[string][]writableSpan {
	spans := map[string][]writableSpan{}
	for _, e := range events {
		all := spans[e.Node]
		switch n := len(all); {
		case e.Kind == harness.EventWritable:
			spans[e.Node] = append(all, writableSpan{e.At, harness.Forever})
		case e.Kind == harness.EventUnwritable && n > 0 && all[n-1].to == harness.Forever:
			all[n-1].to = e.At
		}
	}
	return spans
}

// downtime finds the longest time in which no node took writes, from start to the first write of the new primary.
func (t *takeover) downtime(start time.Duration) Downtime {
	accepted := t.firstOwnWrite()
	if !accepted.Seen || len(t.spans[t.old]) == 0 {
		return Downtime{}
	}
	d := Downtime{Seen: true, From: accepted.At, To: accepted.At, Beside: t.bothTookWrites(accepted.At)}
	var all []writableSpan
	for node := range t.redis {
		all = append(all, t.spans[node]...)
	}
	if len(all) == 0 { // no roles: an older program
		all = slices.Concat(t.spans[t.old], t.spans[t.new])
	}
	slices.SortFunc(all, func(a, b writableSpan) int { return cmp.Compare(a.from, b.from) })
	taken := all[0].to // until when a node took writes
	for _, s := range all[1:] {
		if next := min(s.from, accepted.At); next > start && next-taken > d.Length() {
			d.From, d.To = taken, next
		}
		taken = max(taken, s.to)
	}
	return d
}

// bothTookWrites returns for how long the old and the new primary took writes side by side, from the new one's first
// on, until the next takeover.
func (t *takeover) bothTookWrites(from time.Duration) (beside time.Duration) {
	until := min(t.end, max(t.last, from))
	for _, n := range t.spans[t.new] {
		for _, o := range t.spans[t.old] {
			beside += max(0, min(n.to, o.to, until)-max(n.from, o.from, from))
		}
	}
	return beside
}
