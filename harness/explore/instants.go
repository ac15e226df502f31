package explore

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file says to which instants time can pass: around the end of each lease, and where somebody is about to look at
// a clock or at a TTL, to others that a lease's holder or its rivals may tell apart.

// retention is the TTL from which on a key of a Timeless program counts as kept for good: time does not pass to its
// end.
const retention = 24 * time.Hour

// maxInstants bounds the number of instants of one kind to which time can pass at one moment of a schedule.
const maxInstants = interleave.MaxPerKind

const (
	// early is so soon after the beginning of a lease that hardly anything of it is over, and two milliseconds more
	// than what is not judged.
	early = 3 * keyspace.Grain
	// margin is what an algorithm adds to a deadline at most, beside another lease, if time is to pass to where it
	// ends.
	margin = time.Minute
)

// reachableInstants lists the instants to which time can pass from now, in their order: shortly before the end of each
// lease, and the first millisecond after it. Leases are those of keys, and those that operations asked for. A Timeless
// program that looks at a clock gets midnight as well. Others need no instant of its own for it: leases of 3 ms or more
// end after midnight.
func (ex *execution) reachableInstants() ([]schedule.Instant, error) {
	ends, err := ex.leaseEnds()
	if err != nil {
		return nil, err
	}
	var before, beyond []schedule.Instant
	for _, end := range ends {
		if at := middleOf(end - keyspace.Grain); at > ex.now && ex.w.SetsClocks() {
			before = append(before, schedule.Instant{At: at})
		}
		beyond = append(beyond, schedule.Instant{At: middleOf(end + keyspace.Grain), BeyondEnd: true})
	}
	if ex.spec.Program.Timeless && ex.ClockRead && ex.now < keyspace.UntilMidnight {
		beyond = append(beyond, schedule.Instant{At: middleOf(keyspace.UntilMidnight), BeyondEnd: true})
	}
	return ex.withChoices(inOrderOfTime(append(beyond, before...)), interleave.Pass), nil
}

// middleOf returns the middle of a millisecond.
func middleOf(t time.Duration) time.Duration { return t.Truncate(keyspace.Grain) + start }

// inOrderOfTime returns the instants in their order. Of two at one time the first counts.
func inOrderOfTime(all []schedule.Instant) []schedule.Instant {
	slices.SortStableFunc(all, func(a, b schedule.Instant) int { return cmp.Compare(a.At, b.At) })
	return slices.CompactFunc(all, func(a, b schedule.Instant) bool { return a.At == b.At })
}

// withChoices returns the instants, each with the choice by which time passes to it.
func (ex *execution) withChoices(all []schedule.Instant, choice func(n int) interleave.Choice) []schedule.Instant {
	if len(all) > maxInstants {
		ex.TooManyEnds = true
		all = all[:maxInstants]
	}
	for i := range all {
		all[i].Choice = choice(i)
	}
	return all
}

// fineInstants lists the instants beside the reachable ones that only a look at a clock or a TTL tells apart. Of the
// lease that ends next these are early in it, its middle, and its last millisecond, in which a TTL is 0; of all others
// their last millisecond. Of each instant that a stored value names there are two, see namedNext. The last instant is
// far beyond the end of all, for deadlines that are kept elsewhere: later than leases end by a margin and another
// lease. A Timeless program has last milliseconds only.
func (ex *execution) fineInstants() ([]schedule.Instant, error) {
	if !ex.w.SetsClocks() {
		return nil, nil
	}
	ends, err := ex.leaseEnds()
	if err != nil {
		return nil, err
	}
	if len(ends) == 0 && ex.spec.Program.Timeless {
		return nil, nil
	}
	coarse, err := ex.reachableInstants()
	if err != nil {
		return nil, err
	}
	all := slices.Clone(ends)
	var more []time.Duration
	if !ex.spec.Program.Timeless {
		all = append(all, ex.insideLeases(ends)...)
		if more, err = ex.moreInstants(ends); err != nil {
			return nil, err
		}
	}
	beside := func(all []time.Duration, known []schedule.Instant) (out []schedule.Instant) {
		for _, at := range all {
			at = middleOf(at)
			if at > ex.now && !slices.ContainsFunc(known, func(i schedule.Instant) bool { return i.At == at }) {
				out = append(out, schedule.Instant{At: at, BeyondEnd: len(ends) > 0 && at >= ends[0]+keyspace.Grain})
			}
		}
		return inOrderOfTime(out)
	}
	fine := beside(all, coarse)
	last := beside(more, slices.Concat(coarse, fine))
	return ex.withChoices(append(fine, last[:min(len(last), max(0, maxInstants-len(fine)))]...),
		interleave.PassFine), nil
}

