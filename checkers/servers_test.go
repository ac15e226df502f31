package checkers

import (
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// A specification says whether any execution explains the operations of one key.
type specification func(ops []harness.Op, meta harness.Meta, every bool) bool

// lockServer is a lock with leases. Like the rule of Mutex, it is more lenient than a real one:
//
//   - a lease may end from Call + TTL*(1-drift) on, although the server begins it no earlier than it executes the
//     request;
//   - an extend is granted whenever an acquire would be: nothing is said about how its owner came to hold the lock;
//   - an owner that calls a release no longer has the lock, even if it is told that nothing was removed;
//   - a request in info is executed never, once, or repeatedly.
type lockServer struct {
	worker int
	token  string
	leases []lease
	late   []deed // requests in info that have been executed; any of them may be executed again
}

// lease is one grant, by the index of its operation.
type lease struct {
	index       int
	call, until time.Duration
}

func (s lockServer) do(d deed, at time.Duration) (world, bool) {
	if d.Outcome == harness.Info {
		s.late = append(slices.Clip(s.late), d)
	}
	if s.worker != d.worker || s.token != d.Arg {
		return s.other(d, at)
	}
	var left []lease
	for _, l := range s.leases {
		if l.index < d.index || d.Outcome == harness.Info {
			l.until = min(l.until, d.leaves(l.call))
		}
		left = append(left, l)
	}
	s.leases = s.granted(d, left)
	return s, true
}

// other executes the request of an owner that does not have the lock. An acquire or extend takes it if every lease has
// ended.
func (s lockServer) other(d deed, at time.Duration) (world, bool) {
	switch {
	case d.Kind == harness.Release || d.Outcome != harness.OK:
		return s, true
	case slices.ContainsFunc(s.leases, func(l lease) bool { return l.until > at }):
		return nil, false
	}
	return lockServer{d.worker, d.Arg, s.granted(d, nil), s.late}, true
}

// granted returns leases with that of d added, if d grants one. A command of the owner that may be executed again may
// be so right after d, and so shorten that lease.
func (s lockServer) granted(d deed, leases []lease) []lease {
	if d.Kind == harness.Release || d.Outcome != harness.OK {
		return leases
	}
	l := lease{d.index, d.Call, d.ends}
	for _, x := range s.late {
		if x.worker == d.worker && x.Arg == d.Arg {
			l.until = min(l.until, x.leaves(d.Call))
		}
	}
	return append(leases, l)
}

// leaves returns the earliest end that d may give to a lease that was asked for at call and granted before d is
// executed.
func (d deed) leaves(call time.Duration) time.Duration {
	if d.Kind == harness.Release {
		return 0
	}
	end := max(call, d.Call) + d.length
	if d.Until > 0 {
		end = min(end, d.Until)
	}
	return end
}

// lockExplained is the specification of Mutex.
func lockExplained(ops []harness.Op, meta harness.Meta, every bool) bool {
	return execution{deeds: lockDeedsOf(ops, meta), every: every}.explains(lockServer{})
}

// lockDeedsOf lists what may have happened to a lock. A refused release may have been executed all the same.
func lockDeedsOf(ops []harness.Op, meta harness.Meta) []deed {
	return deedsOf(ops, meta, func(x harness.Op) bool { return x.Outcome != harness.Fail || x.Kind == harness.Release })
}

// fencedServer is a lock that draws a fencing token for each grant: a larger one than ever before, or for its owner the
// same again. It executes an owner's requests in the order of the history. It is more lenient than lockServer: a
// command may end or shorten a lease as soon as it is called.
type fencedServer struct{ granted []deed }

func (s fencedServer) do(d deed, at time.Duration) (world, bool) {
	n := bigOf(d.Result)
	for _, x := range s.granted {
		own := x.worker == d.worker && x.Arg == d.Arg
		if !own && x.ends > at || own && x.index > d.index {
			return nil, false
		}
		if m := bigOf(x.Result); n != nil && m != nil && (n.Cmp(m) < 0 || n.Cmp(m) == 0 && !own) {
			return nil, false
		}
	}
	s.granted = append(slices.Clip(s.granted), d)
	return s, true
}

// fenceExplained is the specification of Mutex and Fence together: both follow from the order of the grants. The tokens
// of two owners are judged at a time, and each pair of owners may need a different order.
func fenceExplained(ops []harness.Op, meta harness.Meta, every bool) bool {
	deeds := grantDeeds(ops, meta)
	for i, a := range deeds {
		for _, b := range deeds[i:] {
			if !(execution{deeds: ofTwo(deeds, a, b), every: every}).explains(fencedServer{}) {
				return false
			}
		}
	}
	for i := range deeds {
		deeds[i].Result = ""
	}
	return execution{deeds: deeds, every: every}.explains(fencedServer{})
}

// ofTwo lists the deeds of the owners of a and b.
func ofTwo(deeds []deed, a, b deed) (two []deed) {
	for _, x := range deeds {
		if sameHolder(x, a) || sameHolder(x, b) {
			two = append(two, x)
		}
	}
	return two
}

func sameHolder(a, b deed) bool { return a.worker == b.worker && a.Arg == b.Arg }

// grantDeeds lists the effects of the ok acquires and extends. Each lease ends as early as any other request of its
// owner can have ended it.
func grantDeeds(ops []harness.Op, meta harness.Meta) []deed {
	asked := deedsOf(ops, meta, func(x harness.Op) bool {
		return x.Kind == harness.Release || (x.Kind == harness.Acquire || x.Kind == harness.Extend) &&
			x.Outcome != harness.Fail
	})
	var out []deed
	for _, d := range asked {
		if d.Kind == harness.Release || d.Outcome != harness.OK {
			continue
		}
		if d.Kind == harness.Extend {
			d.Result = ""
		}
		d.kept = d.ends
		for _, x := range asked {
			if x.worker == d.worker && x.Arg == d.Arg && x.Outcome == harness.Info && x.index < d.index {
				d.kept = min(d.kept, max(x.leaves(d.Call), x.Call))
			}
			if x.worker == d.worker && x.Arg == d.Arg &&
				(x.index > d.index || x.Outcome == harness.Info && x.index < d.index) {
				d.ends = min(d.ends, max(x.leaves(d.Call), x.Call))
			}
		}
		d.ends, d.kept = max(d.ends, d.Call), max(d.kept, d.Call)
		out = append(out, d)
	}
	return out
}
