package cluster_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

func TestWithoutSentinelsThePrimaryIsTheOneThatWasPromotedLast(t *testing.T) {
	c := cluster.Replicated(cluster.Options{})
	up(t, c)
	ctx := t.Context()
	isPrimary := func(want string) {
		t.Helper()
		got, err := c.Primary(ctx)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	isPrimary("r1")
	require.NoError(t, c.Promote(ctx, "r2"))
	isPrimary("r2")
	require.NoError(t, c.Follow(ctx, "r1", "r2"))
	require.NoError(t, c.Follow(ctx, "r3", "r2"))
	whole(t, c)
	isPrimary("r2")

	require.NoError(t, c.Kill("r2"))
	isPrimary("r2") // nobody has taken its place yet
	require.Error(t, c.Promote(ctx, "r2"), "it does not answer")
	require.NoError(t, c.Promote(ctx, "r3"))
	isPrimary("r3")

	require.NoError(t, c.Follow(ctx, "r3", "r1"))
	isPrimary("r1") // r3 has handed it on
	require.NoError(t, c.Promote(ctx, "r1"))
	require.NoError(t, c.Restart(ctx, "r2"))
	whole(t, c)

	require.NoError(t, c.Promote(ctx, "r2"))
	require.NoError(t, c.Kill("r2"))
	require.NoError(t, c.Restart(ctx, "r2"))
	isPrimary("r1") // a promotion is forgotten with the process: r2 follows r1 again
	whole(t, c)
}
