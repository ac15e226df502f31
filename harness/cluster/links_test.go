package cluster_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/internal/platformtest"
)

// took returns the time that an echo of so many bytes takes.
func took(t *testing.T, c *cluster.Cluster, from, to string, size int) time.Duration {
	t.Helper()
	began := time.Now()
	require.NoError(t, c.Echo(t.Context(), from, to, size))
	return time.Since(began)
}

func TestEveryFaultOfALinkActsAndIsUndone(t *testing.T) {
	c := cluster.Standalone(cluster.Options{ClientGroups: 2})
	up(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), platformtest.Hang)
	defer cancel()
	links := harness.Links([]string{"g0"}, []string{"r1"})
	cut := func() { t.Helper(); require.Error(t, c.Probe(ctx, "g0", "r1")) }
	slow := func(size int, least time.Duration) func() {
		return func() { t.Helper(); require.GreaterOrEqual(t, took(t, c, "g0", "r1", size), least) }
	}
	for name, of := range map[string]struct {
		fault harness.LinkFault
		acts  func()
	}{
		"hold":         {harness.Withhold(), cut},
		"refuse":       {harness.Refuse(), cut},
		"drop":         {harness.Drop(), cut},
		"drop replies": {harness.DropReplies(), cut},
		"latency": {harness.Latency(50*time.Millisecond, 0),
			slow(1, 100*time.Millisecond)},
		"bandwidth": {harness.Bandwidth(10_000), slow(1000, 180*time.Millisecond)},
		"slice": {harness.Slice(100, 10*time.Millisecond),
			slow(1000, 180*time.Millisecond)},
		"limit data": {harness.LimitData(100), func() {
			require.NoError(t, c.Echo(ctx, "g0", "r1", 50))
			require.ErrorIs(t, c.Echo(ctx, "g0", "r1", 100), io.EOF)
		}},
		"slow close": {harness.SlowClose(60 * time.Millisecond), func() {
			began := time.Now()
			require.NoError(t, c.Hangup(ctx, "g0", "r1"))
			require.GreaterOrEqual(t, time.Since(began), 60*time.Millisecond)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			heal, err := c.Impair(links, of.fault)
			require.NoError(t, err)
			of.acts()
			eventually(t, func() bool { return took(t, c, "g1", "r1", 1000) < 50*time.Millisecond }, "another link is not hit")
			require.NoError(t, heal())
			require.NoError(t, heal(), "a second time")
			eventually(t, func() bool { return took(t, c, "g0", "r1", 1000) < 50*time.Millisecond }, "it is quick again")
			require.NoError(t, c.Hangup(ctx, "g0", "r1"))
		})
	}
	_, err := c.Impair(links, harness.Latency(-1, 0))
	require.ErrorContains(t, err, "cluster: latency is -1ns: ask for")
}

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
}

func TestWhoHearsAndWhoSuspectsWhom(t *testing.T) {
	c := cluster.Sentinel(cluster.Options{})
	up(t, c)
	ctx := t.Context()
	suspects := func(s string) bool {
		is, err := c.Suspects(ctx, s)
		require.NoError(t, err)
		return is
	}
	hears := func(r string) bool {
		is, err := c.Hears(ctx, r)
		require.NoError(t, err)
		return is
	}
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
	_, err = c.Hears(ctx, "r9")
	require.ErrorContains(t, err, "no node")
}
