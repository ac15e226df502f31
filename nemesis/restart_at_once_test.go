package nemesis_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

// fill writes so many keys and waits until every node has them.
func (b bench) fill(keys int) {
	b.Helper()
	r, err := b.Connect(0)
	require.NoError(b, err)
	for i := range keys {
		require.NoError(b, r.Set(b.ctx, fmt.Sprint("key", i), "v", 0).Err())
	}
	for _, node := range b.RedisNodes() {
		require.Eventually(b, func() bool { return b.keys(node) >= int64(keys) }, 5*time.Second, 10*time.Millisecond)
	}
}

// keys counts the keys of the node.
func (b bench) keys(node string) int64 {
	b.Helper()
	n, err := b.Do(b.ctx, node, "DBSIZE")
	require.NoError(b, err)
	return n.(int64)
}

func TestRestartAtOnceLosesEverythingWithoutAFailover(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	b.fill(100)
	old := b.primary()
	inj := b.inject(nemesis.RestartAtOnce(b.Cluster, nemesis.Primary()))
	require.Contains(t, inj.Bite, "with 0 keys where there were 100")
	require.NoError(t, b.AwaitWhole(b.ctx))
	require.Equal(t, old, b.primary())
	for _, node := range b.RedisNodes() {
		require.Zero(t, b.keys(node), "%s kept keys that its primary had forgotten", node)
	}
	b.heal(inj)
}

func TestRestartAtOnceWithAnAppendOnlyFileLosesNothing(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{AOF: cluster.AOFAlways, OpTimeout: 5 * time.Second})) // each write is an fsync
	b.fill(100)
	old := b.primary()
	inj := b.inject(nemesis.RestartAtOnce(b.Cluster, nemesis.Primary()))
	require.Contains(t, inj.Bite, "with 100 keys where there were 100")
	require.NoError(t, b.AwaitWhole(b.ctx))
	require.Equal(t, old, b.primary())
	for _, node := range b.RedisNodes() {
		require.EqualValues(t, 100, b.keys(node))
	}
	b.heal(inj)
}

func TestRestartAtOnceOfOthers(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	old := b.primary()
	for _, h := range []nemesis.Target{nemesis.Replica(), nemesis.Sentinel()} {
		n := nemesis.RestartAtOnce(b.Cluster, h)
		require.Equal(t, "restart-"+h.String()+"-at-once", n.Name())
		b.heal(b.inject(n))
		require.Equal(t, old, b.primary())
	}
}
