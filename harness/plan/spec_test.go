package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

func TestWhatACrashLeavesMarkedIsStillMarkedInTheEnd(t *testing.T) {
	window := func(p Plan) time.Duration {
		r := resolved(t, p)
		return r.options().TTL
	}
	require.Equal(t, 8800*time.Millisecond,
		window(Plan{Variant: "dedup/set-nx-ex", Nemesis: []string{"crash-clients-group"}}))
	require.Equal(t, time.Second, window(Plan{Variant: "dedup/set-nx-ex", Nemesis: []string{"crash-clients-group"},
		TTL: time.Second}))
	require.Zero(t, window(Plan{Variant: "dedup/set-nx-ex"}), "the workload's own")
}

// Clients connect to nodes directly, without the fabric that breaks links, only if no fault can strike a link.
func TestPlansThatLeaveNodesAlone(t *testing.T) {
	for want, all := range map[bool][][]string{
		true:  {nil, {"crash-clients-group"}, {"freeze-clients-group", "skew-clients-group"}},
		false: {{"latency"}, {"client-kill-primary"}, {"crash-clients-group", "cut"}},
	} {
		for _, faults := range all {
			r := resolved(t, Plan{Variant: "lock/set-nx-px", Nemesis: faults, Topology: Standalone})
			require.Equal(t, want, r.leavesNodesAlone(), faults)
		}
	}
}

// TestTheLastCalmOutlivesTheLease checks that locks of clients that were cut off become free before the run ends.
func TestTheLastCalmOutlivesTheLease(t *testing.T) {
	for _, c := range []struct {
		plan Plan
		want time.Duration
	}{
		{Plan{Variant: "lock/set-nx-px"}, 3 * time.Second},
		{Plan{Variant: "lock/setnx-expire", TTL: 2100 * time.Millisecond}, 4 * time.Second},
		{Plan{Variant: "lock/set-nx-px", TTL: 5 * time.Second}, 6 * time.Second},
		{Plan{Variant: "lock/set-nx-px", TTL: 5 * time.Second, Calm: time.Second}, 6 * time.Second},
		{Plan{Variant: "lock/set-nx-px", TTL: time.Second, Calm: 10 * time.Second}, 10 * time.Second},
		{Plan{Variant: "dedup/get-set", TTL: 5 * time.Second}, 2 * time.Second},
	} {
		r := resolved(t, c.plan)
		spec := r.Spec(Machine{}, t.TempDir(), harness.NewMemory())
		require.Equal(t, c.want, spec.QuietPeriod, "%+v", c.plan)
	}
}

func TestHowLongAPlanTakesIsKnownBefore(t *testing.T) {
	length := func(p Plan) time.Duration {
		d, err := p.Estimate()
		require.NoError(t, err)
		return d
	}
	require.InDelta(t, 10, length(Plan{Variant: "sequence/incr"}).Seconds(), 3)
	require.InDelta(t, 7200, length(Plan{Variant: "sequence/incr", Duration: 2 * time.Hour}).Seconds(), 3)
	three := length(Plan{Variant: "sequence/incr", Nemesis: []string{"kill-primary"}, Repeat: 3})
	one := length(Plan{Variant: "sequence/incr", Nemesis: []string{"kill-primary"}})
	require.InDelta(t, 2*9, (three - one).Seconds(), 4, "a fault of 5 s, the calm before it and the recovery after it")
	_, err := Plan{Variant: "none"}.Estimate()
	require.ErrorIs(t, err, ErrUsage)
}
