package cluster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

func TestAcceptsWritesSaysWhyNot(t *testing.T) {
	c := cluster.Sentinel(cluster.Options{MinReplicas: 1, MaxLag: time.Second})
	up(t, c)
	ctx := t.Context()
	require.NoError(t, c.AcceptsWrites(ctx, "r1"))
	require.ErrorContains(t, c.AcceptsWrites(ctx, "r2"), "READONLY")
	require.NoError(t, c.Kill("r2"))
	require.NoError(t, c.Kill("r3"))
	eventually(t, func() bool { return c.AcceptsWrites(ctx, "r1") != nil }, "writes without replicas are accepted")
	require.ErrorContains(t, c.AcceptsWrites(ctx, "r1"), "NOREPLICAS")
	require.NoError(t, c.Restart(ctx, "r2"))
	require.NoError(t, c.Restart(ctx, "r3"))
	whole(t, c)
	require.NoError(t, c.AcceptsWrites(ctx, "r1"))
}
