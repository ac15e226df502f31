package cluster_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/internal/platformtest"
)

// This is the setup of Jepsen's analysis of 2013: five nodes, five Sentinels, each client asking its own Sentinel.
func TestALargerCluster(t *testing.T) {
	c := cluster.Sentinel(cluster.Options{Replicas: 4, Sentinels: 5, OwnSentinel: true})
	up(t, c)
	require.Len(t, c.RedisNodes(), 5)
	require.Len(t, c.Sentinels(), 5)
	old := "r1"
	minority := []string{"r1", "r2", "s1", "s2"}
	heal, err := c.Impair(harness.Between(minority, []string{"r3", "r4", "r5", "s3", "s4", "s5"}), harness.Withhold())
	require.NoError(t, err)
	defer heal()
	promoted, err := c.AwaitPromotion(t.Context(), old)
	require.NoError(t, err)
	require.Contains(t, []string{"r3", "r4", "r5"}, promoted)
	// Groups 0 and 1 ask Sentinels of the minority.
	for group, want := range []string{"r1", "r1", promoted, promoted, promoted} {
		r := connect(t, c, group)
		require.Eventually(t, func() bool { // until its Sentinel has heard of the promotion
			err := r.Set(t.Context(), "said-by", group, 0).Err()
			on, askErr := c.Do(t.Context(), want, "GET", "said-by")
			return err == nil && askErr == nil && on == strconv.Itoa(group)
		}, platformtest.Hang, 20*time.Millisecond, "group %d does not write to %s", group, want)
	}
	require.NoError(t, heal())
	require.NoError(t, c.AwaitWhole(t.Context()))
}

func TestBadShapesAreRefused(t *testing.T) {
	for name, o := range map[string]cluster.Options{
		"too many replicas": {Replicas: 10},
		"hasty Sentinels":   {DownAfter: 100 * time.Millisecond},
		"a fractional lag":  {MaxLag: 1500 * time.Millisecond},
		"an unknown AOF":    {AOF: "sometimes"},
	} {
		_, err := o.Preflight()
		require.Error(t, err, name)
	}
}
