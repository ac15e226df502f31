package checkers

import (
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// An anomaly carries the spans of its class, with the times that plain comparisons of all operations give. Anomalies of
// classes that compare no leases and no tokens carry none.

// spansIn holds an anomaly and the history in which it was found.
type spansIn struct {
	harness.Anomaly
	all  []harness.Op
	meta harness.Meta
}

// wrong says what is wrong with the spans, or nil.
func (a spansIn) wrong() error {
	for _, s := range a.Spans {
		if s.To != 0 && s.From >= s.To {
			return fmt.Errorf("a span without length: %+v", s)
		}
		if !slices.ContainsFunc(a.Ops, func(x harness.Op) bool { return x.Client == s.Client }) {
			return fmt.Errorf("a span of a client without an operation: %+v", s)
		}
	}
	last := a.Ops[len(a.Ops)-1]
	switch a.Class {
	case harness.DoubleGrant, harness.StolenRelease, harness.DuplicateDelivery:
		return a.twoCertain()
	case harness.FenceRegression:
		first := a.Ops[0]
		if len(a.Ops) > 2 { // one grant is overtaken, and the others renew the first of them
			i := slices.IndexFunc(a.Ops, func(x harness.Op) bool {
				return !slices.ContainsFunc(a.Ops, func(y harness.Op) bool { return x != y && sameOwner(x, y, a.meta) })
			})
			first, last = slices.Delete(slices.Clone(a.Ops), i, i+1)[0], a.Ops[i]
			return a.are(harness.Span{Client: first.Client, Kind: harness.StillHeld, From: first.Return,
				To: last.Return})
		}
		if first.Return > last.Return { // they are in order of Call
			first, last = last, first
		}
		if first.Return == last.Return {
			return a.are()
		}
		if bigOf(last.Result).Cmp(bigOf(first.Result)) > 0 {
			return a.are(harness.Span{Client: first.Client, Kind: harness.StillHeld, From: first.Return,
				To: last.Return})
		}
		lock := byKey(a.all)[last.Key]
		j := slices.Index(lock, last)
		to := max(last.Call, min(last.Return, holdEnd(lock[:j+1], j, a.meta)))
		if first.Return >= to { // they have one token, and were under way at once
			return a.are()
		}
		return a.are(harness.Span{Client: first.Client, Kind: harness.LargestToken, From: first.Return, To: to})
	case harness.StaleHolder:
		return a.stale(last)
	case harness.StuckLock, harness.ImmortalMark:
		return a.past()
	case harness.LostMessage:
		if slices.Contains(a.meta.Kinds, harness.Confirm) {
			return a.past()
		}
	}
	return a.are()
}

// are compares the spans with the wanted ones.
func (a spansIn) are(want ...harness.Span) error {
	if !slices.Equal(a.Spans, want) {
		return fmt.Errorf("want the spans %+v", want)
	}
	return nil
}

// past checks the spans of a lock or mark that was met after every lease had ended. The first span goes up to the
// latest end of all earlier leases and windows. The probe was answered last, but may have been called first.
func (a spansIn) past() error {
	probe := slices.MaxFunc(a.Ops, func(x, y harness.Op) int { return slices.Index(a.all, x) - slices.Index(a.all, y) })
	over := time.Duration(0)
	for _, x := range a.all[:slices.Index(a.all, probe)] {
		lasts := x.Kind == harness.Acquire || x.Kind == harness.Extend || x.Kind == harness.Claim ||
			x.Kind == harness.Confirm
		if x.Key == a.Key && lasts && x.Outcome != harness.Fail {
			over = max(over, x.Return+longest(x.TTL, a.meta.Drift))
		}
	}
	left := slices.DeleteFunc(slices.Clone(a.Ops), func(x harness.Op) bool { return x == probe })
	by := left[0]
	for _, x := range left {
		if x.Outcome == harness.Info { // it counts before one that was answered
			by = x
		}
	}
	return a.are(possiblyUntil(over, by, probe)...)
}

func possiblyUntil(over time.Duration, by, late harness.Op) []harness.Span {
	all := []harness.Span{{Client: by.Client, Kind: harness.PossibleHold, From: by.Call, To: over}}
	if late.Kind != harness.Inspect || late.Call > over { // an inspection may come before that
		all = append(all, harness.Span{Client: by.Client, Kind: harness.PastLease, From: over, To: late.Call})
	}
	return all
}

// stale checks the spans of a stale write. By the rule of Holders, the first span goes up to the latest end of the
// leases that the writer asked for since its last release.
func (a spansIn) stale(write harness.Op) error {
	acquire, next, first := a.Ops[0], a.Ops[1], a.Ops[2]
	before := slices.DeleteFunc(slices.Clone(a.all[:slices.Index(a.all, write)]),
		func(x harness.Op) bool { return x.Key != acquire.Key })
	_, over, _ := holding(before, ownerOf(acquire, a.meta), a.meta)
	if write.Call <= first.Return || acquire.Return >= next.Call || sameOwner(acquire, next, a.meta) {
		return fmt.Errorf("the next owner's turn is not after the stale one's")
	}
	return a.are(append(possiblyUntil(over, acquire, write),
		harness.Span{Client: next.Client, Owner: 1, Kind: harness.NextOwner, From: next.Return, To: write.Call})...)
}

// twoCertain checks that two certain holds or marks overlap. If one of them may have ended before it was answered, it
// has no span, and the other one has to cover that answer.
func (a spansIn) twoCertain() error {
	var two []harness.Span
	for _, s := range a.Spans {
		if err := a.certain(s); err != nil {
			return err
		}
		if s.Owner < 2 {
			two = append(two, s)
		}
	}
	if n := len(a.Overlaps()); len(two) == 2 && n == 0 {
		return fmt.Errorf("two holds that do not overlap")
	}
	if len(two) == 1 && (two[0].From > a.To || two[0].To != 0 && two[0].To <= a.From) {
		return fmt.Errorf("the one hold is not of that time")
	}
	return nil
}

// certain checks that a span begins with the answer to a grant of the anomaly, and ends with its lease or with a
// release.
func (a spansIn) certain(s harness.Span) error {
	err := fmt.Errorf("nothing was granted at the beginning of %+v", s)
	for _, x := range a.Ops {
		if x.Client == s.Client && x.Return == s.From && x.Outcome == harness.OK && x.Kind != harness.Release &&
			s.Kind == harness.CertainHold {
			if err = a.hold(s, x); err == nil {
				return nil
			}
		}
	}
	return err
}

// hold checks the end of a span that began with the grant x.
func (a spansIn) hold(s harness.Span, x harness.Op) error {
	to := s.To
	if to == 0 {
		to = endless
	}
	released := func(r harness.Op) bool { return r.Kind == harness.Release && sameOwner(x, r, a.meta) && r.Call == to }
	sooner := func(r harness.Op) bool {
		later := slices.Index(a.all, r) > slices.Index(a.all, x) // also in one instant
		return r.Kind == harness.Release && sameOwner(x, r, a.meta) && later && x.Return <= r.Call && r.Call < to
	}
	lock := x.Kind == harness.Acquire || x.Kind == harness.Extend
	switch end := a.leaseOf(x); {
	case s.Until == harness.OwnRelease && !slices.ContainsFunc(a.all, released):
		return fmt.Errorf("no release ends %+v", s)
	case slices.ContainsFunc(a.Ops, sooner):
		return fmt.Errorf("%+v goes on after a release", s)
	case to > end && s.Until != harness.OwnRelease && !(lock && a.renewed(x, s)):
		return fmt.Errorf("%+v is longer than its lease, to %v", s, end)
	case lock && to < holdEnd(a.onKey(), slices.Index(a.onKey(), x), a.meta):
		return fmt.Errorf("%+v is shorter than its lease", s)
	}
	return nil
}

// onKey lists the operations of the history on the key of the anomaly.
func (a spansIn) onKey() []harness.Op { return byKey(a.all)[a.Key] }

// leaseOf returns the earliest end of the lease of x, whatever other operations do to it.
func (a spansIn) leaseOf(x harness.Op) time.Duration {
	end := x.Call + length(x.TTL, a.meta.Drift)
	if x.Until > 0 {
		end = min(end, x.Until)
	}
	return max(x.Call, end)
}

// renewed reports whether the owner of x renewed the lock inside s, so that a later lease may end it.
func (a spansIn) renewed(x harness.Op, s harness.Span) bool {
	return slices.ContainsFunc(a.onKey(), func(y harness.Op) bool {
		return y.Return >= s.From && sameOwner(x, y, a.meta) && y.Outcome == harness.OK && y.Kind != harness.Release &&
			a.leaseOf(y) >= s.To
	})
}
