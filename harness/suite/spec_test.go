package suite

import (
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
