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

// hold is the hold of one ok acquire.
type hold struct {
	sight
	owner    owner
	until    time.Duration // when it ends if nobody releases it
	waiting  []*overlap    // what depends on how long it lasts
	thief    *theft        // a release by another owner that may have removed the lock
	reported bool          // as the second of an overlap
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
		Note: fmt.Sprintf("client %d was granted %s by %s, while client %d certainly held it from %s until %s",
			b.Client, b.Key, moment(b.Return), a.Client, moment(a.Return), moment(o.heldUntil)),
	}
}

// blame makes a the work of the release that may have removed the first hold's lock.
func (o *overlap) blame(a *harness.Anomaly) {
	t := o.thief
	a.Class = harness.StolenRelease
	a.Ops = inOrder(append(o.sights(), t.hold.sight, t.release))
	a.Note += fmt.Sprintf("; client %d, granted it at %s, had it removed by a release from %s to %s",
		t.release.op.Client, moment(t.hold.op.Return), moment(t.release.op.Call), moment(t.release.op.Return))
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

// theft is a release that was answered ok, with the hold for which it was called.
type theft struct {
	hold    *hold
	release sight
}

// late reports whether the release may have been executed after its own lease.
func (t theft) late() bool { return t.release.op.Return > t.hold.until }

// from reports whether the release, which was late, may have removed the lock of h: somebody else's later hold, which
// can have begun before the release was over.
func (t theft) from(h *hold) bool {
	return t.hold.seq < h.seq && t.hold.owner != h.owner && t.release.op.Return >= h.op.Call
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

// suspect notes a release that may have removed the lock of others. One inside its own lease removed what was its own: a
// hold beside it, on the other side of a split brain, is not its doing.
func (l *lock) suspect(t theft) {
	if !t.late() {
		return
	}
	for _, h := range l.open {
		if !t.from(h) {
			continue
		}
		h.thief = &t
		for _, o := range h.waiting {
			if o.first == h && o.thief == nil && t.release.op.Call <= o.at {
				o.thief = &t
			}
		}
	}
	l.late = &t
}

// blame looks for a release that returned before h did and may have removed its lock all the same.
func (l *lock) blame(h *hold) {
	if l.late != nil && l.late.from(h) {
		h.thief = l.late
	}
}
