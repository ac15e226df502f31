package checkers

import (
	"maps"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// writeCounts counts writes by client group, by fault and by time, and how many of them were lost.
type writeCounts struct {
	meta             harness.Meta
	faults           []faultCounts
	total            count
	guarded          count // writes to resources that locks guard
	groups           map[int]*count
	cut, others      count // writes during partitions: by clients that were cut off, and by the others
	partitions       int
	refused, unknown int
	recovered        int
	lost             []harness.Op // the lost writes with the first and the last Return, in this order; nil: none
	lostInFaults     int
}

// count holds the number of acknowledged writes, and how many of them were lost.
type count struct{ acknowledged, lost int }

func (c *count) add(lost bool) {
	c.acknowledged++
	if lost {
		c.lost++
	}
}

// percent returns the share of acknowledged writes that were lost, as a figure. It returns nothing if no write was
// acknowledged.
func (c count) percent(m harness.Metric) []harness.Figure {
	if c.acknowledged == 0 {
		return nil
	}
	return []harness.Figure{m.Of(100 * float64(c.lost) / float64(c.acknowledged))}
}

// faultCounts counts the writes during one fault.
type faultCounts struct {
	harness.Fault
	total count
}

func newWriteCounts(h harness.History) *writeCounts {
	l := &writeCounts{meta: h.Meta, groups: map[int]*count{}}
	for _, f := range h.Faults {
		if len(f.Groups) > 0 {
			l.partitions++
		}
		l.faults = append(l.faults, faultCounts{Fault: f})
	}
	return l
}

// count adds the write w to the counts. If present is true, the final read shows w. If lost is true, the final read
// ought to show w and does not.
func (l *writeCounts) count(w harness.Op, present, lost bool) {
	switch w.Outcome {
	case harness.OK:
		l.acknowledge(w, lost)
	case harness.Fail:
		l.refused++
	default:
		l.unknown++
		if present {
			l.recovered++
		}
	}
}

func (l *writeCounts) acknowledge(w harness.Op, lost bool) {
	group := l.meta.Group(w.Client)
	l.total.add(lost)
	entry(l.groups, group).add(lost)
	if lost {
		l.widenLostSpan(w)
	}
	inFault, inPartition := false, false
	for i := range l.faults {
		f := &l.faults[i]
		if !f.during(w.Return) {
			continue
		}
		inFault = true
		f.total.add(lost)
		if len(f.Groups) > 0 && !inPartition {
			inPartition = true
			l.sideOf(f.Fault, group).add(lost)
		}
	}
	if lost && inFault {
		l.lostInFaults++
	}
}

// sideOf returns the count to which writes of a client group belong during the partition f: that of groups cut off, or
// that of the others.
func (l *writeCounts) sideOf(f harness.Fault, group int) *count {
	if slices.Contains(f.Groups, group) {
		return &l.cut
	}
	return &l.others
}

// widenLostSpan extends the time from the first to the last lost write, so that it includes the Return of w.
func (l *writeCounts) widenLostSpan(w harness.Op) {
	switch {
	case l.lost == nil:
		l.lost = []harness.Op{w, w}
	case w.Return < l.lost[0].Return:
		l.lost[0] = w
	case w.Return > l.lost[1].Return:
		l.lost[1] = w
	}
}

// during reports whether t lies between the fault's Start and its Heal.
func (f *faultCounts) during(t time.Duration) bool {
	return f.Start <= t && (t <= f.Heal || f.Heal == 0)
}

// untilNextFault returns the end of a span of time, [from, to], if a fault overlaps the span. Otherwise it returns the
// start of the next fault, which may lose a write that was acknowledged just before. If there is no next fault either,
// it returns the end of the span.
func (l *writeCounts) untilNextFault(from, to time.Duration) time.Duration {
	next := forever
	for _, f := range l.faults {
		if f.Overlaps(from, to) {
			return to
		}
		if f.Start > to {
			next = min(next, f.Start)
		}
	}
	if next == forever {
		return to
	}
	return next
}

// figures lists all counts in a fixed order. Groups without an acknowledged write are left out.
func (l *writeCounts) figures() []harness.Figure {
	out := []harness.Figure{FigureAdded.Count(l.total.acknowledged), FigureLost.Count(l.total.lost)}
	out = append(out, l.total.percent(FigureLostPercent)...)
	if l.guarded.acknowledged > 0 {
		out = append(out, figureUpdates.Count(l.guarded.acknowledged), FigureLostUpdates.Count(l.guarded.lost))
		out = append(out, l.guarded.percent(figureLostUpdatesPercent)...)
	}
	out = append(out, FigureRefused.Count(l.refused), FigureUnknown.Count(l.unknown),
		FigureRecovered.Count(l.recovered))
	for _, g := range slices.Sorted(maps.Keys(l.groups)) {
		out = append(out,
			figureGroupAdded.In(g).Count(l.groups[g].acknowledged),
			figureGroupLost.In(g).Count(l.groups[g].lost))
	}
	if l.partitions > 0 {
		out = append(out,
			figureCutAdded.Count(l.cut.acknowledged),
			figureOthersAdded.Count(l.others.acknowledged),
			figureCutLost.Count(l.cut.lost),
			figureOthersLost.Count(l.others.lost))
	}
	return append(out, l.lostTimes()...)
}

// lostTimes returns the rate of losses, and when the first and the last lost write was acknowledged, in seconds from
// the start of a fault. The fault is the first one that overlaps or follows the lost writes. If a write was
// acknowledged just before the fault, its time is negative.
func (l *writeCounts) lostTimes() []harness.Figure {
	if l.lost == nil {
		return nil
	}
	first, last := l.lost[0], l.lost[1]
	reach := l.untilNextFault(first.Call, last.Return)
	for _, f := range l.faults {
		if f.Overlaps(first.Call, reach) {
			return append(l.lostRate(),
				figureFirstLost.Of((first.Return - f.Start).Seconds()),
				figureLastLost.Of((last.Return - f.Start).Seconds()))
		}
	}
	return nil
}

// lostRate returns the lost writes per second of fault. A fault in which nothing was lost does not count.
func (l *writeCounts) lostRate() []harness.Figure {
	var length time.Duration
	for _, f := range l.faults {
		if f.total.lost > 0 && f.Heal > 0 {
			length += f.Heal - f.Start
		}
	}
	if length <= 0 {
		return nil
	}
	return []harness.Figure{figureLostRate.Of(float64(l.lostInFaults) / length.Seconds())}
}
