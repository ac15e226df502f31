package lua_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
)

// This file starts the servers of the tests and makes clients of them.

// protocols lists the versions of RESP that a client can speak.
var protocols = []int{2, 3}

// patience is the longest time that clients wait for an answer. These tests are about answers, not about speed.
const patience = 30 * time.Second

func standalone(t *testing.T) *cluster.Cluster {
	t.Helper()
	return clustertest.Start(t, cluster.Standalone(cluster.Options{OpTimeout: patience}))
}

// connect returns a client of the primary.
func connect(t *testing.T, c *cluster.Cluster) *redis.Client {
	t.Helper()
	r, err := c.Connect(0)
	require.NoError(t, err)
	return r.(*redis.Client)
}

// options returns the options for another client of r's server. The options of r itself must not be used twice, since
// go-redis changes them.
func options(r *redis.Client) *redis.Options {
	o := r.Options()
	return &redis.Options{
		Addr: o.Addr, Dialer: o.Dialer, Protocol: 2, DisableIdentity: true, MaxRetries: -1, ContextTimeoutEnabled: true,
	}
}

// open makes a client and closes it after the test.
func open(t *testing.T, o *redis.Options) *redis.Client {
	t.Helper()
	r := redis.NewClient(o)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// speaking returns a client of the server of r that speaks a version of RESP.
func speaking(t *testing.T, r *redis.Client, protocol int) *redis.Client {
	t.Helper()
	o := options(r)
	o.Protocol = protocol
	p := open(t, o)
	hello, err := p.Do(t.Context(), "hello").Result()
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(hello), fmt.Sprintf("proto%s%d", map[int]string{2: " ", 3: ":"}[protocol], protocol))
	return p
}

// clusterNode starts one node of a Redis Cluster that has all the slots, and returns a client of it.
func clusterNode(t *testing.T) *redis.Client {
	t.Helper()
	r := connect(t, clustertest.Start(t,
		cluster.Standalone(cluster.Options{OpTimeout: patience, RedisServer: clusterEnabled(t)})))
	ctx := t.Context()
	require.NoError(t, r.ClusterAddSlotsRange(ctx, 0, 16383).Err())
	require.Eventually(t, func() bool {
		return strings.HasPrefix(r.ClusterInfo(ctx).Val(), "cluster_state:ok")
	}, 2*patience, 20*time.Millisecond, "the cluster is down")
	return r
}

// clusterEnabled returns a redis-server that takes part in a Redis Cluster, whatever its configuration says.
func clusterEnabled(t *testing.T) string {
	t.Helper()
	server, _, err := cluster.FindRedis("")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "redis-server")
	script := fmt.Sprintf(`#!/bin/sh
case "$1" in
--version) exec '%s' --version ;;
*) exec '%s' "$@" --cluster-enabled yes ;;
esac
`, server, server)
	require.NoError(t, os.WriteFile(path, []byte(script), 0o755))
	return path
}

// reply returns the reply to a command: nil for a nil reply, and an error for an error reply.
func reply(cmd *redis.Cmd) any {
	v, err := cmd.Result()
	switch {
	case err == redis.Nil:
		return nil
	case err != nil:
		return err
	}
	return v
}
