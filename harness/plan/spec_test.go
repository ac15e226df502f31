package plan

import (
	"time"

	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatACrashLeavesMarkedIsStillMarkedInTheEnd(t *testing.T) {
	window := func(p Plan) time.Duration {
		r, err := p.Resolve()
		require.NoError(t, err)
		return r.options().TTL
	}
	require.Equal(t, 8800*time.Millisecond, window(Plan{Variant: "dedup/set-nx-ex", Nemesis: []string{"crash-clients-group"}}))
	require.Equal(t, time.Second, window(Plan{Variant: "dedup/set-nx-ex", Nemesis: []string{"crash-clients-group"}, TTL: time.Second}))
	require.Zero(t, window(Plan{Variant: "dedup/set-nx-ex"}), "the workload's own")
}

// Processes of programs outside go past the fabric only while nothing can strike what it carries.
func TestPlansThatLeaveNodesAlone(t *testing.T) {
	for want, all := range map[bool][][]string{
		true:  {nil, {"crash-clients-group"}, {"freeze-clients-group", "skew-clients-group"}},
		false: {{"latency"}, {"client-kill-primary"}, {"crash-clients-group", "cut"}},
	} {
		for _, faults := range all {
			r, err := Plan{Variant: "lock/set-nx-px", Nemesis: faults, Topology: Standalone}.Resolve()
			require.NoError(t, err)
			require.Equal(t, want, r.leavesNodesAlone(), faults)
		}
	}
}
