package checkers

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

// soak returns a run that passes every gate: two workers compete before, during and after a fault from 100 to 200.
func soak() harness.History {
	h := of(
		acquire(0, "a", 10, 12, 5), fail(acquire(1, "b", 11, 13, 5)), release(0, "a", 14, 15),
		info(acquire(0, "c", 120, 160, 5)),
		acquire(1, "d", 310, 312, 5), release(1, "d", 320, 330),
	)
	h.Meta.Kinds = []harness.Kind{harness.Acquire, harness.Release}
	h.Faults = []harness.Fault{{Name: "kill", Start: 100, Active: 110, Heal: 190, End: 200, Proved: true}}
	return h
}

type change = func(h *harness.History)

// soakBut returns soak with some things changed.
func soakBut(changes ...change) harness.History {
	h := soak()
	for _, do := range changes {
		do(&h)
	}
	return h
}

// without leaves out the operations that match.
func without(match func(harness.Op) bool) change {
	return func(h *harness.History) { h.Ops = harness.OpsOf(slices.DeleteFunc(opsIn(*h), match)) }
}

// with appends operations.
func with(more ...harness.Op) change {
	return func(h *harness.History) { h.Ops = harness.OpsOf(append(opsIn(*h), more...)) }
}

// inTheirOrder puts the operations in order of Return.
func inTheirOrder(h *harness.History) { h.Ops = of(opsIn(*h)...).Ops }

func opsIn(h harness.History) (ops []harness.Op) {
	for op := range h.Ops {
		ops = append(ops, op)
	}
	return ops
}

func promised(kinds ...harness.Kind) change {
	return func(h *harness.History) { h.Meta.Kinds = append(h.Meta.Kinds, kinds...) }
}

func situations(all ...harness.SituationName) change {
	return func(h *harness.History) { h.Meta.Situations = all }
}

func rate(r float64) change { return func(h *harness.History) { h.Meta.Rate = r } }

func andFault(f harness.Fault) change {
	return func(h *harness.History) { h.Faults = append(h.Faults, f) }
}

func refused(op harness.Op) bool     { return op.Outcome == harness.Fail }
func beforeFault(op harness.Op) bool { return op.Call < 100 }
func duringFault(op harness.Op) bool { return op.Call == 120 }
func afterFault(op harness.Op) bool  { return op.Call > 300 }

