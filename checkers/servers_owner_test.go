package checkers

import (
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// turnServer is a lock that owners have one after the other. An owner may extend its lock even after its lease, unless
// another owner was granted it in between. That owner counts only if it was answered between the two answers of the
// first one and its lease had ended by the second. Otherwise Mutex judges the two. As with fencedServer, a command may
// end a lease as soon as it is called.
type turnServer struct {
	granted []deed
	// givenUp has grants that their owner may have released at the instant of its answer. The record shows later
	// whether it did.
	givenUp []int
}

func (s turnServer) do(d deed, at time.Duration) (world, bool) {
	lost := false // another owner was granted it since
	for _, x := range s.granted {
		own := sameHolder(x, d)
		if !own && x.ends > at && !s.gaveUp(x, at) || own && x.index > d.index {
			return nil, false
		}
		lost = !own && (lost || slices.ContainsFunc(d.passed, func(p deed) bool { return p.index == x.index }))
	}
	if lost {
		return nil, false
	}
	return turnServer{append(slices.Clip(s.granted), d), s.givenUp}, true
}

// gaveUp reports whether the owner of x may have released the lock in the instant at, in which it was answered.
func (s turnServer) gaveUp(x deed, at time.Duration) bool {
	return slices.ContainsFunc(s.granted, func(y deed) bool {
		return sameHolder(x, y) && y.index >= x.index && y.Return == at && slices.Contains(s.givenUp, y.index)
	})
}

// turnExplained is the specification of Mutex and silent reacquires together: both follow from the order of the grants.
// Each extend is judged with one other owner at a time. Each such pair may need a different order.
func turnExplained(ops []harness.Op, meta harness.Meta, every bool) bool {
	deeds := grantDeeds(ops, meta)
	for i, d := range deeds {
		if d.Kind != harness.Extend || !hasLock(ops[:d.index], d.Arg, d.worker, meta) {
			continue
		}
		for _, other := range passedBefore(d, deeds[:i], ops, meta) {
			two := slices.DeleteFunc(ofTwo(deeds, d, other[0]), func(x deed) bool {
				return x.index < other[0].index && !goesOn(x, deeds, ops, meta)
			})
			for k := range two {
				if two[k].index == d.index {
					two[k].passed = other
				}
			}
			if !(execution{deeds: two, every: every}).explains(turnServer{givenUp: lastGrants(two, d)}) {
				return false
			}
		}
	}
	return execution{deeds: deeds, every: every}.explains(turnServer{})
}

// lastGrants returns the indexes of those deeds, up to last, that their owners did not renew in time.
func lastGrants(deeds []deed, last deed) (all []int) {
	for i, d := range deeds {
		renews := func(x deed) bool {
			return sameHolder(d, x) && x.index <= last.index &&
				min(d.ends, x.kept) > x.Return
		}
		if d.index <= last.index && !slices.ContainsFunc(deeds[i+1:], renews) {
			all = append(all, d.index)
		}
	}
	return all
}

// goesOn reports whether the owner of x kept that grant until its next one. In between it called no release, each of
// its acquires was ok, and no command ended in info.
func goesOn(x deed, deeds []deed, ops []harness.Op, meta harness.Meta) bool {
	i := slices.IndexFunc(deeds, func(y deed) bool { return y.index > x.index && sameHolder(x, y) })
	return i < 0 || !slices.ContainsFunc(ops[x.index:deeds[i].index], func(y harness.Op) bool {
		gaveUp := y.Kind == harness.Release || y.Outcome == harness.Info || y.Kind == harness.Acquire &&
			y.Outcome != harness.OK
		return gaveUp && y.Arg == x.Arg && meta.Worker(y.Client) == x.worker
	})
}

// passedBefore lists the grants that were answered between the last grant of d's owner and d, grouped by owner. It
// leaves out owners whose lease had not ended when d returned.
func passedBefore(d deed, before []deed, ops []harness.Op, meta harness.Meta) (all [][]deed) {
	for i, x := range before {
		n := slices.IndexFunc(all, func(of []deed) bool { return sameHolder(of[0], x) })
		switch {
		case sameHolder(x, d):
			all = nil
		case n >= 0:
			all[n] = append(all[n], x)
		case isOver(before[i:], x, d, ops, meta):
			all = append(all, []deed{x})
		}
	}
	return all
}

// isOver reports whether the owner of x had lost the lock when d returned: the last of its grants had ended, or it had
// called a release.
func isOver(grants []deed, x, d deed, ops []harness.Op, meta harness.Meta) bool {
	for _, y := range grants {
		if sameHolder(x, y) {
			x = y
		}
	}
	return x.kept <= d.Return || slices.ContainsFunc(ops[x.index:d.index], func(r harness.Op) bool {
		return r.Kind == harness.Release && r.Arg == x.Arg && meta.Worker(r.Client) == x.worker
	})
}

// hasLock reports whether an owner was granted a lock and has since neither called a release nor failed to acquire it.
// It is false if an acquire or extend of the owner ended in info, since that may be granted the lock at any later time.
func hasLock(ops []harness.Op, token string, worker int, meta harness.Meta) (has bool) {
	for _, x := range ops {
		switch {
		case x.Arg != token || meta.Worker(x.Client) != worker:
		case x.Kind != harness.Release && x.Outcome == harness.Info:
			return false
		case x.Outcome == harness.OK:
			has = x.Kind != harness.Release
		case x.Kind != harness.Extend:
			has = false
		}
	}
	return has
}

// takenServer is a lock that refuses only while it is taken, and never refuses its owner. Every acquire may be granted.
// Like the rule of Owners, it is more lenient than a real one:
//
//   - a lease may end at any time, which leaves the lock free. A refused release may leave it free as well, as it may
//     have been sent twice;
//   - a lock that was certainly released, or whose lease can have ended, may go on refusing others;
//   - if there are two owners at once, which Mutex reports, both may be refused;
//   - an owner without an answer may take the lock repeatedly. One that gave it back may have had it all the while;
//   - a release may be refused if its owner acquired twice, or if another command of that owner got no answer.
type takenServer struct {
	holder *deed // the owner that must not be refused, or that had the lock before it became free; nil: none
	free   bool
	by     harness.Kind // the kind of request the holder was refused, if that left the lock free
	// crowd is the Return of the last of several possible owners at once. Whoever asked before that may be one of them.
	crowd time.Duration
	// gaveUp is the Return of a release after a refused extend. Whoever asked before that may have been refused.
	gaveUp time.Duration
}

func (s takenServer) do(d deed, at time.Duration) (world, bool) {
	nobody := takenServer{crowd: s.crowd}
	own := s.holder != nil && s.holder.worker == d.worker && s.holder.Arg == d.Arg
	refusal := d.Outcome == harness.Fail && (d.Err == "" || d.Err == harness.Held || d.Err == harness.NotMine)
	switch {
	case d.Kind != harness.Release && d.Outcome == harness.OK:
		if s.holder != nil && !own && !s.free && s.holder.Return >= d.Call {
			return takenServer{crowd: max(s.crowd, s.holder.Return, d.Return)}, true
		}
		if d.Call <= s.crowd {
			return takenServer{crowd: max(s.crowd, d.Return)}, true
		}
		return takenServer{holder: &d, crowd: s.crowd}, true
	case d.Kind == harness.Acquire && refusal && !own && s.holder != nil && at >= s.holder.kept:
		return nobody, true
	case d.Kind == harness.Acquire && refusal && !own:
		return s, !s.free || d.Call <= s.gaveUp
	case d.Kind != harness.Release && d.Outcome == harness.Info:
		return takenServer{crowd: endless}, true
	case d.Kind == harness.Acquire && !refusal:
		return takenServer{crowd: max(s.crowd, d.Return)}, true
	case d.Kind == harness.Acquire && own:
		return nobody, true
	case !own, d.Kind == harness.Acquire:
		return s, true
	case s.free && d.Kind == harness.Release && s.by == harness.Extend && (!refusal || d.nested):
		return nobody, true
	case s.free:
		if d.Kind == harness.Release && s.by == harness.Extend {
			s.by, s.gaveUp = harness.Release, d.Return
		}
		return s, true
	case !refusal, d.Return >= s.holder.kept, d.nested:
		return nobody, true
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
	return execution{deeds: deeds, every: every}.explains(takenServer{crowd: -1})
}
