package checkers

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// maxUnreleased is how many unreleased holds of one worker are kept beyond their lease, for the sake of late releases.
const maxUnreleased = 8

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
	until    time.Duration // when it ends if nobody releases it
	known    time.Duration // it is known to have lasted until then: what it overlaps before is decided
	latest   time.Duration // the Return of the latest hold that it may overlap as the first of the two; -1: none
	overlap  *overlap      // with an earlier one; nil: there is none to overlap
	thefts   []*theft      // releases by other owners that may have removed the lock, in the order of the history
	reported bool          // as the second of an overlap
}

// waits reports whether an overlap waits for how long h lasts.
func (h *hold) waits() bool {
	return h.latest >= h.known || h.overlap.open() && !h.overlap.lasted
}

// tenure is what an owner has of a lock until it gives it up: a hold, and those that renew it.
type tenure struct {
	seq      int  // of its first hold
	reported bool // it is part of a violation
}

// told reports whether an overlap that h completes is no new violation: it was reported, or h only goes on with what was.
func (h *hold) told() bool {
	return h.reported || h.op.Kind == harness.Extend && h.tenure.reported
}

// forget drops holds whose lease has ended, once a worker has many of them. Nothing waits for those: whatever did was
// settled when the worker spoke.
func forget(holds []*hold, now sight) []*hold {
	if len(holds) <= maxUnreleased {
		return holds
	}
	return slices.DeleteFunc(holds, func(h *hold) bool {
		return h.until <= now.op.Return && h.seq != now.seq
	})
}

// over reports whether the release, by its owner, may have been executed when the lease was over.
func (h *hold) over(release harness.Op) bool { return release.Return > h.until }

// theft is a late release that was answered ok, with the hold for which it was called: the latest of its owner.
type theft struct {
	hold    *hold
	release sight
}

// from reports whether the release may have removed the lock of h: somebody else's later hold, which can have begun before
// the release was over.
func (t *theft) from(h *hold) bool {
	return t.hold.tenure.seq < h.seq && t.hold.owner != h.owner && t.release.op.Return >= h.op.Call
}

// theftsKept is how many thefts of one hold are kept, the latest.
const theftsKept = 16

// thief is the theft that explains why second could be granted the lock of h: the last one before that, or else the first
// that was under way then.
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

// meet notes which holds that are open h may overlap. It returns how many they are, and opens an overlap if there is room
// for it.
func (l *lock) meet(h *hold, room bool) int {
	n := 0
	for _, first := range l.open {
		if first.until > h.op.Return && first.owner != h.owner {
			if room {
				first.latest = h.op.Return
			}
			n++
		}
	}
	if n > 0 && room {
		h.overlap = &overlap{second: h, firsts: n}
		l.undecided = append(l.undecided, h.overlap)
	}
	return n
}

// seconds ranges over what is undecided and may have h as its first hold, from the one that returned at from on.
func (l *lock) seconds(h *hold, from time.Duration) iter.Seq[*overlap] {
	from = max(from, h.known)
	return func(yield func(*overlap) bool) {
		n, _ := slices.BinarySearchFunc(l.undecided, from, func(o *overlap, t time.Duration) int { return cmp.Compare(o.second.op.Return, t) })
		for _, o := range l.undecided[n:] {
			s := o.second
			if s.seq > h.seq && s.op.Return < h.until && s.owner != h.owner && !yield(o) {
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

// suspect notes a release that may have removed the lock of others. One inside its own lease is none: it removed what was
// its own, and a hold beside it, on the other side of a split brain, is not its doing.
func (l *lock) suspect(t *theft) {
	for _, h := range l.open {
		if t.from(h) {
			h.thefts = lastOf(append(h.thefts, t), theftsKept)
		}
	}
	l.late = t
}

// blame looks for a release that returned before h did and may have removed its lock all the same.
func (l *lock) blame(h *hold) {
	if l.late != nil && l.late.from(h) {
		h.thefts = append(h.thefts, l.late)
	}
}
