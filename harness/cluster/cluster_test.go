package cluster_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/internal/platformtest"
)

func TestKillsOfAPrimaryProcessAreOneFailoverEach(t *testing.T) {
	for range platformtest.Trials(1) {
		t.Run("", onProcesses.OneFailover)
	}
}

func TestAClusterStartsOnce(t *testing.T) {
	c := cluster.Standalone(cluster.Options{})
	up(t, c)
	require.ErrorContains(t, startQuietly(t, c), "make a new one")
	require.NoError(t, connect(t, c, 0).Ping(t.Context()).Err(), "the first start was harmed")
	require.NoError(t, c.Stop())
	require.ErrorContains(t, startQuietly(t, c), "make a new one")
}

func TestStartSaysWhatIsMissing(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "redis-server")
	script := "#!/bin/sh\n[ \"$1\" = --version ] && echo 'Redis server v=7.2.4 sha=0' && exit\necho 'no luck today'\n"
	require.NoError(t, os.WriteFile(broken, []byte(script), 0o755))
	start := func(o cluster.Options, is error, says string) {
		t.Helper()
		c := cluster.Standalone(o)
		err := startQuietly(t, c)
		require.ErrorContains(t, err, says)
		require.True(t, is == nil || errors.Is(err, is), err)
		require.NoError(t, c.Stop())
	}
	start(cluster.Options{RedisServer: "/nowhere/redis-server"}, cluster.ErrNoRedis,
		"name a redis-server of version 7.0 or newer there, or leave it out")
	start(cluster.Options{RedisServer: "/bin/true"}, cluster.ErrNoRedis, "not a redis-server of version 7.0")
	start(cluster.Options{RedisServer: broken}, nil, "no luck today")
	start(cluster.Options{Clients: 10_000_000}, cluster.ErrLimit, "ulimit -n")
	t.Setenv("DOUBLEGRANT_REDIS_SERVER", "")
	t.Setenv("PATH", t.TempDir())
	start(cluster.Options{}, cluster.ErrNoRedis, "apt-get install redis-server")
}
