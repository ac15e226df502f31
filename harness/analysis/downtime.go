package analysis

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// taking is a time in which a node took writes.
type taking struct{ from, to time.Duration }

// takings lists when the node took writes, by events in order of time. The last one may be open: to is then harness.Forever.
func takings(events []harness.Event, node string) []taking {
	var all []taking
	for _, e := range events {
		switch n := len(all); {
		case e.Node != node:
		case e.Kind == harness.EventWritable:
			all = append(all, taking{e.At, harness.Forever})
		case e.Kind == harness.EventUnwritable && n > 0 && all[n-1].to == harness.Forever:
			all[n-1].to = e.At
		}
	}
	return all
}

// downtime is the longest time since the fault began in which neither the old primary nor the new one took writes, until the
// new one took its first.
func (a *aftermath) downtime(events []harness.Event) Downtime {
	accepted := a.accepted()
	before := takings(events, a.old)
	if !accepted.Seen || len(before) == 0 {
		return Downtime{}
	}
	first, reign := accepted.At, a.reign(events, accepted.At)
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

// reign is until when the new primary took writes, from then on; the end of the aftermath at the latest.
func (a *aftermath) reign(events []harness.Event, from time.Duration) time.Duration {
	end := from
	for _, e := range events {
		end = max(end, e.At)
	}
	if !a.last {
		end = min(end, a.until)
	}
	for _, t := range takings(events, a.new) {
		if t.from <= from && from <= t.to {
			end = min(end, t.to)
		}
	}
	return end
}
