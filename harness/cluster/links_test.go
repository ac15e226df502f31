package cluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
)

func TestAProbeOfALinkEndsWithItsContext(t *testing.T) {
	c := cluster.Standalone(cluster.Options{})
	up(t, c)
	heal, err := c.Impair(harness.Links(c.ClientGroups(), c.RedisNodes()), harness.Withhold())
	require.NoError(t, err)
	defer heal()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.Error(t, c.Echo(ctx, "g0", "r1", 1))
	require.Error(t, c.Hangup(ctx, "g0", "r1"))
	require.ErrorContains(t, c.Echo(ctx, "g0", "r9", 1), "no node")
	require.ErrorContains(t, c.Hangup(ctx, "g9", "r1"), "no node")
	for _, fault := range []harness.LinkFault{{}, {Kind: "gust"}, harness.Latency(-1, 0), harness.Bandwidth(999)} {
		heal, err := c.Impair(harness.Links(c.ClientGroups(), c.RedisNodes()), fault)
		require.EqualError(t, err, "cluster: "+fault.Validate().Error())
		require.NoError(t, heal())
	}
}

func TestWhoHearsAndWhoSuspectsWhom(t *testing.T) {
	c := cluster.Sentinel(cluster.Options{})
	up(t, c)
	ctx := t.Context()
	says := func(ask func(context.Context, string) (bool, error), node string) bool {
		yes, err := ask(ctx, node)
		require.NoError(t, err)
		return yes
	}
	suspects := func(s string) bool { return says(c.Suspects, s) }
	hears := func(r string) bool { return says(c.HasPrimaryLink, r) }
	primary, err := c.Primary(ctx)
	require.NoError(t, err)
	require.Equal(t, "r1", primary)
	require.False(t, hears("r1"), "a primary hears nobody")
	require.True(t, hears("r2") && hears("r3"))
	require.False(t, suspects("s1"))
	heal, err := c.Impair(harness.Between([]string{"r1"}, []string{"r2", "s1"}), harness.Withhold())
	require.NoError(t, err)
	eventually(t, func() bool { return suspects("s1") }, "s1 suspects r1")
	eventually(t, func() bool { return !hears("r2") }, "r2 is deaf")
	require.False(t, suspects("s2"))
	require.True(t, hears("r3"))
	require.NoError(t, heal())
	eventually(t, func() bool { return !suspects("s1") && hears("r2") }, "all is well again")
	_, err = c.Suspects(ctx, "r1")
	require.ErrorContains(t, err, "not a Sentinel")
	_, err = c.HasPrimaryLink(ctx, "r9")
	require.ErrorContains(t, err, "no node")
}
