package nemesis_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

// What follows a pause of everything: the Sentinels take the primary for dead.
func TestClientPause(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	old := b.primary()
	inj := b.inject(nemesis.ClientPause(b.Cluster, nemesis.Primary()))
	require.Equal(t, []string{old}, inj.Targets)
	b.awaitFailover(old)
	require.Error(t, b.Probe(b.ctx, cluster.GroupName(0), old), "the pause has ended by itself")
	b.heal(inj)
	require.NotEqual(t, old, b.primary())
}

func TestClientPauseLetsNothingThrough(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Standalone(cluster.Options{OpTimeout: time.Second}))
	b.writes(0)
	inj := b.inject(nemesis.ClientPause(b.Cluster, nemesis.Primary()))
	for range 3 { // 3 s, 30 pauses one after the other
		require.Error(t, b.write(0))
	}
	b.heal(inj)
}

func TestClientPauseWrites(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	b.writes(0)
	old := b.primary()
	inj := b.inject(nemesis.ClientPauseWrites(b.Cluster, nemesis.Primary()))
	require.Error(t, b.write(0))
	r, err := b.Connect(0)
	require.NoError(t, err)
	require.Equal(t, "v", r.Get(b.ctx, "k").Val(), "reads are answered")
	b.heal(inj)
	require.Equal(t, old, b.primary(), "a failover although the primary answers PING")
}

func TestClientsArePausedOnce(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Standalone(cluster.Options{}))
	first := b.inject(nemesis.ClientPauseWrites(b.Cluster, nemesis.Primary()))
	for _, n := range []harness.Nemesis{
		nemesis.ClientPauseWrites(b.Cluster, nemesis.Primary()), nemesis.ClientPause(b.Cluster, nemesis.Primary()),
	} {
		second, err := n.Inject(b.ctx, rng())
		require.ErrorContains(t, err, "r1 answers no write before the pause")
		require.Nil(t, second.Heal, "it would end the first pause")
	}
	require.Error(t, b.write(0))
	b.heal(first)
}
