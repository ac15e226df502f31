package analysis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
)

// TestWithoutACauseWhatWasLongBeforeCostsNothing has a stall 5 s before the failover that is longer than the
// failover's.
func TestWithoutACauseWhatWasLongBeforeCostsNothing(t *testing.T) {
	h := analysistest.OneKill()
	h.Events = append(h.Events, event(3*sec, "r1", harness.EventUnwritable, "no answer"),
		event(5*sec, "r1", harness.EventWritable, ""))
	ops := []harness.Op{analysistest.Add(0, 2999*ms, harness.OK)}
	for at := 3 * sec; at < 5*sec; at += 10 * ms {
		ops = append(ops, analysistest.Add(0, at, harness.Fail))
	}
	ops = append(ops, analysistest.Add(0, 5*sec, harness.OK), analysistest.Add(0, 9999*ms, harness.OK))
	for at := 10 * sec; at < 11700*ms; at += 10 * ms {
		ops = append(ops, analysistest.Add(0, at, harness.Fail))
	}
	h.Ops = harness.OpsOf(append(ops, analysistest.Add(0, 11700*ms, harness.OK)))
	for name, faults := range map[string][]harness.Fault{"kill-primary": h.Faults, noCause: nil} {
		h.Faults = faults
		f := Failovers(h)[0]
		require.Equal(t, name, f.Name)
		require.Equal(t, Downtime{Seen: true, From: 10002 * ms, To: 11470 * ms}, f.Servers, name)
		for _, o := range []Outage{f.Outage, f.Writes} {
			require.Equal(t, []time.Duration{10 * sec, 11701 * ms}, []time.Duration{o.From, o.To}, name)
		}
	}
}

// TestARefusalIsNoOutageOfWrites has one lock that is held for 5 s, beside a failover of 1.7 s.
func TestARefusalIsNoOutageOfWrites(t *testing.T) {
	h := analysistest.OneKill()
	ops := []harness.Op{analysistest.Add(0, 7*sec, harness.OK)}
	for at := 8 * sec; at < 10*sec; at += 10 * ms {
		ops = append(ops, analysistest.Refusal(0, at))
	}
	for at := 10 * sec; at < 11700*ms; at += 10 * ms {
		ops = append(ops, analysistest.Add(0, at, harness.Fail))
	}
	for at := 11700 * ms; at < 13*sec; at += 10 * ms {
		ops = append(ops, analysistest.Refusal(0, at))
	}
	h.Ops = harness.OpsOf(append(ops, analysistest.Add(0, 13*sec, harness.OK)))
	f := Failovers(h)[0]
	require.Equal(t, []time.Duration{10 * sec, 11701 * ms}, []time.Duration{f.Writes.From, f.Writes.To})
	require.Equal(t, f.Outage, f.Writes)
	require.Equal(t, 13001*ms, f.Stage(Writable).At, "a refusal is no write, all the same")
}

// TestNodesWithoutANameExecuteNothingTwice reads a record that does not say which nodes were the old and the new
// primary. A write must not count for both.
func TestNodesWithoutANameExecuteNothingTwice(t *testing.T) {
	h := without(analysistest.OneKill(), func(e harness.Event) bool {
		return e.Kind == harness.EventAddress || e.Kind == harness.EventRole || e.Kind == harness.EventServesWrites
	})
	h.Ops = harness.OpsOf([]harness.Op{
		analysistest.Add(0, 9*sec, harness.OK), analysistest.Add(0, 11511500*time.Microsecond, harness.OK),
		analysistest.Add(0, 11700*ms, harness.OK),
	})
	all := Failovers(h)
	require.Len(t, all, 1)
	f := all[0]
	require.Equal(t, []string{"", ""}, []string{f.Old, f.New})
	require.Equal(t, 11701*ms, f.Stage(Writable).At, "the one before was called before the promotion")
	require.Equal(t, []int64{1, 0}, []int64{f.ExecutedWrites, f.MinorityWrites})

	// the record does not say which node r2 is
	h.Events = append(h.Events, serves(sec, "r1", 1), serves(11520*ms, "r2", 0))
	f = Failovers(h)[0]
	require.Equal(t, []int64{1, 0}, []int64{f.ExecutedWrites, f.MinorityWrites})
	require.Empty(t, f.Remarks())
}

// TestAnEarlierFailoversDowntimeIsItsOwn has a second failover whose cause began in the downtime of the first.
func TestAnEarlierFailoversDowntimeIsItsOwn(t *testing.T) {
	h := analysistest.OneKill()
	// 5 ms before its first write
	h.Events = append(h.Events, analysistest.Role(ms, "r3", "slave"), analysistest.Role(11465*ms, "r2", "master"))
	for _, e := range analysistest.FailoverEvents(20*sec, "r2", "r3", 2, 3) {
		if e.Node != "r2" { // it goes on
			h.Events = append(h.Events, e)
		}
	}
	h.Faults = append(h.Faults, doing(harness.ShiftsClock, "clock", 10500*ms, 30*sec, "s2"))
	all := Failovers(h)
	require.Len(t, all, 2)
	require.Equal(t, []string{"kill-primary", "clock"}, []string{all[0].Name, all[1].Name})
	require.Equal(t, 1468*ms, all[0].Servers.Length())
	require.Zero(t, all[1].Servers.Length())
}
