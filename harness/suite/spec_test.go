package suite

import (
	"time"

	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

// TestWantOfACompilerIsTheEnvironments: no other plan would do better.
func TestWantOfACompilerIsTheEnvironments(t *testing.T) {
	t.Setenv("CC", "/nowhere/cc")
	o := Options{Results: t.TempDir()}
	_, err := Execute(t.Context(), Plan{Variant: "sequence/incr", Nemesis: []string{"clock-step-forward"}}, o)
	require.ErrorIs(t, err, cluster.ErrNoCompiler)
	require.NotErrorIs(t, err, ErrUsage)
	require.ErrorContains(t, err, `"/nowhere/cc" cannot be run: install it`)
}

func TestWhatACrashLeavesMarkedIsStillMarkedInTheEnd(t *testing.T) {
	window := func(p Plan) time.Duration {
		r, err := p.resolve()
		require.NoError(t, err)
		return r.options().TTL
	}
	require.Equal(t, 8800*time.Millisecond, window(Plan{Variant: "dedup/set-nx-ex", Nemesis: []string{"crash-clients-group"}}))
	require.Equal(t, time.Second, window(Plan{Variant: "dedup/set-nx-ex", Nemesis: []string{"crash-clients-group"}, TTL: time.Second}))
	require.Zero(t, window(Plan{Variant: "dedup/set-nx-ex"}), "the workload's own")
}
