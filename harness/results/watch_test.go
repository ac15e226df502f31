package results

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/plan"
)

// watched executes p. For each violation it returns the time from the Return of the violation's last operation to the report.
func watched(t testing.TB, p plan.Plan) (Outcome, []time.Duration) {
	t.Helper()
	var delays []time.Duration
	out, err := Execute(t.Context(), p, Options{Results: t.TempDir(), Found: func(a harness.Anomaly, at time.Duration) {
		last := slices.MaxFunc(a.Ops, func(x, y harness.Op) int { return int(x.Return - y.Return) })
		delays = append(delays, at-last.Return)
	}})
	require.NoError(t, err)
	return out, delays
}

func TestTheFirstViolationEndsARun(t *testing.T) {
	out, delays := watched(t, plan.Plan{Variant: "sequence/get-set", Clients: 20, Duration: time.Hour, Rate: -1, StopOnFirst: true})
	require.Equal(t, harness.Invalid, out.Report.Judged.Verdict)
	require.True(t, out.Met)
	require.NotEmpty(t, delays)
	again, err := Recheck(t.Context(), out.Dir)
	require.NoError(t, err)
	require.True(t, again.Plan.StopOnFirst, "the plan keeps it")
	require.Contains(t, out.Plan.Command(), "--stop-on-first=true")
}

func TestOpenPacingIsKept(t *testing.T) {
	out, _ := watched(t, plan.Plan{Variant: "sequence/incr", Clients: 20, Duration: time.Second, Rate: 1000, Pacing: plan.OpenPacing})
	require.Equal(t, harness.Valid, out.Report.Judged.Verdict, out.Report.Judged.Summary())
	require.True(t, out.Report.History.Meta.Open)
	require.Contains(t, out.Plan.Command(), "--pacing=open")
	var due []time.Duration
	for op, err := range out.Report.History.Ops {
		require.NoError(t, err)
		require.Positive(t, op.Due, "every number is a step of its own")
		due = append(due, op.Due)
	}
	steps := float64(len(due)) / (slices.Max(due) - slices.Min(due)).Seconds()
	require.InEpsilon(t, 1000, steps, 0.5, "steps a second by the plan, whatever the machine could do")
}

// BenchmarkViolationToReport measures the times that watched returns, with 1,000 clients.
func BenchmarkViolationToReport(b *testing.B) {
	for b.Loop() {
		_, delays := watched(b, plan.Plan{Variant: "sequence/get-set", Clients: 1000, Duration: 5 * time.Second})
		slices.Sort(delays)
		at := func(q float64) float64 {
			return float64(delays[int(q*float64(len(delays)-1))]) / float64(time.Millisecond)
		}
		b.ReportMetric(float64(len(delays)), "violations")
		b.ReportMetric(at(0.5), "p50-ms")
		b.ReportMetric(at(0.99), "p99-ms")
		b.ReportMetric(at(1), "max-ms")
	}
}