func TestGates(t *testing.T) {
	const (
		before = "0 operations before the first fault"
		during = "0 operations during kill"
		after  = "0 operations after the last fault"
	)
	freeze := harness.Fault{Name: "freeze", Start: 105, Active: 108, Heal: 190, End: 200, Proved: true,
		Frozen: []int{0, 1}}
	freezeLater := freeze
	freezeLater.Start, freezeLater.Active, freezeLater.Heal = 111, 111, 200
	pause := harness.Fault{Name: "pause", Targets: []string{"s1"}, Start: 120, Active: 130, Heal: 140, End: 260,
		Proved: true}
	runCases(t, Gates(), []verdictCase{
		{name: "empty", h: of(), unknown: "the run promised no kind of operation; 0 operations during the run"},
		{name: "early end", unknown: "the run ended early: interrupted",
			h: soakBut(func(h *harness.History) { h.End.Reason = "interrupted" })},
		{name: "a promised kind was never ok", unknown: "no release was ok",
			h: soakBut(without(func(op harness.Op) bool { return op.Kind == harness.Release }))},
		{name: "no contention", unknown: "no contention", h: soakBut(without(refused))},
		{name: "one client", unknown: "no contention: one client has nobody to contend with: ask for 2 or more",
			h: soakBut(without(refused), without(beforeFault), func(h *harness.History) { h.Meta.Workers = 1 })},
		{name: "contention among the refused alone", unknown: "no contention",
			h: soakBut(without(func(op harness.Op) bool { return op.Call == 11 }),
				with(fail(acquire(0, "e", 340, 342, 5)), fail(acquire(1, "f", 341, 343, 5))))},
		{name: "contention is asked of each kind", unknown: "never did the nexts of two workers meet",
			h: soakBut(promised(harness.Next), with(next(0, 340, 341, "1")))},
		{name: "nobody is first", unknown: `no claim was told "first"`,
			h: claimed(seen(claim(0, 1, 3, 9)), seen(claim(1, 2, 4, 9)))},
		{name: "somebody is first", h: claimed(claim(0, 1, 3, 9), seen(claim(1, 2, 4, 9)))},
		{name: "two ask when somebody else has been told that it is first", unknown: "no contention",
			h: claimed(claim(0, 1, 2, 9), seen(claim(1, 3, 5, 9)), seen(claim(2, 4, 6, 9)))},
		{name: "a sequence that never gave a number", unknown: "seq-1 never gave a number",
			h: numbersDrawn(fail(on("seq-1", next(0, 5, 6, ""))))},
		{name: "a sequence that gave one at last",
			h: numbersDrawn(fail(on("seq-1", next(0, 5, 6, ""))), on("seq-1", next(0, 7, 8, "1")),
				fail(on("seq-1", next(0, 9, 10, ""))))},
		{name: "a situation was promised and not met", unknown: "never occurred: extend after the lease",
			h: soakBut(situations(harness.LeaseEndedInside, harness.ExtendAfterLease))},
		{name: "and met", h: soakBut(situations(harness.LeaseEndedInside))},
		{name: "no contention is needed for writes", h: soakBut(func(h *harness.History) {
			h.Ops, h.Meta.Kinds, h.Faults = harness.OpsOf([]harness.Op{add(0, 1, 1,
				2)}), []harness.Kind{harness.Add}, nil
		})},
		{name: "not healed", unknown: "the fault kill at 100ns never healed",
			h: soakBut(func(h *harness.History) { h.Faults[0].End = 0 })},
		{name: "no load before", unknown: before, h: soakBut(without(beforeFault))},
		{name: "no load during", unknown: during, h: soakBut(without(duringFault))},
		{name: "load that hangs all through the fault", h: soakBut(without(duringFault), without(afterFault),
			with(info(acquire(0, "c", 90, 250, 5)), acquire(1, "d", 310, 312, 5), release(1, "d", 320, 330)))},
		{name: "no load after", unknown: after, h: soakBut(without(afterFault))},
		{name: "load that meets the beginning of the first fault", h: soakBut(without(beforeFault),
			with(fail(acquire(1, "b", 99, 101, 5)), acquire(0, "a", 100, 101, 5)), inTheirOrder)},
		{name: "load that meets the end of the last fault",
			h: soakBut(without(afterFault), with(acquire(1, "d", 198, 199, 5), release(1, "d", 199, 200)))},
		{name: "the final read is no load", unknown: after, h: soakBut(without(afterFault), with(read(400, 401, "")))},
		{name: "a delivery is no load", unknown: after, h: soakBut(without(afterFault), with(deliver(0, 400, 401)))},
		{name: "a granted probe is no ok acquire", unknown: "no acquire was ok", h: soakBut(
			without(func(op harness.Op) bool { return op.Kind == harness.Acquire && op.Outcome == harness.OK }),
			with(granted(probe(400, 401))))},
		{name: "an inspection is an ok inspection",
			h: soakBut(promised(harness.Inspect), with(inspect(400, 401, "1", 0)))},
		{name: "a probe is no contention", unknown: "no contention",
			h: soakBut(without(refused), with(acquire(0, "e", 399, 400, 5), granted(probe(400, 401))))},
		{name: "only refusals before", unknown: "no operation of the main workload was ok before the first fault",
			h: soakBut(without(func(op harness.Op) bool { return op.Call < 100 && op.Outcome == harness.OK }))},
		{name: "only riders after", unknown: "no operation of the main workload was ok after the last fault",
			h: soakBut(func(h *harness.History) { h.Meta.Clients = 1 })},

		{name: "load counts from the first operation on", h: lateLoad(100)},
		{name: "and is enough or not", unknown: "3 operations during the run, where at least", h: lateLoad(1000)},

		{name: "TILT", unknown: "the Sentinel s1 entered TILT mode at 150ns", h: soakBut(tilt(150))},
		{name: "TILT of a Sentinel that a fault stopped", h: soakBut(tilt(150, "s1"))},
		{name: "TILT just after the fault", h: soakBut(tilt(190+tiltDelay, "s1"))},
		{name: "TILT at the start of a fault", h: soakBut(tilt(100, "s1"))},
		{name: "TILT long after the fault", unknown: "the Sentinel s1 entered TILT",
			h: soakBut(tilt(191+tiltDelay, "s1"))},
		{name: "TILT before the fault", unknown: "the Sentinel s1 entered TILT mode at 99ns",
			h: soakBut(tilt(99, "s1"))},
		{name: "TILT of another Sentinel", unknown: "the Sentinel s1 entered TILT mode at 150ns",
			h: soakBut(tilt(150, "r1", "s2"))},
		{name: "TILT while a later fault that it suffers has not ended", h: soakBut(tilt(250, "r1"), andFault(pause))},
		{name: "TILT long after the heal of a fault that has not ended", h: soakBut(tilt(2*time.Second, "s1"),
			func(h *harness.History) { h.Faults[0].End = 3 * time.Second }, with(acquire(1, "e", 4*time.Second,
				5*time.Second, 5)))},

		{name: "all clients frozen", h: soakBut(frozen(0, 1))},
		{name: "some clients frozen", unknown: during + ", where at least 1", h: soakBut(frozen(0))},
		{name: "frozen after the bite only", unknown: during, h: soakBut(frozen(), andFault(freezeLater))},
		{name: "frozen all through another fault", h: soakBut(frozen(), andFault(freeze))},
		{name: "load is asked of those only who can act",
			unknown: "1 operations during kill, where at least 2 were wanted",
			h:       soakBut(func(h *harness.History) { frozenAt(h, 1e9, 0) })}, // one of three workers, for 4 s
		{name: "load is not asked of those who cannot", h: soakBut(func(h *harness.History) { frozenAt(h, 5e8, 0) })},
		{name: "too little load, and what to do", h: soakBut(rate(1e9)),
			unknown: "1,000,000,000 operations a second that were aimed at is enough: aim at a lower rate (--rate), " +
				"or"},
		{name: "too little load during a fault", unknown: "operations during kill, where at least",
			h: soakBut(rate(1e9), func(h *harness.History) { h.Meta.Workers = 1e9 })},
		{name: "load enough", h: soakBut(rate(1e8))},

		{name: "clocks known well enough", h: clocksKnown("1ms", "20ms", "3ms")},
		{name: "clocks known too little beside a lease without an end", unknown: "were known to within 20.1ms only",
			h: andOps(clocksKnown("20.1ms"), acquire(0, "a", 101*time.Millisecond, 102*time.Millisecond, 0))},
		{name: "an extend is no new lease", h: andOps(clocksKnown("20ms"),
			extend(0, "a", 101*time.Millisecond, 102*time.Millisecond, 1))},
		{name: "clocks known too little for a window", unknown: "the shortest lease or window is 1ms",
			h: andOps(clocksKnown("20ms"), claim(0, 101*time.Millisecond, 102*time.Millisecond, time.Millisecond))},
		{name: "what others say is no bound",
			h: said(clocksKnown("1ms"), harness.Event{Kind: harness.EventRole, Detail: "1h"},
				harness.Event{Kind: harness.EventClockBound, Detail: "x"})},
		{name: "clocks known too little", h: clocksKnown("1ms", "20.1ms", "3ms"),
			unknown: "the clocks of the generators were known to within 20.1ms only, " +
				"and the shortest lease or window is 80ms"},
	})
}

