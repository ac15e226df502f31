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

// hold is what one ok acquire or extend was granted. [Mutex] says when it ends.
type hold struct {
	indexedOp // the grant
	owner     owner
	tenure    *tenure
	ownTenure tenure // the tenure that this hold starts, unless it continues another hold

	// The hold is certain from certainFrom on. That is the Return of the first of links, or of op if there are no links.
	certainFrom    time.Duration
	links          []*link       // earlier grants of the owner that prove certainFrom
	linksDropped   bool          // some of these links were dropped
	until          time.Duration // the end of the hold if nobody releases it; not before op.Call
	untilAtReturn  time.Duration // what until was when op returned
	confirmedUntil time.Duration // every overlap before this time is decided; the hold lasted at least that long

	// The overlaps that the hold is part of.
	overlap      *overlap      // its overlap with earlier holds; nil: there is none, or it is decided
	reported     bool          // it was reported as the second hold of an overlap
	lastExcluded time.Duration // the Return of the latest hold that this one may exclude, or noTime
	thefts       []*theft      // late releases by other owners that may have removed this lock, in their order

	// Its place among the holds of its worker: see workerHolds.
	previous *hold // an earlier hold of the same lock and token whose overlaps are undecided
	queued   bool  // it is in workerHolds.waiting
}

// noTime stands for a time that is not known. Times of a run are never negative.
const noTime time.Duration = -1

// newHold returns the hold of op, an ok acquire or extend of the owner o. The hold ends at until if nobody releases it
// earlier. It starts a tenure.
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

// isAwaited reports whether an overlap waits until it is known how long h lasts.
func (h *hold) isAwaited() bool {
	return h.lastExcluded >= h.confirmedUntil || h.overlap.open() && h.overlap.needsSecond()
}

// excludes reports whether h and later exclude each other, as far as their leases go: each hold was granted before the
// lease of the other can have ended. The grant of later must not return before that of h.
func (h *hold) excludes(later *hold) bool {
	return h.outlives(later) && h.certainFrom < later.untilAtReturn
}

// outlives reports whether later belongs to another owner and was granted before the lease of h can have ended.
func (h *hold) outlives(later *hold) bool { return h.owner != later.owner && later.op.Return < h.until }

// beginsAtReturnOf reports whether h becomes certain in the very instant in which later returned. Then h and later
// exclude each other only if later lasts beyond that instant.
func (h *hold) beginsAtReturnOf(later *hold) bool { return h.certainFrom == later.op.Return }

// link is a grant that its owner renewed before the grant can have ended.
type link struct {
	indexedOp
	until time.Duration
}

// linksKept bounds hold.links. A grant is no link if the lease of an earlier link outlasts it.
const linksKept = 16

// continueFrom makes h continue previous, a hold of the same owner. If previous cannot have ended when h returned, the
// owner had the lock all the while, so h is certain from the same time as previous.
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

// evidenceAgainst lists the grants, of h and its links, that suffice to show that h and later exclude each other.
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

// tenure is a series of holds in which each renews the one before, until the owner releases the lock.
type tenure struct {
	seq        int           // place of its first hold in the history
	reported   bool          // one of its holds is part of a reported violation
	releasedAt time.Duration // the Call of its release, or noTime
}

// alreadyCounted reports whether the violation that h completes was counted before. A violation by an extend was
// counted if any hold of its tenure was reported.
func (h *hold) alreadyCounted() bool {
	return h.reported || h.op.Kind == harness.Extend && h.tenure.reported
}

// expiredBefore reports whether release, by the owner of h, may have been executed after the lease of h had ended.
func (h *hold) expiredBefore(release harness.Op) bool { return release.Return > h.until }

// theft is a release that was answered ok and may have been executed after its owner's lease. Then it may have removed
// the lock of another owner. hold is the latest hold of the release's owner.
type theft struct {
	hold    *hold
	release indexedOp
}

// mayHaveRemoved reports whether the release may have removed the lock of h. It may if h is a later hold of another
// owner and was called before the release returned.
func (t *theft) mayHaveRemoved(h *hold) bool {
	return t.hold.tenure.seq < h.seq && t.hold.owner != h.owner && t.release.op.Return >= h.op.Call
}

// theftsKept bounds the thefts kept for one hold. The latest are kept.
const theftsKept = 16

// theftBefore returns the theft that explains why second was granted the lock while h had it, or nil. It takes the last
// theft that returned before second or, without one, the first that was under way when second returned.
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

// lock is one key.
type lock struct {
	holds           []*hold    // not released, and either inside their lease or awaited by an overlap
	overlaps        []*overlap // in the order of the history; sweep removes those that are decided
	decidedOverlaps int        // how many of overlaps are decided
	lateRelease     *theft     // the last late release
}

// prune drops the holds that ended before x, a grant, returned, unless an overlap waits for them. No later grant can
// overlap what it drops.
func (l *lock) prune(x harness.Op) {
	l.holds = slices.DeleteFunc(l.holds, func(h *hold) bool { return h.until <= x.Return && !h.isAwaited() })
}

// overlapsAfter ranges over the undecided overlaps in which h may be a first hold and whose second hold returned at
// from or later.
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

// mayOverlapIn reports whether h may be a first hold of o. If h becomes certain in the very instant in which o's second
// hold returned, the second hold must not have been over then: see beginsAtReturnOf.
func (h *hold) mayOverlapIn(o *overlap) bool {
	s := o.second
	touchesOnly := o.secondOver && !o.widened && h.beginsAtReturnOf(s)
	return s.seq > h.seq && h.excludes(s) && !touchesOnly
}

// sweep drops the decided overlaps once they are more than half of all. There can be many while one overlap waits for a
// silent owner.
func (l *lock) sweep() {
	if 2*l.decidedOverlaps > len(l.overlaps) {
		l.overlaps = slices.DeleteFunc(l.overlaps, func(o *overlap) bool { return o.decided })
		l.decidedOverlaps = 0
	}
}

// noteSuspectRelease notes the release of t with the holds of other owners whose lock it may have removed. Only a
// release after its owner's lease is suspect. An earlier release removed its own lock, so if another owner held the
// lock then, that has another cause, such as a second primary.
func (l *lock) noteSuspectRelease(t *theft) {
	for _, h := range l.holds {
		if t.mayHaveRemoved(h) {
			h.thefts = lastOf(append(h.thefts, t), theftsKept)
		}
	}
	l.lateRelease = t
}

// noteLastTheft adds the last late release to h.thefts if it may have removed the lock of h. It may have done so even if
// it returned before the acquire of h did.
func (l *lock) noteLastTheft(h *hold) {
	if l.lateRelease != nil && l.lateRelease.mayHaveRemoved(h) {
		h.thefts = append(h.thefts, l.lateRelease)
	}
}
