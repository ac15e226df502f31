package analysis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
)

// TestWithoutACauseWhatWasLongBeforeCostsNothing has a longer stall, 5 s before a failover.
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
