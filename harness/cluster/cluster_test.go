package cluster_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/internal/platformtest"
)

func TestStandaloneServesEveryGroup(t *testing.T) {
	c := cluster.Standalone(cluster.Options{ClientGroups: 2})
	up(t, c)
	require.NoError(t, connect(t, c, 0).Set(t.Context(), "k", "v", 0).Err())
	require.Equal(t, "v", connect(t, c, 1).Get(t.Context(), "k").Val())
	_, err := c.Connect(2)
	require.ErrorContains(t, err, "there are 2")
}

func TestKilledPrimaryIsReplacedAndComesBackAsReplica(t *testing.T) {
	c := cluster.Sentinel(cluster.Options{})
	ev := up(t, c)
	ctx := t.Context()
	r := connect(t, c, 0)
	require.NoError(t, r.Set(ctx, "k", "before", 0).Err())

	old, err := c.Primary(ctx)
	require.NoError(t, err)
	killed := time.Now()
	require.NoError(t, c.Kill(old))
	require.False(t, c.Running(old))
	promoted, err := c.AwaitPromotion(ctx, old)
	require.NoError(t, err)
	eventually(t, func() bool { return r.Set(ctx, "k", "after", 0).Err() == nil }, "a write after the failover")
	t.Logf("%s to %s: first write %v after the kill", old, promoted, time.Since(killed))

	require.NoError(t, c.Restart(ctx, old))
	whole(t, c)
	role, err := c.Role(ctx, old)
	require.NoError(t, err)
	require.Equal(t, "slave", role)
	for _, kind := range []string{"+sdown", "+odown", "+switch-master"} {
		require.NotEmpty(t, ev.Of("", kind), "no %s was reported", kind)
	}
	require.Contains(t, roles(ev, old), "down")
	require.Contains(t, roles(ev, promoted), "master")
}

// roles lists the roles that a node was seen to have.
func roles(ev *platformtest.Events, node string) (all []string) {
	for _, e := range ev.Of(node, "role") {
		all = append(all, e.Detail)
	}
	return all
}

func TestKillsOfAPrimaryProcessAreOneFailoverEach(t *testing.T) {
	for range platformtest.Trials(1) {
		t.Run("", onProcesses.OneFailover)
	}
}

func TestCutIsSeenFromOneSideOnlyAndHeals(t *testing.T) {
	c := cluster.Sentinel(cluster.Options{ClientGroups: 2})
	up(t, c)
	ctx := t.Context()
	primary, err := c.Primary(ctx)
	require.NoError(t, err)
	heal, err := c.Impair(harness.Between([]string{cluster.GroupName(1)}, []string{primary}), harness.Withhold())
	require.NoError(t, err)
	defer heal()
	sees(t, c, cluster.GroupName(0), primary)
	require.Error(t, c.Probe(ctx, cluster.GroupName(1), primary))
	sees(t, c, "s1", primary)
	require.NoError(t, heal())
	sees(t, c, cluster.GroupName(1), primary)
	whole(t, c)
}

func TestPauseStopsANodeUntilResume(t *testing.T) {
	c := cluster.Standalone(cluster.Options{})
	up(t, c)
	ctx := t.Context()
	require.NoError(t, c.Pause(ctx, "r1"))
	require.Error(t, c.Probe(ctx, cluster.GroupName(0), "r1"))
	require.NoError(t, c.Resume("r1"))
	sees(t, c, cluster.GroupName(0), "r1")
}

func TestTwoClustersSideBySide(t *testing.T) {
	a, b := cluster.Standalone(cluster.Options{}), cluster.Standalone(cluster.Options{})
	up(t, a)
	up(t, b)
	require.NoError(t, connect(t, a, 0).Set(t.Context(), "k", "a", 0).Err())
	require.Equal(t, int64(0), connect(t, b, 0).Exists(t.Context(), "k").Val())
}

func TestAClusterStartsOnce(t *testing.T) {
	c := cluster.Standalone(cluster.Options{})
	up(t, c)
	again := func() error {
		return c.Start(t.Context(), harness.NewClock(), func(harness.Event) {}, slog.New(slog.DiscardHandler))
	}
	require.ErrorContains(t, again(), "make a new one")
	require.NoError(t, connect(t, c, 0).Ping(t.Context()).Err(), "the first start was harmed")
	require.NoError(t, c.Stop())
	require.ErrorContains(t, again(), "make a new one")
}

func TestStartSaysWhatIsMissing(t *testing.T) {
	start := func(o cluster.Options) error {
		c := cluster.Standalone(o)
		defer c.Stop()
		return c.Start(t.Context(), harness.NewClock(), func(harness.Event) {}, slog.New(slog.DiscardHandler))
	}
	err := start(cluster.Options{RedisServer: "/nowhere/redis-server"})
	require.ErrorIs(t, err, cluster.ErrNoRedis)
	require.ErrorContains(t, err, "name a redis-server of version 7.0 or newer there, or leave it out")
	err = start(cluster.Options{Clients: 10_000_000})
	require.ErrorIs(t, err, cluster.ErrLimit)
	require.ErrorContains(t, err, "ulimit -n")
	err = start(cluster.Options{RedisServer: "/bin/true"})
	require.ErrorIs(t, err, cluster.ErrNoRedis)
	require.ErrorContains(t, err, "not a redis-server of version 7.0")
	broken := filepath.Join(t.TempDir(), "redis-server")
	script := "#!/bin/sh\n[ \"$1\" = --version ] && echo 'Redis server v=7.2.4 sha=0' && exit\necho 'no luck today'\n"
	require.NoError(t, os.WriteFile(broken, []byte(script), 0o755))
	require.ErrorContains(t, start(cluster.Options{RedisServer: broken}), "no luck today")
	t.Setenv("DOUBLEGRANT_REDIS_SERVER", "")
	t.Setenv("PATH", t.TempDir())
	require.ErrorContains(t, start(cluster.Options{}), "apt-get install redis-server")
}
