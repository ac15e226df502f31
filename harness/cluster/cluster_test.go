package cluster_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
)

// events collects what a cluster reports.
type events struct {
	mu  sync.Mutex
	all []harness.Event
}

func (e *events) add(ev harness.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, ev)
}

func (e *events) has(node, kind, detail string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ev := range e.all {
		if (node == "" || ev.Node == node) && ev.Kind == kind && (detail == "" || ev.Detail == detail) {
			return true
		}
	}
	return false
}

func up(t *testing.T, c *cluster.Cluster) *events {
	t.Helper()
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	ev := &events{}
	began := time.Now()
	require.NoError(t, c.Start(t.Context(), harness.NewClock(), ev.add, slog.New(slog.DiscardHandler)))
	t.Logf("%s up in %v", c.Topology(), time.Since(began))
	t.Cleanup(func() {
		began := time.Now()
		require.NoError(t, c.Stop())
		t.Logf("down in %v", time.Since(began))
		left, err := os.ReadDir(tmp)
		require.NoError(t, err)
		require.Empty(t, left, "temporary folders left behind")
		for _, n := range append(c.RedisNodes(), c.Sentinels()...) {
			require.False(t, c.Running(n), "%s still runs", n)
		}
	})
	return ev
}

func connect(t *testing.T, c *cluster.Cluster, group int) redis.UniversalClient {
	t.Helper()
	r, err := c.Connect(group)
	require.NoError(t, err)
	return r
}

func whole(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	require.NoError(t, c.AwaitWhole(ctx))
}

// eventually polls, since a test that sleeps is a test that flakes.
func eventually(t *testing.T, cond func() bool, what string) {
	t.Helper()
	require.Eventually(t, cond, 10*time.Second, 20*time.Millisecond, what)
}

// sees waits until the host gets an answer from the node: a probe waits for a fraction of a second only.
func sees(t *testing.T, c *cluster.Cluster, from, to string) {
	t.Helper()
	eventually(t, func() bool { return c.Probe(t.Context(), from, to) == nil }, from+" does not see "+to)
}

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
		require.True(t, ev.has("", kind, ""), "no %s was reported", kind)
	}
	require.True(t, ev.has(old, "role", "down"))
	require.True(t, ev.has(promoted, "role", "master"))
}

func TestCutIsSeenFromOneSideOnlyAndHeals(t *testing.T) {
	c := cluster.Sentinel(cluster.Options{ClientGroups: 2})
	up(t, c)
	ctx := t.Context()
	primary, err := c.Primary(ctx)
	require.NoError(t, err)
	heal, err := c.Impair(harness.Between([]string{cluster.GroupName(1)}, []string{primary}), harness.Hold())
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
	require.ErrorContains(t, err, "apt-get install redis-server")
	err = start(cluster.Options{Clients: 10_000_000})
	require.ErrorIs(t, err, cluster.ErrLimit)
	require.ErrorContains(t, err, "ulimit -n")
	err = start(cluster.Options{RedisServer: "/bin/true"})
	require.ErrorIs(t, err, cluster.ErrNoRedis)
	require.ErrorContains(t, err, "none of version 7.0")
	broken := filepath.Join(t.TempDir(), "redis-server")
	script := "#!/bin/sh\n[ \"$1\" = --version ] && echo 'Redis server v=7.2.4 sha=0' && exit\necho 'no luck today'\n"
	require.NoError(t, os.WriteFile(broken, []byte(script), 0o755))
	require.ErrorContains(t, start(cluster.Options{RedisServer: broken}), "no luck today")
}
