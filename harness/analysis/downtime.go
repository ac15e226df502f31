package analysis

import (
	"cmp"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// writableSpan is a period in which a node accepted writes.
type writableSpan struct{ from, to time.Duration }

// spansOf lists, by node, the periods in which it accepted writes. The last one ends at harness.Forever if its end was
// not recorded.
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

// downtime finds the longest time without a node that accepts writes, between the time in the parameter start and the
// first write of the new primary.
func (t *takeover) downtime(start time.Duration) Downtime {
	accepted := t.firstProbeWrite()
	if !accepted.Seen || len(t.spans[t.old]) == 0 {
		return Downtime{}
	}
	d := Downtime{Seen: true, From: accepted.At, To: accepted.At, BothWritable: t.bothTookWrites(accepted.At)}
	var all []writableSpan
	for node := range t.redis {
		all = append(all, t.spans[node]...)
	}
	if len(all) == 0 { // records of older programs have no roles
		all = slices.Concat(t.spans[t.old], t.spans[t.new])
	}
	slices.SortFunc(all, func(a, b writableSpan) int { return cmp.Compare(a.from, b.from) })
	writableUntil := all[0].to // end of the writable time so far
	for _, s := range all[1:] {
		if next := min(s.from, accepted.At); next > start && next-writableUntil > d.Length() {
			d.From, d.To = writableUntil, next
		}
		writableUntil = max(writableUntil, s.to)
	}
	return d
}

// bothTookWrites returns for how long both the old and the new primary accepted writes, after the time in the parameter
// from and before the next takeover.
func (t *takeover) bothTookWrites(from time.Duration) (beside time.Duration) {
	until := min(t.next, max(t.lastEvent, from))
	for _, n := range t.spans[t.new] {
		for _, o := range t.spans[t.old] {
			beside += max(0, min(n.to, o.to, until)-max(n.from, o.from, from))
		}
	}
	return beside
}
