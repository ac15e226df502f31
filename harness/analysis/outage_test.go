package analysis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
)

// TestEachFailoverHasItsOwnOutage kills the new primary before it has served a client, so that two failovers overlap.
func TestEachFailoverHasItsOwnOutage(t *testing.T) {
	h := analysistest.OneKill()
	h.Events = append(h.Events, analysistest.Role(0, "r3", "slave"))
	h.Events = append(h.Events, analysistest.FailoverEvents(11680*ms, "r2", "r3", 2, 3)...)
	h.Faults = append(h.Faults, doing(harness.EndsProcess, "kill-primary", 11680*ms, 14*sec, "r2"))
	wait := func(client int, from, to time.Duration) harness.Op {
		op := analysistest.Add(client, from, harness.Info)
		op.Return = to
		return op
	}
	h.Ops = harness.OpsOf([]harness.Op{
		analysistest.Add(0, 9999*ms, harness.OK), wait(1, 10*sec, 11690*ms), analysistest.Add(0, 11700*ms, harness.OK),
		wait(1, 12900*ms, 13400*ms), analysistest.Add(0, 13400*ms, harness.OK),
	})
	all := Failovers(h)
	require.Len(t, all, 2)
	require.Equal(t, []time.Duration{11701 * ms, 13401 * ms}, []time.Duration{all[0].Outage.To, all[1].Outage.To},
		"the first is the longer one")
}

func TestUnderLittleLoadTheOutageIsARange(t *testing.T) {
	h := ordered(10 * sec)
	var ops []harness.Op
	for at := 9 * sec; at < 13*sec; at += 333 * ms {
		ops = append(ops, analysistest.Add(0, at, harness.OK))
	}
	h.Ops = harness.OpsOf(ops)
	f := Failovers(h)[0]
	require.Equal(t, "1.00 ms to 333 ms", f.Outage.String())
	require.Contains(t, f.String(), "no client that asked was answered for 1.00 ms to 333 ms (0 failed, 0 unknown)")
}

// TestAnOutageMayBeginBeforeTheCause cuts clients off half a second before the primary is paused.
func TestAnOutageMayBeginBeforeTheCause(t *testing.T) {
	h := analysistest.OneKill()
	h.Faults[0] = doing(harness.StopsProcess, "pause", 10*sec, 13*sec, "r1")
	h.Faults = append(h.Faults, doing(harness.CutsLinks, "cut", 9500*ms, 13*sec, "r1", "g0", "g1"))
	ops := []harness.Op{analysistest.Add(0, 9499*ms, harness.OK)}
	for at := 9500 * ms; at < 11700*ms; at += 100 * ms {
		op := analysistest.Add(0, at, harness.Info)
		op.Return = at + 300*ms
		ops = append(ops, op)
	}
	last := analysistest.Add(0, 11700*ms, harness.OK)
	last.Return = 12100 * ms
	h.Ops = harness.OpsOf(append(ops, last))
	f := Failovers(h)[0]
	require.Equal(t, "pause", f.Name)
	require.Equal(t, "2.60 s", f.Outage.String())
}

// TestTheOutageOutlastsAFirstWriteOfClientsThatAreCutOff has a partition in which both sides reach the new primary.
// Clients on the minority side write to it first, and their writes do not end the outage.
func TestTheOutageOutlastsAFirstWriteOfClientsThatAreCutOff(t *testing.T) {
	h := without(analysistest.OneKill(), func(e harness.Event) bool { return e.Kind == harness.EventServesWrites })
	h.Faults[0] = doing(harness.CutsLinks, "bridge", 10*sec, 13*sec, "r1", "s1", "g1", "r2")
	h.Faults[0].Groups = []int{1}
	h.Events = append(h.Events, serves(sec, "r1", 0), serves(sec, "r1", 1), serves(11800*ms, "r2", 1),
		serves(12*sec, "r2", 0))
	waiting := analysistest.Add(0, 10*sec, harness.Info)
	waiting.Return = 11900 * ms
	h.Ops = harness.OpsOf([]harness.Op{analysistest.Add(0, 9999*ms, harness.OK),
		analysistest.Add(1, 11800*ms, harness.OK), waiting, analysistest.Add(0, 12*sec, harness.OK)})
	f := Failovers(h)[0]
	require.Equal(t, 11801*ms, f.Stage(Writable).At)
	require.Equal(t, 12001*ms, f.Outage.To)
	require.Equal(t, 1901*ms, f.Outage.Least)
}

// TestAReplicasNotMineIsNoAnswer has clients that read a lock before they release it. A replica's answer to that read
// does not end the outage, though the node that acknowledged their latest write is still a primary.
func TestAReplicasNotMineIsNoAnswer(t *testing.T) {
	h := without(crashAfterPromotion(), func(e harness.Event) bool {
		return e.Kind == harness.EventServesWrites && e.Node == "r3"
	})
	h.Events = append(h.Events, answers(ms, "r1", 0), answers(16*sec, "r3", 0), answers(18400*ms, "r2", 0))
	f := Failovers(h)[1]
	require.Equal(t, Outage{Seen: true, From: 16 * sec, To: 18401 * ms, Least: 2401*ms - 9*ms, Most: 2410 * ms,
		Failed: 240}, f.Outage)

	older := without(h, func(e harness.Event) bool { return e.Kind == harness.EventAnswers })
	require.Less(t, Failovers(older)[1].Outage.Length(), sec, "of an older program nobody knows who answered the read")
}

func answers(at time.Duration, node string, group int) harness.Event {
	e := serves(at, node, group)
	e.Kind = harness.EventAnswers
	return e
}

// TestAWindowBeginsInTime checks that each operation goes only to the failovers that it can belong to.
func TestAWindowBeginsInTime(t *testing.T) {
	h := analysistest.Kills(4)
	w := newFailoverMeters(h)
	for op := range h.Ops {
		w.add(op)
		begun := 0
		for _, f := range h.Faults {
			if f.Start <= op.Return {
				begun++
			}
		}
		require.Equal(t, begun, w.opened, "at %v", op.Return)
		require.Equal(t, begun < len(h.Faults), len(w.pending) > 0, "what comes before the next is counted once")
	}
}
