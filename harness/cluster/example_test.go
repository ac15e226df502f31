package cluster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
)

// Run a real Sentinel cluster in your own go test, with a kill and a partition. There is no checker: the test itself
// checks.
func TestASentinelClusterOfOnesOwn(t *testing.T) {
	// a primary r1, two replicas, three Sentinels
	c := clustertest.Start(t, cluster.Sentinel(cluster.Options{ClientGroups: 2}))
	ctx := t.Context()
	// go-redis clients that ask the Sentinels for the primary; each group has its own links
	near, err := c.Connect(0)
	require.NoError(t, err)
	far, err := c.Connect(1)
	require.NoError(t, err)
	require.NoError(t, near.Set(ctx, "k", "before", 0).Err())

	// Kill the primary: the Sentinels promote a replica, and clients find it.
	old, err := c.Primary(ctx)
	require.NoError(t, err)
	require.NoError(t, c.Kill(old))
	primary, err := c.AwaitPromotion(ctx, old)
	require.NoError(t, err)
	writes := func() bool {
		return near.Set(ctx, "k", "after", 0).Err() == nil && far.Set(ctx, "k", "after", 0).Err() == nil
	}
	require.Eventually(t, writes, time.Minute, 20*time.Millisecond)
	require.NoError(t, c.Restart(ctx, old)) // it comes back as a replica
	require.NoError(t, c.AwaitWhole(ctx))

	// Cut the first group of clients off from the primary. The second one goes on.
	heal, err := c.Impair([]harness.Link{{From: cluster.GroupName(0), To: primary}}, harness.Withhold())
	require.NoError(t, err)
	require.Error(t, near.Set(ctx, "k", "cut off", 0).Err())
	require.NoError(t, far.Set(ctx, "k", "goes on", 0).Err())
	require.NoError(t, heal())
	require.Eventually(t, func() bool { return near.Get(ctx, "k").Err() == nil }, time.Minute, 20*time.Millisecond)
}
