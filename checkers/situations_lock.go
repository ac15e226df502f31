package checkers

import (
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file counts the situations of locks.

// situatedLock is one lock.
type situatedLock struct {
	holder *ownership // the last who was granted it and has not given it up; nil: nobody
}

// ownership is an owner's state in a lock, until it gives the lock up or another is granted it.
type ownership struct {
	owner
	key     string
	lease   harness.Op // the last acquire or extend that was ok
	outlive bool       // its lease ended inside, which was counted
}

func (c *Situations) lock(key string) *situatedLock {
	if l, ok := c.locks.get(key); ok {
		return l
	}
	l := &situatedLock{}
	c.locks.put(key, l)
	return l
}

// acquire notes how x met the lock's holder, and makes its owner the holder if it was granted.
func (c *Situations) acquire(worker int, x harness.Op) {
	l := c.lock(x.Key)
	if h := l.holder; h != nil && h.owner != (owner{worker, x.Arg}) {
		if c.lastInstant(h.lease, x) {
			c.meet(harness.AskedInLastInstant, h.lease, x)
		}
		if x.Outcome == harness.OK && x.Return >= c.certainUntil(h.lease) {
			c.meet(harness.TakenAfterLease, h.lease, x)
			if c.meta.Drift == 0 && h.lease.TTL >= time.Millisecond && x.Return < c.certainUntil(h.lease)+time.Millisecond { // times are exact, as in a search
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

// noteSimilarNames notes that one of the two names, the holder's and that of the owner who asks, begins with the other.
func (c *Situations) noteSimilarNames(h *ownership, x harness.Op) {
	if x.Arg != "" && x.Arg != h.token && (strings.HasPrefix(x.Arg, h.token) || strings.HasPrefix(h.token, x.Arg)) {
		c.meet(harness.NameBeginsAnother, h.lease, x)
	}
}

// owned returns the ownership of the owner that speaks in x; nil if none is known.
func (c *Situations) owned(worker int, x harness.Op) *ownership {
	all := c.owners[worker]
	i := slices.IndexFunc(all, func(o *ownership) bool { return o.key == x.Key && o.token == x.Arg })
	if i < 0 {
		return nil
	}
	return all[i]
}

func (c *Situations) extend(worker int, x harness.Op) {
	o := c.owned(worker, x)
	if o == nil {
		return
	}
	switch {
	case c.isOver(o.lease, x):
		c.noteLate(o, x, harness.ExtendAfterLease, harness.LateExtendMeets)
	case c.lastInstant(o.lease, x):
		c.meet(harness.ExtendInLastInstant, o.lease, x)
	default:
		c.meet(harness.ExtendInLease, o.lease, x)
	}
	if x.Outcome == harness.OK {
		o.lease, o.outlive = x, false
	}
}

func (c *Situations) release(worker int, x harness.Op) {
	o := c.owned(worker, x)
	if o == nil {
		return
	}
	switch {
	case c.isOver(o.lease, x):
		c.noteLate(o, x, harness.ReleaseAfterLease, harness.LateReleaseMeets)
	case c.lastInstant(o.lease, x):
		c.meet(harness.ReleaseInLastInstant, o.lease, x)
	}
	c.owners[worker] = slices.DeleteFunc(c.owners[worker], func(other *ownership) bool { return other == o })
	if l := c.lock(x.Key); l.holder == o {
		l.holder = nil
	}
}

// noteLate notes that the owner speaks after its lease, and whether another certainly holds the lock meanwhile.
func (c *Situations) noteLate(o *ownership, x harness.Op, after, meets harness.SituationName) {
	c.meet(after, o.lease, x)
	if !o.outlive {
		o.outlive = true
		c.meet(harness.LeaseEndedInside, o.lease, x)
	}
	h := c.lock(x.Key).holder
	if h == nil || h == o || h.lease.Return > x.Return || c.certainUntil(h.lease) < x.Call {
		return
	}
	c.meet(meets, o.lease, h.lease, x)
	c.noteSimilarNames(h, x)
}