// lateLoad returns a run that aimed at the given operations a second. It has only three, all an hour after its start.
func lateLoad(aimed float64) harness.History {
	const hour, ms = time.Hour, time.Millisecond
	h := of(acquire(0, "a", hour, hour+ms, 5), fail(acquire(1, "b", hour, hour+2*ms, 5)),
		acquire(0, "a", hour+2*ms, hour+100*ms, 5))
	h.Meta.Kinds, h.Meta.Rate = []harness.Kind{harness.Acquire}, aimed
	return h
}

// andOps returns h with more operations.
func andOps(h harness.History, more ...harness.Op) harness.History {
	h.Ops = of(append(opsIn(h), more...)...).Ops
	return h
}

// A run in one process has no generator to name.
func TestARunWithoutGeneratorsNamesNone(t *testing.T) {
	g, _ := judge(t, Gates(), of(fail(acquire(0, "a", 1, 2, 5))))
	require.NotContains(t, g.Reason, "generator")
	g, _ = judge(t, Gates(), of())
	require.NotContains(t, g.Reason, "main workload", "there was none at all")
}

// clocksKnown returns a run with leases of 80 ms and more, whose generators' clocks were known to within these times.
func clocksKnown(bounds ...string) harness.History {
	const ms = time.Millisecond
	h := of(acquire(0, "a", 0, 100*ms, 80*ms), acquire(1, "b", 0, 101*ms, 320*ms), fail(claim(2, 0, 102*ms, 1)))
	h.Meta.Kinds = []harness.Kind{harness.Acquire}
	for _, b := range bounds {
		h.Events = append(h.Events, harness.Event{Kind: harness.EventClockBound, Node: "generator 1", Detail: b})
	}
	return h
}

