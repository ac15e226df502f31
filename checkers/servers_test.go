package checkers

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// A specification says whether any execution explains the operations of one key.
type specification func(ops []harness.Op, meta harness.Meta, every bool) bool

// lockServer is a lock with leases. It differs from a real one in what the rule of Mutex leaves open:
//
//   - a lease may end from Call + TTL*(1-drift) on, though the server begins it no earlier than it executes the request;
//   - an extend is granted whenever an acquire would be: nothing is said about how its owner came to hold the lock;
//   - an owner that asks for a release has given up what it had, even if it is told that nothing was removed;
//   - a request that ended in info is executed never, once, or again and again.
type lockServer struct {
	worker int
	token  string
	leases []lease
	late   []deed // requests that ended in info and have been executed: any of them may be again
}

// lease is one grant, by the operation with that index.
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

// other executes what somebody asks for who does not have the lock. An acquire or extend takes it if every lease is over.
func (s lockServer) other(d deed, at time.Duration) (world, bool) {
	switch {
	case d.Kind == harness.Release || d.Outcome != harness.OK:
		return s, true
	case slices.ContainsFunc(s.leases, func(l lease) bool { return l.until > at }):
		return nil, false
	}
	return lockServer{d.worker, d.Arg, s.granted(d, nil), s.late}, true
}

// granted returns leases with that of d added, if d grants one. An operation that may be executed again may be so right after d.
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

// leaves returns the earliest end of a lease that was asked for at call, if d is executed after it.
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

// lockDeedsOf lists what a lock may have done. A release that was refused may have been executed all the same.
func lockDeedsOf(ops []harness.Op, meta harness.Meta) []deed {
	return deedsOf(ops, meta, func(x harness.Op) bool { return x.Outcome != harness.Fail || x.Kind == harness.Release })
}

// fencedServer is a lock that draws a fencing token for each grant: a larger one than ever before, or for its owner the same again. What one
// owner asks is done in the order of the history. It is more lenient than lockServer: what ends a lease or makes it shorter may do so when it is called.
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

// fenceExplained is the specification of Mutex and Fence together: which of two grants came first follows from both.
func fenceExplained(ops []harness.Op, meta harness.Meta, every bool) bool {
	return execution{deeds: grantDeeds(ops, meta), every: every}.explains(fencedServer{})
}

// grantDeeds lists the acquires and extends that were ok. Each ends as early as anything else that its owner asked for can have ended it.
func grantDeeds(ops []harness.Op, meta harness.Meta) []deed {
	asked := deedsOf(ops, meta, func(x harness.Op) bool {
		return x.Kind == harness.Release || (x.Kind == harness.Acquire || x.Kind == harness.Extend) && x.Outcome != harness.Fail
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
			if x.worker == d.worker && x.Arg == d.Arg && (x.index > d.index || x.Outcome == harness.Info && x.index < d.index) {
				d.ends = min(d.ends, max(x.leaves(d.Call), x.Call))
			}
		}
		d.ends, d.kept = max(d.ends, d.Call), max(d.kept, d.Call)
		out = append(out, d)
	}
	return out
}

// takenServer is a lock that refuses only while it is taken, and its owner never. Whoever acquires gets it: who may is no matter here. It differs from
// a real one in that
//
//   - a lease may end at any time, which leaves the lock free; a release that is refused may leave it free as well, as it may have been sent twice;
//   - what is released for certain, or when its lease can be over, may go on refusing others;
//   - where two are owners at once, which Mutex tells of, both may be refused;
//   - who acquired twice may be refused a release, and so may an owner of which another command got no answer.
type takenServer struct {
	holder *deed // whom a refusal would be wrong, or from whom it was free; nil: nobody
	free   bool
	by     harness.Kind  // what the holder was refused, where that left it free
	gaveUp time.Duration // the Return of a release after a refused extend: who asked before that may have been refused
}

