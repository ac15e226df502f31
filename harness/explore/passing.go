package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file lets time pass in a schedule: to the last millisecond of each lease, and to the first after it.

// retention is the TTL from which on a key of a Timeless program counts as kept for good: time does not pass to its end.
const retention = 24 * time.Hour

// maxTargets bounds the number of instants to which time can pass from one place in a schedule.
const maxTargets = interleave.MaxPerKind

// target is an instant to which time can pass.
type target struct {
	at   time.Duration
	over bool // some lease has just ended then; false: it is in its last millisecond
}

// targets lists the instants to which time can pass from now, in their order: the last millisecond of each lease, and the
// first after it. Leases are those of keys, and those that operations asked for. A Timeless program that looks at a clock
// gets midnight as well. Others need no instant of its own for it: leases of 3 ms or more end after midnight.
func (ex *execution) targets() ([]target, error) {
	instants, err := ex.instants()
	if err != nil {
		return nil, err
	}
	var out []target
	for _, at := range instants {
		if at > ex.now && ex.w.fixed != nil {
			out = append(out, target{at, false})
		}
		if at+grain > ex.now {
			out = append(out, target{at + grain, true})
		}
	}
	if ex.spec.Program.Timeless && ex.clocked && ex.now < untilMidnight {
		out = append(out, target{untilMidnight, true})
	}
	slices.SortFunc(out, func(a, b target) int { return int(a.at - b.at) })
	out = slices.CompactFunc(out, func(a, b target) bool { return a.at == b.at })
	if len(out) > maxTargets {
		ex.crowded = true
		out = out[:maxTargets]
	}
	return out, nil
}

// instants lists the ends of the leases that are not over yet, in their order, without doubles.
func (ex *execution) instants() ([]time.Duration, error) {
	ends, err := ex.endings()
	if err != nil {
		return nil, err
	}
	var out []time.Duration
	for _, e := range ends {
		if !ex.spec.Program.Timeless || e.at-ex.now < retention {
			out = append(out, e.at)
		}
	}
	for _, op := range ex.ops {
		if op.Outcome == harness.OK && op.TTL > 0 && op.Kind != harness.Inspect {
			out = append(out, op.Call.Truncate(grain)+roundUp(op.TTL, grain))
		}
		if op.Outcome == harness.OK && op.Until > 0 {
			out = append(out, op.Until.Truncate(grain))
		}
	}
	out = slices.DeleteFunc(out, func(at time.Duration) bool { return at+grain <= ex.now })
	slices.Sort(out)
	return slices.Compact(out), nil
}

// endings lists the ends of keys. It asks Redis only if some command may have changed them.
func (ex *execution) endings() (_ []ending, err error) {
	if !ex.known {
		ex.ends, err = ex.w.endings(ex.now, ex.unit())
		ex.known = err == nil
	}
	return ex.ends, err
}

// unit returns the multiple to which ends are rounded up where Redis's clock cannot be stopped.
func (ex *execution) unit() time.Duration { return max(grain, ex.spec.Program.Lease/8) }

// endsBefore reports whether some lease ends between now and t.
func (ex *execution) endsBefore(t time.Duration) (bool, error) {
	instants, err := ex.instants()
	return len(instants) > 0 && instants[0] < t, err
}

// passing lists the moves in which time passes. Time does not pass twice in a row: it could have passed to the second instant
// at once.
func (ex *execution) passing() (out []move, err error) {
	if ex.left.Expiries == 0 && ex.left.Approaches == 0 || len(ex.path) == 0 || ex.path[len(ex.path)-1].IsTime() {
		return nil, nil
	}
	if ex.spec.Program.Timeless && !ex.timed && !ex.clocked {
		return nil, nil
	}
	targets, err := ex.targets()
	for i, t := range targets {
		if t.over && ex.left.Expiries > 0 || !t.over && ex.left.Approaches > 0 {
			out = append(out, move{choice: interleave.Pass(i), cost: 1, world: true})
		}
	}
	return out, err
}

// pass lets time pass to target n, counted from 0. ends reports whether some lease ends on the way.
func (ex *execution) pass(n int) (ends bool, err error) {
	targets, err := ex.targets()
	if err != nil {
		return false, err
	}
	if n >= len(targets) {
		return false, fmt.Errorf("%w: there is no instant %d to which time could pass", errDiverged, n+1)
	}
	t := targets[n]
	if ex.trace != nil {
		if err := ex.tellTime(t); err != nil {
			return false, err
		}
	}
	if t.over {
		ex.left.Expiries--
	} else {
		ex.left.Approaches--
	}
	ends = t.over || n > 0 // it goes beyond the ends before it
	ex.expired = ex.expired || ends
	return ends, ex.passTo(t.at)
}

// tellTime notes in the trace how long time passes and which keys end with it.
func (ex *execution) tellTime(t target) error {
	ends, err := ex.endings()
	if err != nil {
		return err
	}
	var gone, last []string
	for _, e := range ends {
		switch {
		case e.at < t.at && e.at+grain > ex.now:
			gone = append(gone, printable(e.key))
		case e.at == t.at:
			last = append(last, printable(e.key))
		}
	}
	ex.trace.passed(t.at-ex.now, strings.Join(gone, ", "), strings.Join(last, ", "))
	return nil
}

// passTo lets time pass to an instant of the schedule.
func (ex *execution) passTo(t time.Duration) error {
	if t <= ex.now {
		return nil
	}
	from := ex.now
	ex.now, ex.moved, ex.looks = t, t, 0
	if ex.w.fixed == nil {
		ex.known = false
	}
	return ex.w.passTo(from, t)
}

// clock returns what a client's clock shows, in virtual time.
func (ex *execution) clock(client int) time.Duration {
	t := ex.moved + time.Duration(ex.looks)*tick
	if client == ex.budget.Clients-1 {
		t += ex.spec.Skew
	}
	return t
}
