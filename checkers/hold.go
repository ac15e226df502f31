package checkers

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// indexedOp is an operation with its place in the history. Operations of one worker may share all their times, so only
// the place tells them apart.
type indexedOp struct {
	op  harness.Op
	seq int
}

// hold is the time for which the grant of one ok acquire or extend holds a lock. [Mutex] says when it ends.
type hold struct {
	indexedOp // the grant
	owner     owner
	tenure    *tenure
	ownTenure tenure // the tenure that begins with this hold, unless the hold continues another one

	// The time from which on the hold is certain. That is the Return of the first grant in links, or of op if links is
	// empty.
	certainFrom    time.Duration
	links          []*link       // earlier grants of the owner, which prove the time certainFrom
	linksDropped   bool          // some of these links were dropped
	until          time.Duration // the end of the hold if nobody releases it; not before op.Call
	untilAtReturn  time.Duration // value of the field until when op returned
	confirmedUntil time.Duration // every overlap before this time is decided; the hold lasted at least until then

	// The overlaps of which the hold is a part.
	overlap      *overlap      // its overlap with earlier holds; nil: there is none, or it is decided
	reported     bool          // the hold was reported as the later one of an overlap
	lastExcluded time.Duration // Return of the latest hold that this one may exclude, or noTime
	thefts       []*theft      // late releases by others that may have removed this lock, in the order of the history

	// The hold's place among the holds of its worker, as workerHolds describes it.
	previous *hold // an earlier hold of the same lock and token whose overlaps are undecided
	queued   bool  // the hold is in workerHolds.waiting
}

// noTime stands for a time that is not known. Times of a run are never negative.
const noTime time.Duration = -1

// newHold returns the hold of op, an ok acquire or extend of the owner o that renews no earlier hold. The parameter
// until is the end of the hold if nobody releases it earlier.
func newHold(op indexedOp, o owner, until time.Duration) *hold {
	h := &hold{
		indexedOp:      op,
		owner:          o,
		until:          until,
		untilAtReturn:  until,
		confirmedUntil: op.op.Return,
		lastExcluded:   noTime,
		certainFrom:    op.op.Return,
		ownTenure:      tenure{seq: op.seq, releasedAt: noTime},
	}
	h.tenure = &h.ownTenure
	return h
}

// isAwaited reports whether a possible violation depends on how long h lasts, and that is not known yet.
func (h *hold) isAwaited() bool {
	return h.lastExcluded >= h.confirmedUntil || h.overlap.open() && h.overlap.needsSecond()
}

// excludes reports whether the leases of h and of the given later hold contradict each other: each was granted before
// the lease of the other can have ended. The grant of the later hold returned no earlier than the grant of h.
func (h *hold) excludes(later *hold) bool {
	return h.outlives(later) && h.certainFrom < later.untilAtReturn
}

// outlives reports whether the given later hold belongs to another owner and was granted before the lease of h can have
// ended.
func (h *hold) outlives(later *hold) bool { return h.owner != later.owner && later.op.Return < h.until }

// beginsAtReturnOf reports whether h becomes certain in the very instant in which the grant of the given later hold
// returned. If so, the two overlap only if the later hold lasts beyond that instant.
func (h *hold) beginsAtReturnOf(later *hold) bool { return h.certainFrom == later.op.Return }

// link is a grant that its owner renewed before the grant can have ended.
type link struct {
	indexedOp
	until time.Duration
}

// linksKept bounds hold.links. A grant is not kept as a link if the lease of an earlier link ends later.
const linksKept = 16

// continueFrom makes h continue an earlier hold of the same owner. If the earlier hold cannot have ended when h
// returned, the owner had the lock without a break. In that case h is certain from the same time as the earlier hold.
func (h *hold) continueFrom(previous *hold) {
	h.tenure = previous.tenure
	if previous.until <= h.op.Return {
		return
	}
	links := previous.links
	n := slices.IndexFunc(links, func(l *link) bool { return l.until > h.op.Return })
	if n >= 0 {
		links = slices.Clip(links[:n+1])
	} else {
		links = append(slices.Clip(links), &link{previous.indexedOp, previous.until})
	}
	h.linksDropped = previous.linksDropped || len(links) > linksKept
	h.links = links[max(0, len(links)-linksKept):]
	h.certainFrom = h.links[0].op.Return
}

// evidenceAgainst lists the grants that suffice to show that h and the given later hold exclude each other: the grant
// of h, or earlier grants that h renewed, or both.
func (h *hold) evidenceAgainst(later *hold) []indexedOp {
	if h.op.Return < later.untilAtReturn {
		return []indexedOp{h.indexedOp}
	}
	var all []indexedOp
	for _, l := range h.links {
		all = append(all, l.indexedOp)
		if l.until > later.op.Return {
			break
		}
	}
	if h.links[len(all)-1].until <= later.op.Return {
		all = append(all, h.indexedOp)
	}
	for len(all) > 1 && all[1].op.Return < later.untilAtReturn {
		all = all[1:]
	}
	return all
}