func (s takenServer) do(d deed, at time.Duration) (world, bool) {
	own := s.holder != nil && s.holder.worker == d.worker && s.holder.Arg == d.Arg
	refusal := d.Outcome == harness.Fail && (d.Err == "" || d.Err == harness.Held || d.Err == harness.NotMine)
	switch {
	case d.Kind != harness.Release && d.Outcome == harness.OK:
		if s.holder != nil && !own && !s.free && s.holder.Return >= d.Call {
			return takenServer{}, true
		}
		return takenServer{holder: &d}, true
	case d.Kind == harness.Acquire && refusal && !own && s.holder != nil && at >= s.holder.kept:
		return takenServer{}, true
	case d.Kind == harness.Acquire && refusal && !own:
		return s, !s.free || d.Call <= s.gaveUp
	case d.Kind == harness.Acquire && !refusal, d.Kind == harness.Extend && d.Outcome == harness.Info, d.Kind == harness.Acquire && own:
		return takenServer{}, true
	case !own, d.Kind == harness.Acquire:
		return s, true
	case s.free && d.Kind == harness.Release && s.by == harness.Extend && !refusal:
		return takenServer{}, true
	case s.free:
		if d.Kind == harness.Release && s.by == harness.Extend {
			s.by, s.gaveUp = harness.Release, d.Return
		}
		return s, true
	case !refusal, d.Return >= s.holder.kept, d.nested:
		return takenServer{}, true
	}
	s.free, s.by = true, d.Kind
	return s, true
}

// takenExplained is the specification of refusals of rightful owners.
func takenExplained(ops []harness.Op, meta harness.Meta, every bool) bool {
	deeds := deedsOf(ops, meta, func(x harness.Op) bool {
		return x.Outcome != harness.Fail || x.Kind != harness.Extend || x.Err == "" || x.Err == harness.NotMine
	})
	kept := grantDeeds(ops, meta)
	for i := range deeds {
		d := &deeds[i]
		if d.Outcome == harness.Fail {
			d.optional, d.to = false, d.Return
		}
		entered := 0
		for _, x := range deeds[:i] {
			switch {
			case x.worker != d.worker || x.Arg != d.Arg || x.Kind == harness.Extend:
			case x.Kind == harness.Acquire && x.Outcome == harness.OK:
				entered++
			default:
				entered = 0
			}
		}
		d.nested = d.Kind == harness.Release && entered > 1
		for _, k := range kept {
			if k.index == d.index {
				d.kept = k.kept
			}
		}
	}
	return execution{deeds: deeds, every: every}.explains(takenServer{})
}

// filterServer is a dedup filter: a message is new while it is not marked. A window may end from Call + TTL*(1-drift) on. A confirm
// that may have been executed after the mark sets a window of its own, which may end as early, and it may be executed again and
// again. A confirm that comes when the message is marked, beyond its Return, sets that mark anew. Any other forbids only claims that are called after
// it has returned, and does so until they return: claims that were
// under way then, and are answered later, may be told "first".
type filterServer struct {
	marked    time.Duration // until when
	confirmed []deed
}

func (s filterServer) do(d deed, at time.Duration) (world, bool) {
	switch {
	case d.Kind == harness.Confirm:
		if d.Outcome == harness.OK && s.marked > d.Return {
			s.marked = max(s.marked, d.ends) // what may follow a mark has shortened it already
		}
		s.confirmed = append(slices.Clip(s.confirmed), d)
		return s, true
	case slices.ContainsFunc(s.confirmed, func(c deed) bool { return (c.Return < d.Call || d.index < c.index) && d.Return < c.ends }):
		return s, d.optional // it may have been told "seen"
	case s.marked > at:
		return s, d.optional
	}
	s.marked = d.ends
	return s, true
}

// filterExplained is the specification of Dedup. A claim that was told "seen" may have been told so by any filter.
func filterExplained(ops []harness.Op, meta harness.Meta, every bool) bool {
	deeds := deedsOf(ops, meta, func(x harness.Op) bool {
		return x.Outcome == harness.OK && (x.Kind == harness.Confirm || x.Result == harness.ResultFirst) ||
			x.Outcome == harness.Info && x.Kind == harness.Claim
	})
	for i := range deeds {
		d := &deeds[i]
		for j, c := range ops {
			if c.Kind != harness.Confirm || c.Outcome == harness.Fail || c.Outcome == harness.OK && c.Return < d.Call || j == d.index {
				continue
			}
			d.ends = min(d.ends, max(d.Call, c.Call)+length(c.TTL, meta.Drift))
		}
	}
	return execution{deeds: deeds, every: every}.explains(filterServer{})
}

// counter is a sequence: the last number that it returned. It may leave numbers out.
type counter int

func (last counter) do(d deed, _ time.Duration) (world, bool) {
	if d.optional {
		return last + 1, true
	}
	n, err := strconv.Atoi(d.Result)
	return counter(n), err == nil && counter(n) > last
}

// counterExplained is the specification of Sequence.
func counterExplained(ops []harness.Op, meta harness.Meta, every bool) bool {
	deeds := deedsOf(ops, meta, func(x harness.Op) bool { return x.Outcome != harness.Fail })
	return execution{deeds: deeds, every: every}.explains(counter(-1))
}

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
