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