// tenure is a series of holds. Each renews the hold before it, until the owner releases the lock.
type tenure struct {
	seq        int           // place of the first hold in the history
	reported   bool          // one of its holds is part of a reported violation
	releasedAt time.Duration // Call of the release that ends the tenure, or noTime
}

// alreadyCounted reports whether the violation in which h is the later hold was counted before. If h is the hold of an
// extend, its violation was counted before if the owner has been part of a reported violation since it got the lock.
func (h *hold) alreadyCounted() bool {
	return h.reported || h.op.Kind == harness.Extend && h.tenure.reported
}

// expiredBefore reports whether a release, which the owner of h called, may have been executed after the lease of h had
// ended.
func (h *hold) expiredBefore(release harness.Op) bool { return release.Return > h.until }

// theft is a release that was answered ok and may have been executed after its owner's lease. So it may have removed
// the lock of the next owner. The field hold is the latest hold of the release's owner.
type theft struct {
	hold    *hold
	release indexedOp
}

// mayHaveRemoved reports whether the release may have removed the lock of h. It may if h belongs to another owner, came
// after the owner of the release got the lock, and was called before the release returned.
func (t *theft) mayHaveRemoved(h *hold) bool {
	return t.hold.tenure.seq < h.seq && t.hold.owner != h.owner && t.release.op.Return >= h.op.Call
}

// theftsKept is the number of thefts kept for one hold: the latest ones.
const theftsKept = 16

// theftBefore returns the late release that may explain why a second hold was granted while h had the lock, or nil. It
// takes the last release that returned before that grant did. If there is none, it takes the first release that was
// under way when the grant returned.
func (h *hold) theftBefore(second *hold) (before *theft) {
	for _, t := range h.thefts {
		switch {
		case t.release.seq < second.seq:
			before = t
		case before == nil && t.release.op.Call <= second.op.Return:
			return t
		}
	}
	return before
}

// lock holds what is known of one lock, which is one key.
type lock struct {
	holds           []*hold    // unreleased holds that are within their lease, or part of an undecided overlap
	overlaps        []*overlap // in the order of the history; sweep removes those that are decided
	decidedOverlaps int        // number of overlaps that are decided
	lateRelease     *theft     // the last late release
}

// prune drops the holds that ended before the grant x returned: no later grant can overlap them. It keeps a hold as
// long as a possible violation depends on it.
func (l *lock) prune(x harness.Op) {
	l.holds = slices.DeleteFunc(l.holds, func(h *hold) bool { return h.until <= x.Return && !h.isAwaited() })
}

// overlapsAfter ranges over the undecided overlaps of h with later holds. It leaves out those whose later hold returned
// before the time in the parameter from.
func (l *lock) overlapsAfter(h *hold, from time.Duration) iter.Seq[*overlap] {
	from = max(from, h.confirmedUntil)
	return func(yield func(*overlap) bool) {
		n, _ := slices.BinarySearchFunc(l.overlaps, from,
			func(o *overlap, t time.Duration) int { return cmp.Compare(o.second.op.Return, t) })
		for _, o := range l.overlaps[n:] {
			if h.mayOverlapIn(o) && !yield(o) {
				return
			}
		}
	}
}

// mayOverlapIn reports whether h may be the earlier hold of the overlap o. If h became certain in the very instant in
// which the later hold returned, that hold must have lasted beyond that instant.
func (h *hold) mayOverlapIn(o *overlap) bool {
	s := o.second
	touchesOnly := o.secondOver && !o.widened && h.beginsAtReturnOf(s)
	return s.seq > h.seq && h.excludes(s) && !touchesOnly
}

// sweep drops the decided overlaps once they are more than half of all. Many can pile up behind an overlap that is
// undecided because an owner stays silent.
func (l *lock) sweep() {
	if 2*l.decidedOverlaps > len(l.overlaps) {
		l.overlaps = slices.DeleteFunc(l.overlaps, func(o *overlap) bool { return o.decided })
		l.decidedOverlaps = 0
	}
}

// noteSuspectRelease adds the late release t to the holds of other owners whose lock it may have removed. A release
// within its owner's lease is not suspect, since it removed the lock of that owner. If another owner held the lock
// then, there is another cause, such as a second primary.
func (l *lock) noteSuspectRelease(t *theft) {
	for _, h := range l.holds {
		if t.mayHaveRemoved(h) {
			h.thefts = lastOf(append(h.thefts, t), theftsKept)
		}
	}
	l.lateRelease = t
}

// noteLastTheft adds the lock's last late release to h.thefts if that release may have removed the lock of h. It may
// have done so even if it returned before the acquire of h.
func (l *lock) noteLastTheft(h *hold) {
	if l.lateRelease != nil && l.lateRelease.mayHaveRemoved(h) {
		h.thefts = append(h.thefts, l.lateRelease)
	}
}
