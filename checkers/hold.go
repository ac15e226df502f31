package checkers

import (
	"cmp"
	"fmt"
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
	waiting  []*overlap    // what depends on how long it lasts
	thief    *theft        // a release by another owner that may have removed the lock
	reported bool          // as the second of an overlap
}

// tenure is what an owner has of a lock until it gives it up: a hold, and those that renew it.
type tenure struct {
	seq      int  // of its first hold
	reported bool // it is part of a violation
}

// known reports whether an overlap that h completes is no new violation: it was reported, or h only goes on with what was.
func (h *hold) known() bool {
	return h.reported || h.op.Kind == harness.Extend && h.tenure.reported
}

// renewed ends h at until, if the lease that x set anew may be shorter, and drops the overlaps that this undoes. An ok
// extend shows as well that no release which had returned before it was called removed the lock.
func (h *hold) renewed(x harness.Op, until time.Duration) {
	h.until = min(h.until, until)
	extended := x.Kind == harness.Extend && x.Outcome == harness.OK
	if extended {
		h.thief = h.thief.unless(x)
	}
	for _, o := range h.waiting {
		if o.at >= until {
			o.missing = 0
		}
		if o.first == h {
			o.heldUntil = min(o.heldUntil, until)
			if extended {
				o.thief = o.thief.unless(x)
			}
		}
	}
	h.waiting = slices.DeleteFunc(h.waiting, func(o *overlap) bool { return o.missing == 0 })
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

// overlap is two holds of one lock that share more than an instant, provided that both last beyond at.
type overlap struct {
	first, second *hold // in order of Return
	at            time.Duration
	missing       int           // how many of the two are not yet known to have lasted; 0: decided
	releases      []sight       // those that ended the two, as far as seen
	heldUntil     time.Duration // when the first hold ended, as far as seen
	thief         *theft
}

func (o *overlap) anomaly() harness.Anomaly {
	a, b := o.first.op, o.second.op
	return harness.Anomaly{
		Class: harness.DoubleGrant, Key: a.Key, From: a.Call, To: b.Return, Ops: inOrder(o.sights()),
		Note: fmt.Sprintf("%s %s %s by %s, while %s certainly held it from %s until %s",
			who(b.Client), got(b), b.Key, moment(b.Return), who(a.Client), moment(a.Return), moment(o.heldUntil)),
	}
}

// got says how an operation came to hold a lock.
func got(op harness.Op) string {
	if op.Kind == harness.Extend {
		return "extended"
	}
	return "was granted"
}

// blame makes a the work of the release that may have removed the first hold's lock.
func (o *overlap) blame(a *harness.Anomaly) {
	t := o.thief
	a.Class = harness.StolenRelease
	a.Ops = inOrder(append(o.sights(), t.hold.sight, t.release))
	a.Note += fmt.Sprintf("; %s, which %s it at %s, had it removed by a release from %s to %s",
		who(t.release.op.Client), got(t.hold.op), moment(t.hold.op.Return), moment(t.release.op.Call), moment(t.release.op.Return))
}

// sights are the operations that suffice to show the overlap.
func (o *overlap) sights() []sight {
	return append([]sight{o.first.sight, o.second.sight}, o.releases...)
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

// unless is t, or nil if extend, which was answered ok, shows that its owner had the lock after the release.
func (t *theft) unless(extend harness.Op) *theft {
	if t != nil && extend.Call > t.release.op.Return {
		return nil
	}
	return t
}

// lock is one key.
type lock struct {
	open []*hold // unreleased, and inside their lease or waited for
	late *theft  // the last release that was late
}

// prune drops the holds that x, an acquire, and everything after it comes too late to overlap.
func (l *lock) prune(x harness.Op) {
	l.open = slices.DeleteFunc(l.open, func(h *hold) bool { return h.until <= x.Return && len(h.waiting) == 0 })
}

// suspect notes a release that may have removed the lock of others. One inside its own lease is none: it removed what was
// its own, and a hold beside it, on the other side of a split brain, is not its doing.
func (l *lock) suspect(t *theft) {
	for _, h := range l.open {
		if !t.from(h) {
			continue
		}
		h.thief = t
		for _, o := range h.waiting {
			if o.first == h && o.thief == nil && t.release.op.Call <= o.at {
				o.thief = t
			}
		}
	}
	l.late = t
}

// blame looks for a release that returned before h did and may have removed its lock all the same.
func (l *lock) blame(h *hold) {
	if l.late != nil && l.late.from(h) {
		h.thief = l.late
	}
}