// insideLeases lists the fine instants that are not the end of a lease. Who has looked at a clock may act on it later
// with or without a lease.
func (ex *execution) insideLeases(ends []time.Duration) []time.Duration {
	all := []time.Duration{ex.now + early}
	if len(ends) == 0 {
		return all
	}
	all = append(all, ex.now+(ends[0]-ex.now)/2)
	if far := ends[len(ends)-1] + ex.spec.Program.Lease + margin; ex.hasRoomAfter(far) {
		all = append(all, far)
	}
	return all
}

// hasRoomAfter reports whether the leases that follow an instant end before the largest time. An instant that is later
// than that is negative.
func (ex *execution) hasRoomAfter(at time.Duration) bool {
	return at > 0 && at < math.MaxInt64-4*ex.spec.Program.Lease
}

// moreInstants lists instants that come after all others, as far as there is room: those that values name; and where
// there are few schedules, parts of the lease that ends next, or if time passes beyond ends only, parts of a lease
// after it.
func (ex *execution) moreInstants(ends []time.Duration) ([]time.Duration, error) {
	all, err := ex.namedNext(ends)
	if len(ends) == 0 {
		return all, err
	}
	inside := ex.budget.Approaches > 0
	if ex.budget.Clients <= 3 && !inside {
		for _, i := range twentiethsBeyond {
			if at := ends[0] + ex.spec.Program.Lease/20*i + keyspace.Grain; ex.hasRoomAfter(at) {
				all = append(all, at)
			}
		}
	}
	if ex.budget.Clients == 2 && inside && ex.spec.Program.Goroutines <= 1 {
		for i := range time.Duration(sixteenths) {
			all = append(all, ex.now+(ends[0]-ex.now)/sixteenths*i+keyspace.Grain)
		}
	}
	return all, err
}

// sixteenths of what is left of a lease are tried in schedules of two clients, each a millisecond later: what begins or
// ends there has begun or ended then.
const sixteenths = 16

// twentiethsBeyond are those of a lease that are tried after its end. Margins that are added where a deadline is
// compared are short.
var twentiethsBeyond = []time.Duration{1, 2, 3, 4, 5, 6, 20, 40}

// namedKept bounds the instants that values name to which time can pass. The next are kept.
const namedKept = 3

// namedNext lists the milliseconds of the next instants that stored values name, as those of deadlines, and the ones
// after them. Those at which leases end are not among them.
func (ex *execution) namedNext(ends []time.Duration) (all []time.Duration, err error) {
	named, err := ex.backend.namedInstants()
	kept := 0
	for _, at := range named {
		if kept < namedKept && at >= ex.now.Truncate(keyspace.Grain) && !slices.Contains(ends, at) {
			all = append(all, at, at+keyspace.Grain)
			kept++
		}
	}
	return all, err
}

// leaseEnds lists the ends of the leases that are not over yet, in their order, without doubles.
func (ex *execution) leaseEnds() ([]time.Duration, error) {
	ends, err := ex.backend.keyEnds()
	if err != nil {
		return nil, err
	}
	var out []time.Duration
	for _, e := range ends {
		if !ex.spec.Program.Timeless || e.At-ex.now < retention {
			out = append(out, e.At)
		}
	}
	for _, op := range ex.ops {
		if op.Outcome == harness.OK && op.TTL > 0 && op.Kind != harness.Inspect {
			out = append(out, op.Call.Truncate(keyspace.Grain)+keyspace.RoundUp(op.TTL, keyspace.Grain))
		}
		if op.Outcome == harness.OK && op.Until > 0 {
			out = append(out, op.Until.Truncate(keyspace.Grain))
		}
	}
	out = slices.DeleteFunc(out, func(at time.Duration) bool { return keyspace.HasEnded(at, ex.now) })
	slices.Sort(out)
	return slices.Compact(out), nil
}

// roundingUnit returns the multiple to which ends are rounded up where Redis's clock cannot be stopped.
func (ex *execution) roundingUnit() time.Duration {
	return max(keyspace.Grain, ex.spec.Program.Lease/8)
}

// leaseEndsBefore reports whether some lease ends between now and t.
func (ex *execution) leaseEndsBefore(t time.Duration) (bool, error) {
	instants, err := ex.leaseEnds()
	return len(instants) > 0 && instants[0] < t, err
}
