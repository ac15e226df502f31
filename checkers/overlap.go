package checkers

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// overlap is a hold that excludes an earlier one of its lock, provided that the earlier one lasts beyond its Return. If both
// returned at one instant, it has to last beyond that as well. There is one for all earlier holds together: where nobody
// is ever refused, pairs would be too many.
type overlap struct {
	second      *hold
	firsts      int           // holds that may be the first, as long as that is not known
	ties        int           // of these, those that returned at the same instant as the second
	lasted      bool          // the second did last beyond that
	over        bool          // it did not
	first       *hold         // the earliest that is known to have lasted; nil: none
	secondEnded [2]*sight     // the releases that ended the two, where those have shown that they lasted
	heldUntil   time.Duration // when the first hold ended, as far as seen
	thief       *theft        // who may have removed the first one's lock
	decided     bool          // reported, or none

	// widened: the second may have ended before its own Return, at overAt if it is over, since times were widened. So the overlap is
	// decided once that is known.
	widened bool
	overAt  time.Duration
}

// maxUndecided bounds the overlaps that may wait at a time, about 400 bytes each: where somebody who holds a lock without a
// lease stays silent, and others get it, every grant of the rest of a run does.
const maxUndecided = 1 << 12

// open reports whether o is not decided yet. It returns false for nil.
func (o *overlap) open() bool { return o != nil && !o.decided }

// needsSecond reports whether o, which is open, cannot be decided before it is known if its second hold lasts beyond its own Return.
func (o *overlap) needsSecond() bool {
	return !o.lasted && !o.over && (o.widened || o.ties > 0 || o.first != nil && o.first.beginsAtReturnOf(o.second))
}

// close decides o, if that has not been done. It removes the second hold's reference to o: otherwise chains of overlaps would
// keep every hold of a run in memory.
func (p *mutexPass) close(o *overlap) {
	if o.open() {
		o.decided, o.second.overlap = true, nil
		p.locks[o.second.op.Key].decided++
		p.undecided--
	}
}

// dropFirst notes that h is not the first hold of o, as it may have been.
func (p *mutexPass) dropFirst(o *overlap, h *hold) {
	o.removeFirst(h)
	p.decideIfHopeless(o)
}

// removeFirst removes h from the holds that may be the first of o.
func (o *overlap) removeFirst(h *hold) {
	o.firsts--
	if !o.widened && h.beginsAtReturnOf(o.second) {
		o.ties--
	}
}

// decideIfHopeless decides o if it has no first hold any more, and none that may become it.
func (p *mutexPass) decideIfHopeless(o *overlap) {
	if o.firsts == 0 && o.first == nil {
		p.close(o)
	}
}

// endedAtReturn notes that h, which was over at t, did not last beyond its own Return: it excludes nothing that returned at that instant.
// ended gave it up, if that is not nil.
func (p *mutexPass) endedAtReturn(h *hold, t time.Duration, ended *sight) {
	o := h.overlap
	if !o.open() || o.lasted || o.over {
		return
	}
	o.over = true
	if o.widened {
		o.overAt, o.secondEnded[1] = t, ended
		p.confirm(o)
		return
	}
	o.firsts -= o.ties
	o.ties = 0
	if o.first != nil && o.first.beginsAtReturnOf(h) {
		o.first = nil
	}
	p.decideIfHopeless(o)
}

// confirmFirst notes that first lasted beyond the Return of the second hold, until the release ended if that is not nil.
func (o *overlap) confirmFirst(first *hold, ended *sight) {
	if o.first != nil && o.first.seq < first.seq {
		return
	}
	o.first, o.heldUntil, o.secondEnded[0], o.thief = first, first.until, ended, first.thief(o.second)
	if ended != nil {
		o.heldUntil = min(o.heldUntil, ended.op.Call)
	}
}

// secondLastsBeyondFirst reports whether the second hold is known to have lasted beyond the moment from which the first is certain. If it
// was over by then, o has no first hold any more.
func (o *overlap) secondLastsBeyondFirst() bool {
	if !o.widened {
		return o.lasted || !o.first.beginsAtReturnOf(o.second)
	}
	if o.over && o.first.since >= o.overAt || o.first.since >= o.second.until {
		o.first = nil
		return false
	}
	return o.lasted || o.over
}

func (o *overlap) anomaly() harness.Anomaly {
	a, b := o.first.op, o.second.op
	return harness.Anomaly{
		Class: harness.DoubleGrant, Key: a.Key, From: a.Call, To: b.Return, Ops: inOrder(o.sights()), Spans: o.spans(),
		Note: fmt.Sprintf("%s %s %s by %s, while %s certainly held it from %s until %s",
			clientName(b.Client), describeGrant(b), b.Key, formatTime(b.Return), clientName(a.Client), formatTime(a.Return), formatTime(o.heldUntil)),
	}
}

// describeGrant describes how an operation came to hold a lock.
func describeGrant(op harness.Op) string {
	if op.Kind == harness.Extend {
		return "extended"
	}
	return "was granted"
}

