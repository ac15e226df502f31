package checkers

import (
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// answered is the rule of Owners.
func answered(ops []harness.Op, meta harness.Meta, c counted) {
	for j, x := range ops {
		i := grantBefore(ops, j, meta)
		if i < 0 {
			continue
		}
		c.add(harness.SilentReacquire, x.Kind == harness.Extend && x.Outcome == harness.OK &&
			lostBetween(ops, i, j, meta))
		refused := x.Outcome == harness.Fail && (x.Err == "" || x.Err == "not mine") &&
			(x.Kind == harness.Extend || x.Kind == harness.Release)
		c.add(harness.RefusedRelease, refused && stillTaken(ops, i, j, meta))
	}
}

// grantBefore returns the current grant of the owner of ops[j] at that operation: its last one, unless it has called a
// release since or asked in vain. It returns -1 if there is none.
func grantBefore(ops []harness.Op, j int, meta harness.Meta) int {
	for i, x := range slices.Backward(ops[:j]) {
		if !sameOwner(x, ops[j], meta) || x.Kind == harness.Extend && x.Outcome != harness.OK {
			continue
		}
		if x.Kind == harness.Release || x.Outcome != harness.OK {
			return -1
		}
		return i
	}
	return -1
}

// grants reports whether x was granted a lock or, with perhaps, may have been.
func grants(x harness.Op, perhaps bool) bool {
	return (x.Kind == harness.Acquire || x.Kind == harness.Extend) &&
		(x.Outcome == harness.OK || perhaps && x.Outcome == harness.Info)
}

// lostBetween reports whether another owner certainly had the lock between the grant ops[i] and the extend ops[j], both
// by one owner, without both owning it at one time.
func lostBetween(ops []harness.Op, i, j int, meta harness.Meta) bool {
	upTo := func(k int) time.Duration { return holdEnd(ops[:k+1], k, meta) }
	before := func(a, b int) bool {
		since := sinceWhen(ops, a, meta)
		return since < ops[b].Call || since < min(ops[b].Return, upTo(b))
	}
	for _, x := range ops[:j] {
		if sameOwner(x, ops[j], meta) && grants(x, true) && x.Outcome == harness.Info {
			return false
		}
	}
	for k := i + 1; k < j; k++ {
		if b := ops[k]; sameOwner(b, ops[j], meta) || !grants(b, false) || b.Return < holdEnd(ops[:j+1], i, meta) ||
			!before(i, k) || !before(k, j) {
			continue
		}
		last, over := k, false
		for g := k; g < j; g++ {
			if y := ops[g]; sameOwner(y, ops[k], meta) && grants(y, false) {
				last, over = g, false
			} else if sameOwner(y, ops[k], meta) && y.Kind == harness.Release {
				over = true
			}
		}
		if over || upTo(last) <= ops[j].Return {
			return true
		}
	}
	return false
}

// sinceWhen returns the time from which the owner of the grant ops[i] certainly had the lock: the Return of that grant,
// or of an earlier one that was renewed in time.
func sinceWhen(ops []harness.Op, i int, meta harness.Meta) time.Duration {
	j := grantBefore(ops, i, meta)
	unanswered := func(x harness.Op) bool { return sameOwner(x, ops[i], meta) && x.Outcome == harness.Info }
	if j < 0 || slices.ContainsFunc(ops[j:i], unanswered) || holdEnd(ops[:i+1], j, meta) <= ops[i].Return {
		return ops[i].Return
	}
	return sinceWhen(ops, j, meta)
}

// stillTaken reports whether ops[j] was refused although its owner still had the lock by the grant ops[i]. The lock
// shows that it was still taken by refusing another owner afterwards.
func stillTaken(ops []harness.Op, i, j int, meta harness.Meta) bool {
	a, x, end := ops[i], ops[j], holdEnd(ops[:i+1], i, meta)
	enters := 0
	for k := j - 1; k >= 0; k-- {
		y := ops[k]
		if !sameOwner(y, x, meta) {
			continue
		}
		if k > i && y.Outcome == harness.Info {
			return false
		}
		if y.Kind == harness.Release || y.Kind == harness.Acquire && y.Outcome != harness.OK {
			break
		}
		if y.Kind == harness.Acquire {
			enters++
		}
	}
	if x.Return >= end || x.Kind == harness.Release && enters > 1 {
		return false
	}
	for m, e := range ops {
		again := func(y harness.Op) bool {
			gaveUp := y.Kind == harness.Release && x.Kind == harness.Extend
			return sameOwner(y, x, meta) && (gaveUp || y.Kind == harness.Acquire) && y.Call <= e.Return
		}
		took := func(y harness.Op) bool {
			odd := y.Kind == harness.Acquire && y.Outcome == harness.Fail && y.Err != "" && y.Err != "held" &&
				y.Return >= a.Call
			return (grants(y, true) || odd) && y.Call <= e.Return &&
				(odd || y.Outcome == harness.Info || y.Return >= a.Call && !sameOwner(y, x, meta))
		}
		if m > j && e.Kind == harness.Acquire && e.Outcome == harness.Fail && (e.Err == "" || e.Err == "held") &&
			!sameOwner(e, x, meta) &&
			e.Call > x.Return && e.Return < end && !slices.ContainsFunc(ops[j+1:], again) &&
			!slices.ContainsFunc(ops, took) {
			return true
		}
	}
	return false
}
