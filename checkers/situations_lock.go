package checkers

import (
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file counts the situations of locks.

// situatedLock holds what is known of one lock.
type situatedLock struct {
	holder *ownership // the owner that was granted the lock last, unless it has released it; nil: none
}

// ownership is what is known of one owner of a lock. It is kept until the owner releases the lock, or until the owner's
// worker has been granted too many other locks.
type ownership struct {
	owner
	key        string
	lease      harness.Op // the owner's last ok acquire or extend
	endCounted bool       // the end of that lease was counted
}

func (c *Situations) lock(key string) *situatedLock {
	if l, ok := c.locks.get(key); ok {
		return l
	}
	l := &situatedLock{}
	c.locks.put(key, l)
	return l
}

// noteAcquire counts the situations in which the acquire x met the lock's holder. If x was granted the lock, its owner
// becomes the holder.
func (c *Situations) noteAcquire(worker int, x harness.Op) {
	l := c.lock(x.Key)
	if h := l.holder; h != nil && h.owner != (owner{worker, x.Arg}) {
		if c.isInLastInstant(h.lease, x) {
			c.meet(harness.AskedInLastInstant, h.lease, x)
		}
		if x.Outcome == harness.OK && x.Return >= c.certainUntil(h.lease) {
			c.meet(harness.TakenAfterLease, h.lease, x)
			// Without drift times are exact, as in a search.
			if c.meta.Drift == 0 && h.lease.TTL >= time.Millisecond &&
				x.Return < c.certainUntil(h.lease)+time.Millisecond {
				c.meet(harness.TakenAtLeaseEnd, h.lease, x)
			}
		}
		c.noteSimilarNames(h, x)
		c.noteSurvivor(h.lease, x)
	}
	if x.Outcome == harness.OK {
		o := &ownership{owner: owner{worker, x.Arg}, key: x.Key, lease: x}
		owned := append(c.owners[worker], o)
		c.owners[worker] = owned[max(0, len(owned)-maxUnreleased):]
		l.holder = o
	}
}

// noteSimilarNames counts x if the holder's token is a prefix of the token in x, or the other way round.
func (c *Situations) noteSimilarNames(h *ownership, x harness.Op) {
	if x.Arg != "" && x.Arg != h.token && (strings.HasPrefix(x.Arg, h.token) || strings.HasPrefix(h.token, x.Arg)) {
		c.meet(harness.NameBeginsAnother, h.lease, x)
	}
}

// ownershipOf returns the ownership of the owner that calls x, or nil if none is known.
func (c *Situations) ownershipOf(worker int, x harness.Op) *ownership {
	all := c.owners[worker]
	i := slices.IndexFunc(all, func(o *ownership) bool { return o.key == x.Key && o.token == x.Arg })
	if i < 0 {
		return nil
	}
	return all[i]
}

func (c *Situations) noteExtend(worker int, x harness.Op) {
	o := c.ownershipOf(worker, x)
	if o == nil {
		return
	}
	switch {
	case c.isOver(o.lease, x):
		c.noteLate(o, x, harness.ExtendAfterLease, harness.LateExtendMeets)
	case c.isInLastInstant(o.lease, x):
		c.meet(harness.ExtendInLastInstant, o.lease, x)
	default:
		c.meet(harness.ExtendInLease, o.lease, x)
	}
	if x.Outcome == harness.OK {
		o.lease, o.endCounted = x, false
	}
}

func (c *Situations) noteRelease(worker int, x harness.Op) {
	o := c.ownershipOf(worker, x)
	if o == nil {
		return
	}
	switch {
	case c.isOver(o.lease, x):
		c.noteLate(o, x, harness.ReleaseAfterLease, harness.LateReleaseMeets)
	case c.isInLastInstant(o.lease, x):
		c.meet(harness.ReleaseInLastInstant, o.lease, x)
	}
	c.owners[worker] = slices.DeleteFunc(c.owners[worker], func(other *ownership) bool { return other == o })
	if l := c.lock(x.Key); l.holder == o {
		l.holder = nil
	}
}

// noteLate counts x, an extend or release that the owner o called after its lease. It counts x as the situation in the
// parameter afterLease and, if another owner certainly held the lock at that time, also as the one in meetsHolder.
func (c *Situations) noteLate(o *ownership, x harness.Op, afterLease, meetsHolder harness.SituationName) {
	c.meet(afterLease, o.lease, x)
	if !o.endCounted {
		o.endCounted = true
		c.meet(harness.LeaseEndedInside, o.lease, x)
	}
	h := c.lock(x.Key).holder
	if h == nil || h == o || h.lease.Return > x.Return || c.certainUntil(h.lease) < x.Call {
		return
	}
	c.meet(meetsHolder, o.lease, h.lease, x)
	c.noteSimilarNames(h, x)
}