// claimed returns a run of those claims, without faults.
func claimed(ops ...harness.Op) harness.History {
	h := of(ops...)
	h.Meta.Kinds = []harness.Kind{harness.Claim}
	return h
}

// numbersDrawn returns a run without faults: two draws that overlap in time, and then the given ones.
func numbersDrawn(ops ...harness.Op) harness.History {
	h := of(append(ops, next(0, 1, 3, "1"), next(1, 2, 4, "2"))...)
	h.Meta.Kinds = []harness.Kind{harness.Next}
	return h
}

// tilt lets the Sentinel s1 enter TILT mode while a fault has those targets.
func tilt(at time.Duration, targets ...string) change {
	return func(h *harness.History) {
		h.Faults[0].Targets = targets
		h.Events = append(h.Events, harness.Event{At: at, Node: "s1", Kind: "+tilt", Detail: "#tilt mode entered"})
	}
}

// frozen lets the fault freeze groups, and removes the operations during the fault. Worker 1 alone is in group 1.
func frozen(groups ...int) change {
	return func(h *harness.History) {
		without(duringFault)(h)
		h.Faults[0].Frozen = groups
	}
}

// frozenAt makes the fault 4 rounds long, with one operation in it. The run aims at so high a rate that only the number
// of workers decides how many operations the fault needs.
func frozenAt(h *harness.History, round time.Duration, groups ...int) {
	f := &h.Faults[0]
	f.Frozen, f.Heal, f.End = groups, f.Active+4*round, f.Active+4*round
	without(afterFault)(h)
	with(acquire(1, "d", f.End+1, f.End+2, 5), release(1, "d", f.End+3, f.End+4))(h)
	h.Meta.Rate = 30
}

func TestAwake(t *testing.T) {
	fault := func(start, heal time.Duration, groups ...int) harness.Fault {
		return harness.Fault{Start: start, Heal: heal, Frozen: groups}
	}
	for _, tc := range []struct {
		name   string
		faults []harness.Fault
		want   float64 // share of [10, 20]; workers 0 and 2 are in group 0, worker 1 in group 1
	}{
		{"all frozen, never healed", []harness.Fault{fault(0, 0, 0, 1)}, 0},
		{"the other", []harness.Fault{fault(10, 20, 1)}, 2.0 / 3},
		{"for half of the time", []harness.Fault{fault(15, 30, 0, 1)}, 0.5},
		{"elsewhen", []harness.Fault{fault(0, 10, 0, 1), fault(20, 30, 0, 1)}, 1},
		{"twice at once", []harness.Fault{fault(12, 16, 0, 1), fault(11, 14, 0, 1)}, 0.5},
		{"one inside the other", []harness.Fault{fault(12, 13, 0, 1), fault(11, 16, 0, 1)}, 0.5},
		{"by turns", []harness.Fault{fault(0, 14, 0, 1), fault(14, 99, 0, 1)}, 0},
	} {
		h := during(of(), tc.faults...)
		h.Faults = h.FaultsByStart()
		require.InDelta(t, tc.want, awakeShare(h, 10, 20), 1e-9, tc.name)
	}
	require.Equal(t, 1.0, awakeShare(during(of(), fault(0, 99, 0, 1)), 10, 10), "an instant")
}

func TestAReasonHasAnEnd(t *testing.T) {
	g, _ := judge(t, Gates(), during(soak(),
		slices.Repeat([]harness.Fault{{Name: "cut", Start: 1, Heal: 2, End: 3}}, 100)...))
	require.Equal(t, harness.Unknown, g.Verdict)
	require.Equal(t, mostReasons+1, len(strings.Split(g.Reason, "; ")))
	require.Regexp(t, `; and [0-9]+ more$`, g.Reason)
}
