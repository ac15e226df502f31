package cluster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clients"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
)

// TestClientsOfOtherMachinesFollowAFailover connects through exposed addresses. It checks that dead nodes look dead
// there, too.
func TestClientsOfOtherMachinesFollowAFailover(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := clustertest.Start(t, cluster.Sentinel(cluster.Options{}))
	d, err := c.Expose("127.0.0.1")
	require.NoError(t, err)
	for i, n := range d.Nodes {
		require.NotEqual(t, c.Deployment().Nodes[i].Real, n.Real)
		require.Equal(t, c.Deployment().Nodes[i].Announced, n.Announced, "what Sentinels say is understood")
	}
	opened, err := clients.Open(d, clients.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, opened.Close()) }()
	r, err := opened.Connect(0)
	require.NoError(t, err)
	require.NoError(t, r.Set(t.Context(), "k", "1", 0).Err())
	require.NoError(t, c.Kill("r1"))
	require.Error(t, r.Set(t.Context(), "k", "2", 0).Err())
	require.EventuallyWithT(t, func(t *assert.CollectT) { require.NoError(t, r.Set(ctx, "k", "3", 0).Err()) },
		15*time.Second, 20*time.Millisecond)
	require.NoError(t, c.Restart(t.Context(), "r1"))
	require.EventuallyWithT(t, func(t *assert.CollectT) { require.NoError(t, opened.Probe(ctx, "g0", "r1")) },
		15*time.Second, 20*time.Millisecond)
}

func TestWhatIsExposedIsOursAndEndsWithTheCluster(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, cluster.Standalone(cluster.Options{}))
	_, err := c.Expose("192.0.2.1")
	require.ErrorContains(t, err, "expose r1 on 192.0.2.1")
	require.ErrorContains(t, err, "name an address of this machine")
	d, err := c.Expose("127.0.0.1")
	require.NoError(t, err)
	opened, err := clients.Open(d, clients.Options{Groups: 1})
	require.NoError(t, err)
	defer func() { require.NoError(t, opened.Close()) }()
	require.NoError(t, opened.Probe(t.Context(), "g0", "r1"))
	require.NoError(t, c.Stop())
	require.ErrorContains(t, opened.Probe(t.Context(), "g0", "r1"), "refused")
}
