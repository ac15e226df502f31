package checkers

import (
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// element is one element of a set: whether it is there.
type element bool

func (there element) do(d deed, _ time.Duration) (world, bool) {
	if d.Kind == harness.Read {
		return there, there == element(slices.Contains(strings.Split(d.Result, ","), d.Arg))
	}
	return element(true), true
}

// setExplained is the specification of Writes: each element was there, or was not, when the last read came to it. A read of
// a whole set may take its time, and come to each at an instant of its own. So elements have nothing to do with each
// other. What is read before it was asked for is not judged, unless it was refused.
func setExplained(ops []harness.Op, meta harness.Meta, every bool) bool {
	var last *harness.Op
	for _, x := range ops {
		if x.Kind == harness.Read && x.Client == harness.HarnessClient && x.Outcome == harness.OK {
			last = &x
		}
	}
	if last == nil {
		return true
	}
	return !slices.ContainsFunc(ops, func(x harness.Op) bool {
		if x.Kind != harness.Add || x.Outcome != harness.Fail && x.Call > last.Return {
			return false
		}
		last.Arg = x.Arg
		deeds := deedsOf([]harness.Op{x, *last}, meta, func(y harness.Op) bool { return y.Outcome != harness.Fail })
		return !execution{deeds: deeds, every: every}.explains(element(false))
	})
}

// guardedServer is a lock with what it guards. A write is done at some instant: then its owner's lease is not over, or nobody who was granted the lock
// later has written. It differs from a real one in what the rule of Holders leaves open:
//
//   - who is granted the lock is no matter here, and of two grants that were under way at one time neither came first;
//   - a lease may begin as late as its answer came, and that of an owner with an acquire or extend without an answer never ends;
//   - an owner that has asked for a release, or whose grant is not known, may write at any time.
type guardedServer struct {
	owners  []guard
	written []deed // the acquires of those who have written
}

// guard is one owner.
type guard struct {
	worker  int
	token   string
	acquire deed
	granted bool          // and not released
	asked   bool          // for a lease, since it released the last one
	over    time.Duration // its leases
	late    bool          // it sent a command that got no answer
	last    int           // what it has done last: it does one thing after the other
}

func (s guardedServer) do(d deed, at time.Duration) (world, bool) {
	token := d.Arg
	if d.Kind == harness.Add {
		token = d.Result
	}
	o, owners := guard{worker: d.worker, token: token}, []guard(nil)
	for _, x := range s.owners {
		if x.worker == o.worker && x.token == o.token {
			o = x
		} else {
			owners = append(owners, x)
		}
	}
	if d.index < o.last {
		return nil, false
	}
	o.last = d.index
	switch {
	case d.Kind == harness.Release:
		o.granted, o.asked, o.over = false, false, 0
	case d.Kind == harness.Add && o.granted:
		stale := func(w deed) bool { return (w.worker != o.worker || w.Arg != o.token) && w.Call > o.acquire.Return }
		if at > o.over && !o.late && slices.ContainsFunc(s.written, stale) {
			return nil, false
		}
		s.written = append(slices.Clip(s.written), o.acquire)
	case d.Kind != harness.Add:
		o.lease(d)
	}
	s.owners = append(owners, o)
	return s, true
}

// lease notes d, an acquire or extend.
func (o *guard) lease(d deed) {
	o.late = o.late || d.Outcome == harness.Info
	if d.Kind == harness.Extend && !o.asked {
		return
	}
	o.asked, o.over = true, max(o.over, d.lasts)
	if d.Kind == harness.Acquire && d.Outcome == harness.OK {
		o.acquire, o.granted = d, true
	}
}

// guardedExplained is the specification of Holders.
func guardedExplained(ops []harness.Op, meta harness.Meta, every bool) bool {
	deeds := deedsOf(ops, meta, func(x harness.Op) bool {
		return x.Kind == harness.Release || x.Outcome == harness.OK || x.Kind != harness.Add && x.Outcome == harness.Info
	})
	for i := range deeds { // what got no answer counts from the beginning, as it may be executed at any time
		deeds[i].optional, deeds[i].to = false, deeds[i].Return
	}
	return execution{deeds: deeds, every: every}.explains(guardedServer{})
}
