package checkers

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// sight is an operation with its place in the history. Operations that share all their times, as those of one worker may,
// are told apart by nothing else.
type sight struct {
	op  harness.Op
	seq int
}

// hold is the hold of one ok acquire or extend.
type hold struct {
	sight
	owner    owner
	tenure   *tenure
	own      tenure        // the tenure, if it began with this hold
	until    time.Duration // when it can be over, if nobody releases it; not before op.Call
	least    time.Duration // the value of until when op returned
	known    time.Duration // it is known to have lasted until then: what it overlaps before is decided
	latest   time.Duration // the Return of the latest hold that it may overlap as the first of the two; -1: none
	overlap  *overlap      // with an earlier one; nil: there is none to overlap
	thefts   []*theft      // releases by other owners that may have removed the lock, in the order of the history
	reported bool          // as the second of an overlap
	since    time.Duration // the owner has had the lock for certain since then: the Return of the first of links, or its own
	links    []*link       // the earlier grants that show it
	cut      bool          // there are more of these
	queued   bool          // among the waiting of its worker
	before   *hold         // an earlier one of the same lock and token that is still waited for
}

// waits reports whether an overlap waits for how long h lasts.
func (h *hold) waits() bool {
	return h.latest >= h.known || h.overlap.open() && h.overlap.needsSecond()
}

// meets reports whether h and later, which returned after it or at the same time, exclude each other by their leases: neither can
// be over before the other is granted.
func (h *hold) meets(later *hold) bool { return h.outlives(later) && h.since < later.least }

// outlives reports whether h is of another owner, and its lease is not over when later is granted.
func (h *hold) outlives(later *hold) bool { return h.owner != later.owner && later.op.Return < h.until }

// beginsAtReturnOf reports whether later returned at the instant when h began: then they exclude each other only if later lasts beyond it.
func (h *hold) beginsAtReturnOf(later *hold) bool { return h.since == later.op.Return }

// link is a grant that its owner renewed before it could be over.
type link struct {
	sight
	until time.Duration
}

// linksKept bounds the renewals through which an owner's hold is followed back, not counting those inside an earlier lease.
const linksKept = 16

// continueFrom makes h go on with before, a hold of the same owner. If that could not be over when h returned, nobody else can have
// been granted the lock between the two.
func (h *hold) continueFrom(before *hold) {
	h.tenure = before.tenure
	if before.until <= h.op.Return {
		return
	}
	links := before.links
	n := slices.IndexFunc(links, func(l *link) bool { return l.until > h.op.Return })
	if n >= 0 {
		links = slices.Clip(links[:n+1])
	} else {
		links = append(slices.Clip(links), &link{before.sight, before.until})
	}
	h.cut = before.cut || len(links) > linksKept
	h.links = links[max(0, len(links)-linksKept):]
	h.since = h.links[0].op.Return
}

// evidenceAgainst lists the operations of h and its links that are needed to exclude later.
func (h *hold) evidenceAgainst(later *hold) []sight {
	if h.op.Return < later.least {
		return []sight{h.sight}
	}
	var all []sight
	for _, l := range h.links {
		all = append(all, l.sight)
		if l.until > later.op.Return {
			break
		}
	}
	if h.links[len(all)-1].until <= later.op.Return {
		all = append(all, h.sight)
	}
	for len(all) > 1 && all[1].op.Return < later.least {
		all = all[1:]
	}
	return all
}

// tenure is a hold of a lock together with the holds that renew it, until the owner gives the lock up.
type tenure struct {
	seq      int           // of its first hold
	reported bool          // it is part of a violation
	given    time.Duration // the Call of the release that gave it up; -1: none was seen
}

// alreadyCounted reports whether the violation that h completes was counted before.
func (h *hold) alreadyCounted() bool {
	return h.reported || h.op.Kind == harness.Extend && h.tenure.reported
}

// expiredBefore reports whether the release, by its owner, may have been executed when the lease was over.
func (h *hold) expiredBefore(release harness.Op) bool { return release.Return > h.until }

// theft is a late release that was answered ok, with the hold for which it was called: the latest of its owner.
type theft struct {
	hold    *hold
	release sight
}

// mayHaveRemoved reports whether the release may have removed the lock of h, a later hold of somebody else: h can have begun before
// the release was over.
func (t *theft) mayHaveRemoved(h *hold) bool {
	return t.hold.tenure.seq < h.seq && t.hold.owner != h.owner && t.release.op.Return >= h.op.Call
}

// theftsKept bounds the thefts of one hold that are kept. The latest are kept.
const theftsKept = 16

// thief returns the theft that explains why second could be granted the lock of h: the last one before that grant, or else the
// first that was under way then.
func (h *hold) thief(second *hold) (before *theft) {
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
	open      []*hold    // unreleased, and inside their lease or waited for
	undecided []*overlap // in the order of the history; some are decided, see sweep
	decided   int        // of those
	late      *theft     // the last release that was late
}

// prune drops the holds that x, an acquire, and everything after it comes too late to overlap.
func (l *lock) prune(x harness.Op) {
	l.open = slices.DeleteFunc(l.open, func(h *hold) bool { return h.until <= x.Return && !h.waits() })
}

// undecidedAfter ranges over what is undecided and may have h as its first hold, from the one that returned at from on.
func (l *lock) undecidedAfter(h *hold, from time.Duration) iter.Seq[*overlap] {
	from = max(from, h.known)
	return func(yield func(*overlap) bool) {
		n, _ := slices.BinarySearchFunc(l.undecided, from, func(o *overlap, t time.Duration) int { return cmp.Compare(o.second.op.Return, t) })
		for _, o := range l.undecided[n:] {
			s := o.second
			if s.seq > h.seq && h.meets(s) && !(o.over && !o.widened && h.beginsAtReturnOf(s)) && !yield(o) {
				return
			}
		}
	}
}

// sweep drops what is decided once it is half of all: those that wait for somebody who stays silent can be many.
func (l *lock) sweep() {
	if 2*l.decided > len(l.undecided) {
		l.undecided = slices.DeleteFunc(l.undecided, func(o *overlap) bool { return o.decided })
		l.decided = 0
	}
}

// noteSuspectRelease notes a release that may have removed the lock of others. A release inside its own lease is not suspect: it
// removed its own lock, and did not cause a hold beside it, on the other side of a split brain.
func (l *lock) noteSuspectRelease(t *theft) {
	for _, h := range l.open {
		if t.mayHaveRemoved(h) {
			h.thefts = lastOf(append(h.thefts, t), theftsKept)
		}
	}
	l.late = t
}

// blameRelease looks for a release that returned before h did and may have removed its lock all the same.
func (l *lock) blameRelease(h *hold) {
	if l.late != nil && l.late.mayHaveRemoved(h) {
		h.thefts = append(h.thefts, l.late)
	}
}
