package nemesis_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
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
		b.await(func() bool { return b.keys(node) >= int64(keys) })
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
	b := borrow(t, calm)
	b.fill(100)
	inj := b.inject(nemesis.RestartAtOnce(b.Cluster, nemesis.Primary()))
	require.Contains(t, inj.Bite, "with 0 keys where there were 100")
	require.NoError(t, b.AwaitWhole(b.ctx))
	require.Equal(t, "r1", b.primary())
	for _, node := range b.RedisNodes() {
		require.Zero(t, b.keys(node), "%s kept keys that its primary had forgotten", node)
	}
	b.heal(inj)
}

func TestRestartAtOnceWithAnAppendOnlyFileLosesNothing(t *testing.T) {
	t.Parallel()
	// Each write is an fsync, which a slow disk may take long for.
	c := cluster.Standalone(cluster.Options{AOF: cluster.AOFAlways, OpTimeout: patience})
	b := bench{t, clustertest.Start(t, c), t.Context()}
	b.fill(100)
	inj := b.inject(nemesis.RestartAtOnce(b.Cluster, nemesis.Primary()))
	require.Contains(t, inj.Bite, "with 100 keys where there were 100")
	require.EqualValues(t, 100, b.keys("r1"))
	b.heal(inj)
}
