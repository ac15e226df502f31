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

// This file lists the instants to which time can pass: around the end of each lease and, when a client is about to read
// a clock or a TTL, further instants that a lease's holder or its rivals may tell apart.

// retention is a TTL so long that its key counts as permanent: in a Timeless program the key never expires.
const retention = 24 * time.Hour

// maxInstants bounds the lists that reachableInstants and fineInstants return.
const maxInstants = interleave.MaxPerKind

const (
	// early is the time from now to the first instant of insideLeases. It is 2 ms more than the 1 ms that checkers
	// ignore.
	early = 3 * keyspace.Grain
	// margin is the longest time that an algorithm is assumed to add to a deadline. Time does not pass to a deadline
	// that lies more than another lease and this margin beyond the ends of all leases.
	margin = time.Minute
)

// reachableInstants lists the instants to which time can pass from now, in order: shortly before the end of each lease,
// and the first millisecond after it. Leases are those of keys and those that operations asked for. Schedules begin
// shortly before a midnight. In a Timeless program that reads a clock, this midnight is an instant, too.
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

// middleOf returns the middle of the millisecond of t.
func middleOf(t time.Duration) time.Duration { return t.Truncate(keyspace.Grain) + start }

// inOrderOfTime sorts instants. Of several at one time it keeps the first.
func inOrderOfTime(all []schedule.Instant) []schedule.Instant {
	slices.SortStableFunc(all, func(a, b schedule.Instant) int { return cmp.Compare(a.At, b.At) })
	return slices.CompactFunc(all, func(a, b schedule.Instant) bool { return a.At == b.At })
}

// withChoices gives each instant its choice: choice(n) for instant n, counted from 0. It drops instants beyond the
// first maxInstants, and records that it did.
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

// fineInstants lists further instants. They make a difference only to a client that reads a clock or a TTL:
//
// - in the lease that ends next: early in it, its middle, and its last millisecond, in which a TTL is 0;
// - in all other leases: the last millisecond;
// - for each instant that a stored value names: this instant and the next millisecond, see namedNext;
// - one far beyond the end of all leases, by a margin and another lease, for deadlines that are not stored in Redis.
//
// A Timeless program has last milliseconds only.
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

// insideLeases lists up to three further instants: one shortly after now, the middle between now and the next end of a
// lease, and one far beyond the ends of all leases. The third is left out if a lease that begins there would end beyond
// the largest time.Duration. If no lease is running, the list has only the first.
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

// hasRoomAfter reports whether leases that begin at an instant can end before the largest time.Duration. It is false
// for a negative instant, which is the result of an overflow.
func (ex *execution) hasRoomAfter(at time.Duration) bool {
	return at > 0 && at < math.MaxInt64-4*ex.spec.Program.Lease
}

// moreInstants lists the instants that fineInstants drops first if there are too many: those that stored values name.
// With two or three clients it adds some beyond the end of a lease (twentiethsBeyond) or, with two, inside a lease
// (sixteenths).
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

// sixteenths is the number of parts into which schedules of two clients divide a lease. Time may pass to the instant
// one millisecond after the beginning of each part.
const sixteenths = 16

// twentiethsBeyond lists instants after the end of a lease, in twentieths of a lease. Most lie close to the end, as do
// the margins that algorithms add when they compare deadlines.
var twentiethsBeyond = []time.Duration{1, 2, 3, 4, 5, 6, 20, 40}

// namedKept bounds the instants that are taken from stored values: the next ones after now.
const namedKept = 3

// namedNext lists the next milliseconds that stored values name, such as deadlines, and the millisecond after each.
// Ends of leases are left out.
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

// leaseEnds lists the ends of leases that have not ended, sorted, each once.
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

// roundingUnit is the unit to which ends of leases are rounded up if Redis's clock cannot be stopped.
func (ex *execution) roundingUnit() time.Duration {
	return max(keyspace.Grain, ex.spec.Program.Lease/8)
}

// leaseEndsBefore reports whether a lease ends between now and t.
func (ex *execution) leaseEndsBefore(t time.Duration) (bool, error) {
	instants, err := ex.leaseEnds()
	return len(instants) > 0 && instants[0] < t, err
}
