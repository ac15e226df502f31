package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file lets time pass in a schedule: to the last millisecond of each lease, and to the first after it.

// retention is the TTL from which on a key of a Timeless program counts as kept for good: time does not pass to its end.
const retention = 24 * time.Hour

// maxInstants bounds the number of instants to which time can pass at one moment of a schedule.
const maxInstants = interleave.MaxPerKind

// reachableInstants lists the instants to which time can pass from now, in their order: the last millisecond of each lease, and the
// first after it. Leases are those of keys, and those that operations asked for. A Timeless program that looks at a clock
// gets midnight as well. Others need no instant of its own for it: leases of 3 ms or more end after midnight.
func (ex *execution) reachableInstants() ([]schedule.Instant, error) {
	instants, err := ex.leaseEnds()
	if err != nil {
		return nil, err
	}
	var out []schedule.Instant
	for _, at := range instants {
		if at > ex.now && ex.w.SetsClocks() {
			out = append(out, schedule.Instant{At: at})
		}
		if at+keyspace.Grain > ex.now {
			out = append(out, schedule.Instant{At: at + keyspace.Grain, BeyondEnd: true})
		}
	}
	if ex.spec.Program.Timeless && ex.ClockRead && ex.now < keyspace.UntilMidnight {
		out = append(out, schedule.Instant{At: keyspace.UntilMidnight, BeyondEnd: true})
	}
	slices.SortFunc(out, func(a, b schedule.Instant) int { return int(a.At - b.At) })
	out = slices.CompactFunc(out, func(a, b schedule.Instant) bool { return a.At == b.At })
	if len(out) > maxInstants {
		ex.TooManyEnds = true
		out = out[:maxInstants]
	}
	return out, nil
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
	out = slices.DeleteFunc(out, func(at time.Duration) bool { return at+keyspace.Grain <= ex.now })
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

// timeMoves lists the moves in which time passes. Time does not pass twice in a row: it could have passed to the second instant
// at once.
func (ex *execution) timeMoves() (out []schedule.Move, err error) {
	if ex.remaining.Expiries == 0 && ex.remaining.Approaches == 0 || len(ex.path) == 0 || ex.path[len(ex.path)-1].IsTime() {
		return nil, nil
	}
	if ex.spec.Program.Timeless && !ex.TTLSet && !ex.ClockRead {
		return nil, nil
	}
	instants, err := ex.reachableInstants()
	for i, t := range instants {
		if t.BeyondEnd && ex.remaining.Expiries > 0 || !t.BeyondEnd && ex.remaining.Approaches > 0 {
			out = append(out, schedule.Move{Choice: interleave.Pass(i), Cost: 1, World: true})
		}
	}
	return out, err
}

// passToInstant lets time pass to instant n, counted from 0. ends reports whether some lease ends on the way.
func (ex *execution) passToInstant(n int) (ends bool, err error) {
	instants, err := ex.reachableInstants()
	if err != nil {
		return false, err
	}
	if n >= len(instants) {
		return false, fmt.Errorf("%w: there is no instant %d to which time could pass", schedule.ErrNotRepeated, n+1)
	}
	t := instants[n]
	if ex.trace != nil {
		if err := ex.tracePassing(t); err != nil {
			return false, err
		}
	}
	if t.BeyondEnd {
		ex.remaining.Expiries--
	} else {
		ex.remaining.Approaches--
	}
	ends = t.BeyondEnd || n > 0 // it goes beyond the ends before it
	ex.Expired = ex.Expired || ends
	return ends, ex.passTo(t.At)
}

// tracePassing notes in the trace how long time passes and which keys end with it.
func (ex *execution) tracePassing(t schedule.Instant) error {
	ends, err := ex.backend.keyEnds()
	if err != nil {
		return err
	}
	var gone, last []string
	for _, e := range ends {
		switch {
		case e.At < t.At && e.At+keyspace.Grain > ex.now:
			gone = append(gone, resp.Printable(e.Key))
		case e.At == t.At:
			last = append(last, resp.Printable(e.Key))
		}
	}
	ex.trace.Passed(t.At-ex.now, strings.Join(gone, ", "), strings.Join(last, ", "))
	return nil
}

// passTo lets time pass to an instant of the schedule.
func (ex *execution) passTo(t time.Duration) error {
	if t <= ex.now {
		return nil
	}
	from := ex.now
	ex.now, ex.passedTo, ex.clockLooks = t, t, 0
	return ex.backend.passTime(from, t)
}

// clock returns what a client's clock shows, in virtual time.
func (ex *execution) clock(client int) time.Duration {
	t := ex.passedTo + time.Duration(ex.clockLooks)*tick
	if client == ex.budget.Clients-1 {
		t += ex.spec.Skew
	}
	return t
}
