package checkers

import (
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// overlap is a possible violation: a hold, called the second, with the earlier holds of its lock that may overlap it,
// called the first holds. The second overlaps a first hold if that first hold lasts beyond the Return of the second. If
// the first hold became certain in the instant of that Return, the second also has to last beyond that instant. All
// first holds share one overlap: where a lock refuses nobody, there would be too many pairs.
type overlap struct {
	second       *hold
	firsts       int           // number of first holds for which it is not yet known how long they last
	ties         int           // number of such first holds that became certain in the instant of the second's Return
	secondLasted bool          // the second lasted beyond its own Return
	secondOver   bool          // the second ended at its own Return or earlier
	first        *hold         // the earliest hold that lasted beyond the Return of the second; nil: none is known
	releases     [2]*indexedOp // the releases that prove how long the first and the second lasted; nil: none was needed
	firstUntil   time.Duration // end of the hold in first, as far as known
	theft        *theft        // the late release that may have removed the lock of the hold in first
	decided      bool          // the overlap was reported or ruled out

	// Times were widened (Meta.Widened). In that case the second may have ended before its own Return, and the overlap
	// is decided only once that is known. If secondOver is set, the second ended at secondOverAt.
	widened      bool
	secondOverAt time.Duration
}

// maxUndecided bounds the overlaps that may be undecided at one time, at about 400 bytes each. If an owner whose lease
// has no end stays silent and others get its lock, every further grant of the run opens an overlap.
const maxUndecided = 1 << 12

// open reports whether o is not decided yet. It returns false for nil.
func (o *overlap) open() bool { return o != nil && !o.decided }

// needsSecond reports whether o can be decided only once it is known if its later hold lasted beyond the Return of that
// hold. That is so if times were widened, or if an earlier hold became certain in the instant of that Return. The
// caller has checked that o is open.
func (o *overlap) needsSecond() bool {
	return !o.secondLasted && !o.secondOver &&
		(o.widened || o.ties > 0 || o.first != nil && o.first.beginsAtReturnOf(o.second))
}

// heldUntil applies what is now known of h: it was not released before the time t. The parameter release is the
// operation that released h at t, or nil if none did. First h is confirmed as the later hold of its own overlap,
// afterwards as an earlier hold of others. So overlaps are reported in the order of the history.
func (p *mutexPass) heldUntil(h *hold, t time.Duration, release *indexedOp) {
	p.confirmSecond(h, t, release)
	p.confirmFirsts(h, t, release)
}

// confirmSecond takes note that h lasted until t. If t is after the Return of h, it confirms h as the later hold of its
// overlap.
func (p *mutexPass) confirmSecond(h *hold, t time.Duration, release *indexedOp) {
	if o := h.overlap; o.open() && !o.secondLasted && !o.secondOver && h.op.Return < t {
		o.secondLasted, o.releases[1] = true, release
		p.confirm(o)
	}
}

// confirmFirsts confirms h as an earlier hold of overlaps. h was not released before the time t, so it overlaps each
// later hold that was granted before t and before the lease of h ended. If the parameter release is not nil, it
// released h at t, and h overlaps no hold that returned at t or later.
func (p *mutexPass) confirmFirsts(h *hold, t time.Duration, release *indexedOp) {
	if h.lastExcluded < h.confirmedUntil || release == nil && t <= h.confirmedUntil {
		return
	}
	for o := range p.locks[h.op.Key].overlapsAfter(h, h.confirmedUntil) {
		if o.second.op.Return < t {
			o.removeFirst(h)
			o.confirmFirst(h, release)
			p.confirm(o)
		} else if release != nil {
			p.dropFirst(o, h)
		}
	}
	h.confirmedUntil = max(h.confirmedUntil, t)
}

// confirmFirst records that the given earlier hold of o lasted beyond the Return of the later one. The parameter
// release is the operation that released it, or nil if none is known. If several earlier holds lasted that long, the
// earliest counts.
func (o *overlap) confirmFirst(first *hold, release *indexedOp) {
	if o.first != nil && o.first.seq < first.seq {
		return
	}
	o.first = first
	o.firstUntil = first.until
	o.releases[0] = release
	o.theft = first.theftBefore(o.second)
	if release != nil {
		o.firstUntil = min(o.firstUntil, release.op.Call)
	}
}

// endedAtReturn records that h ended at the time t, which is no later than its own Return. So h does not overlap an
// earlier hold that becomes certain only at that Return. In a widened history h may have ended before its Return. In
// that case the method confirm decides the overlap by t. The parameter release is the operation that released h, or nil
// if none did.
func (p *mutexPass) endedAtReturn(h *hold, t time.Duration, release *indexedOp) {
	o := h.overlap
	if !o.open() || o.secondLasted || o.secondOver {
		return
	}
	o.secondOver = true
	if o.widened {
		o.secondOverAt, o.releases[1] = t, release
		p.confirm(o)
		return
	}
	o.firsts -= o.ties
	o.ties = 0
	if o.first != nil && o.first.beginsAtReturnOf(h) {
		o.first = nil
	}
	p.closeIfNoFirst(o)
}

// dropFirst rules out h as the earlier hold of o, and closes o if no other is left.
func (p *mutexPass) dropFirst(o *overlap, h *hold) {
	o.removeFirst(h)
	p.closeIfNoFirst(o)
}

// removeFirst subtracts h from the number of possible earlier holds.
func (o *overlap) removeFirst(h *hold) {
	o.firsts--
	if !o.widened && h.beginsAtReturnOf(o.second) {
		o.ties--
	}
}

// confirm reports o once it is certain that one of its earlier holds and the later one overlap.
func (p *mutexPass) confirm(o *overlap) {
	if o.open() && o.first != nil && o.secondEndedFirst() {
		o.first = nil
	}
	if !o.open() || o.first == nil || !o.isSecondDecided() {
		p.closeIfNoFirst(o)
		return
	}
	p.close(o)
	if o.second.alreadyCounted() {
		return
	}
	o.second.reported = true
	o.first.tenure.reported = true
	o.second.tenure.reported = true
	a := o.anomaly()
	if o.theft != nil && !p.faultMayExplain(a) {
		o.blameRelease(&a)
	}
	p.add(a)
}

// secondEndedFirst reports whether the later hold ended before the earlier one became certain, so that they do not
// overlap. That is possible only if times were widened.
func (o *overlap) secondEndedFirst() bool {
	return o.widened && (o.secondOver && o.first.certainFrom >= o.secondOverAt || o.first.certainFrom >= o.second.until)
}

// isSecondDecided reports whether it is known how long the later hold lasted, as far as o depends on that.
func (o *overlap) isSecondDecided() bool {
	if o.widened {
		return o.secondLasted || o.secondOver
	}
	return o.secondLasted || !o.first.beginsAtReturnOf(o.second)
}

// closeIfNoFirst closes o if all of its earlier holds are ruled out.
func (p *mutexPass) closeIfNoFirst(o *overlap) {
	if o.firsts == 0 && o.first == nil {
		p.close(o)
	}
}

// close marks o as decided. It removes the later hold's reference to o. Otherwise chains of overlaps would keep every
// hold of a run in memory.
func (p *mutexPass) close(o *overlap) {
	if o.open() {
		o.decided, o.second.overlap = true, nil
		p.locks[o.second.op.Key].decidedOverlaps++
		p.undecidedOverlaps--
	}
}

// faultMayExplain reports whether a fault was in force in the time of the anomaly a, and so may explain it.
func (p *mutexPass) faultMayExplain(a harness.Anomaly) bool {
	return slices.ContainsFunc(p.faults, func(f harness.Influence) bool { return f.Overlaps(a.From, a.To) })
}

func (o *overlap) anomaly() harness.Anomaly {
	a, b := o.first.op, o.second.op
	times := formatOrdered(b.Return, a.Return, o.firstUntil)
	return harness.Anomaly{
		Class: harness.DoubleGrant, Key: a.Key, From: a.Call, To: b.Return, Ops: inOrder(o.evidence()),
		Spans: o.spans(),
		Note: fmt.Sprintf("%s %s %s by %s, while %s certainly held it from %s until %s",
			clientName(b.Client), describeGrant(b), b.Key, times[0], clientName(a.Client), times[1], times[2]),
	}
}

// describeGrant says how the owner got the lock by op: it "extended" the lock or "was granted" it.
func describeGrant(op harness.Op) string {
	if op.Kind == harness.Extend {
		return "extended"
	}
	return "was granted"
}

// blameRelease attributes a to the late release that may have removed the lock of the earlier hold.
func (o *overlap) blameRelease(a *harness.Anomaly) {
	t := o.theft
	a.Class = harness.StolenRelease
	a.Ops = inOrder(append(o.evidence(), t.hold.indexedOp, t.release))
	a.Spans = append(a.Spans, t.hold.span(t.hold.op, 2)...)
	a.Note += fmt.Sprintf("; %s, which %s it at %s, may have removed it by a release from %s to %s",
		clientName(t.release.op.Client), describeGrant(t.hold.op), formatTime(t.hold.op.Return),
		formatTime(t.release.op.Call), formatTime(t.release.op.Return))
}

// evidence lists the operations that suffice to show the overlap.
func (o *overlap) evidence() []indexedOp {
	out := append(o.first.evidenceAgainst(o.second), o.second.indexedOp)
	for _, release := range o.releases {
		if release != nil {
			out = append(out, *release)
		}
	}
	return out
}

// spans lists the times in which each of the two owners certainly held the lock. The first owner's span begins with the
// earliest of its grants that the evidence needs.
func (o *overlap) spans() []harness.Span {
	return append(o.first.span(o.first.evidenceAgainst(o.second)[0].op, 0), o.second.span(o.second.op, 1)...)
}

// span returns the time in which the owner of h certainly held the lock: from the Return of one of its grants, the
// parameter grant, to the end of h, as far as that is known. It returns no span if that time is empty.
func (h *hold) span(grant harness.Op, owner int) []harness.Span {
	until, why := h.until, harness.LeaseEnds
	if releasedAt := h.tenure.releasedAt; releasedAt != noTime && releasedAt < until {
		until, why = releasedAt, harness.OwnRelease
	}
	return certainSpan(harness.Span{Client: grant.Client, Owner: owner, From: grant.Return, To: until, Until: why})
}
