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

// setExplained is the specification of Writes: each element was present, or not, when the last read came to it. A read
// of a whole set takes time, so each element is judged alone. An element read before its add was called is not judged,
// unless the add was refused.
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

// guardedServer is what a lock guards. A write happens at some instant. By then its owner's lease has not ended, or
// nobody who was granted the lock later has written. Like the rule of Holders, it is more lenient than a real one:
//
//   - anybody may be granted the lock, and of two grants that were under way at one time neither came first;
//   - a lease may begin as late as its answer came. It never ends if an acquire or extend of its owner got no answer;
//   - an owner that has called a release, or whose grant is not known, may write at any time.
type guardedServer struct{ written []deed } // by any owner

func (s guardedServer) do(d deed, at time.Duration) (world, bool) {
	stale := func(w deed) bool {
		other := w.worker != d.worker || w.Result != d.Result
		return other && w.owner.acquire.Call > d.owner.acquire.Return
	}
	if at > d.owner.over && slices.ContainsFunc(s.written, stale) {
		return nil, false
	}
	s.written = append(slices.Clip(s.written), d)
	return s, true
}

// guard is what is known of the owner of a lock.
type guard struct {
	acquire harness.Op    // its grant, which it has not released; Kind empty: none
	asked   bool          // it has asked for a lease since its last release
	over    time.Duration // the latest end of its leases
}

// guardAt returns the state of an owner after these operations.
func guardAt(ops []harness.Op, worker int, token string, meta harness.Meta) (o guard) {
	late := false // a command of the owner got no answer, so it may renew the lease at any time
	for _, x := range ops {
		takes := (x.Kind == harness.Acquire || x.Kind == harness.Extend) && x.Outcome != harness.Fail
		switch {
		case meta.Worker(x.Client) != worker || x.Arg != token:
			continue
		case x.Kind == harness.Release:
			o = guard{}
			continue
		case !takes:
			continue
		}
		late = late || x.Outcome == harness.Info
		if x.Kind == harness.Extend && !o.asked {
			continue
		}
		o.asked, o.over = true, max(o.over, x.Return+longest(x.TTL, meta.Drift))
		if late {
			o.over = endless
		}
		if x.Kind == harness.Acquire && x.Outcome == harness.OK {
			o.acquire = x
		}
	}
	return o
}

// guardedExplained is the specification of Holders.
func guardedExplained(ops []harness.Op, meta harness.Meta, every bool) bool {
	deeds := deedsOf(ops, meta, func(x harness.Op) bool { return x.Kind == harness.Add && x.Outcome == harness.OK })
	for i := range deeds {
		deeds[i].owner = guardAt(ops[:deeds[i].index], deeds[i].worker, deeds[i].Result, meta)
	}
	deeds = slices.DeleteFunc(deeds, func(d deed) bool { return d.owner.acquire.Kind == "" })
	return execution{deeds: deeds, every: every}.explains(guardedServer{})
}
