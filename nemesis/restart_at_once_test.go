package nemesis_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/nemesis"
)

func TestRestartAtOnceLosesEverythingWithoutAFailover(t *testing.T) {
	b := borrow(t, calm)
	r, err := b.Connect(0)
	require.NoError(t, err)
	for i := range 100 {
		require.NoError(t, r.Set(b.ctx, fmt.Sprint("key", i), "v", 0).Err())
	}
	keys := func(node string) any {
		n, err := b.Do(b.ctx, node, "DBSIZE")
		require.NoError(t, err)
		return n
	}
	for _, node := range b.RedisNodes() {
		b.await(func() bool { return keys(node) == int64(100) })
	}
	inj := b.inject(nemesis.RestartAtOnce(b.Cluster, nemesis.Primary()))
	require.Contains(t, inj.Bite, "with 0 keys where there were 100")
	require.NoError(t, b.AwaitWhole(b.ctx))
	require.Equal(t, "r1", b.primary())
	for _, node := range b.RedisNodes() {
		require.Zero(t, keys(node), "%s kept keys that its primary had forgotten", node)
	}
	b.heal(inj)
}