// blameRelease attributes a to the release that may have removed the first hold's lock.
func (o *overlap) blameRelease(a *harness.Anomaly) {
	t := o.thief
	a.Class = harness.StolenRelease
	a.Ops = inOrder(append(o.sights(), t.hold.sight, t.release))
	a.Spans = append(a.Spans, t.hold.span(t.hold.op, 2)...)
	a.Note += fmt.Sprintf("; %s, which %s it at %s, had it removed by a release from %s to %s",
		clientName(t.release.op.Client), describeGrant(t.hold.op), formatTime(t.hold.op.Return), formatTime(t.release.op.Call), formatTime(t.release.op.Return))
}

// sights lists the operations that suffice to show the overlap.
func (o *overlap) sights() []sight {
	out := append(o.first.evidenceAgainst(o.second), o.second.sight)
	for _, ended := range o.secondEnded {
		if ended != nil {
			out = append(out, *ended)
		}
	}
	return out
}

// spans lists the certain holds of the two owners. The first owner's span may begin with an earlier grant, which it renewed.
func (o *overlap) spans() []harness.Span {
	return append(o.first.span(o.first.evidenceAgainst(o.second)[0].op, 0), o.second.span(o.second.op, 1)...)
}

// span returns the time from that grant of h's owner until h ended, as far as was seen; none if the lease could be over at once.
func (h *hold) span(began harness.Op, owner int) []harness.Span {
	until, why := h.until, harness.LeaseEnds
	if given := h.tenure.given; given >= 0 && given < until {
		until, why = given, harness.OwnRelease
	}
	return certainSpan(harness.Span{Client: began.Client, Owner: owner, From: began.Return, To: until, Until: why})
}

// pastLease returns the spans of an anomaly in which late met what only the grant by may have left behind, although every lease was
// surely over at over: from the Call of by until then, and on to the Call of late, if that came after it.
func pastLease(by harness.Op, over time.Duration, late harness.Op) []harness.Span {
	all := []harness.Span{{Client: by.Client, Kind: harness.PossibleHold, From: by.Call, To: over}}
	if late.Call > over {
		all = append(all, harness.Span{Client: by.Client, Kind: harness.PastLease, From: over, To: late.Call})
	}
	return all
}

// certainSpan returns s with its end in the form of reports; none if s could be over at once.
func certainSpan(s harness.Span) []harness.Span {
	switch {
	case s.To == forever:
		s.To, s.Until = 0, harness.NothingEnds
	case s.To <= s.From:
		return nil
	}
	return []harness.Span{s}
}

// inOrder lists operations in the order of the history.
func inOrder(sights []sight) []harness.Op {
	slices.SortFunc(sights, func(a, b sight) int { return cmp.Compare(a.seq, b.seq) })
	ops := make([]harness.Op, len(sights))
	for i, s := range sights {
		ops[i] = s.op
	}
	return ops
}

// noteLasted notes that h was not given up before t, and that ended gave it up if that is not nil. If t is later than h's Return, h
// noteLasted beyond it, for which its own overlap may wait.
func (p *mutexPass) noteLasted(h *hold, t time.Duration, ended *sight) {
	if o := h.overlap; o.open() && !o.lasted && !o.over && h.op.Return < t {
		o.lasted, o.secondEnded[1] = true, ended
		p.confirm(o)
	}
}

// confirmLasted notes that h was not given up before t, and that ended gave it up if that is not nil. h overlaps what began before t and
// before the end of its lease. If it was given up, it overlaps nothing else.
func (p *mutexPass) confirmLasted(h *hold, t time.Duration, ended *sight) {
	if h.latest < h.known || ended == nil && t <= h.known {
		return
	}
	for o := range p.locks[h.op.Key].undecidedAfter(h, h.known) {
		if o.second.op.Return < t {
			o.removeFirst(h)
			o.confirmFirst(h, ended)
			p.confirm(o)
		} else if ended != nil {
			p.dropFirst(o, h)
		}
	}
	h.known = max(h.known, t)
}

// confirm reports o if its holds are known to exclude each other.
func (p *mutexPass) confirm(o *overlap) {
	if !o.open() || o.first == nil || !o.secondLastsBeyondFirst() {
		p.decideIfHopeless(o)
		return
	}
	p.close(o)
	if o.second.alreadyCounted() {
		return
	}
	o.second.reported, o.first.tenure.reported, o.second.tenure.reported = true, true, true
	a := o.anomaly()
	if o.thief != nil && !p.faultMayExplain(a) {
		o.blameRelease(&a)
	}
	p.add(a)
}

// faultMayExplain reports whether a fault may explain what happened in the span of a.
func (p *mutexPass) faultMayExplain(a harness.Anomaly) bool {
	return slices.ContainsFunc(p.faults, func(f harness.Influence) bool { return f.Overlaps(a.From, a.To) })
}
