package nemesis_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

func TestKillOfAReplicaAndOfSentinels(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	old := b.primary()
	for _, h := range []nemesis.Target{nemesis.Replica(), nemesis.Replicas(), nemesis.Sentinel(), nemesis.Sentinels()} {
		n := nemesis.Kill(b.Cluster, h)
		require.Equal(t, "kill-"+h.String(), n.Name())
		inj := b.inject(n)
		require.NotContains(t, inj.Targets, old)
		for _, node := range inj.Targets {
			require.False(t, b.Running(node))
		}
		b.heal(inj)
		require.Equal(t, old, b.primary(), "a failover although the primary was well")
	}
}

func TestKillOfAStandalone(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Standalone(cluster.Options{}))
	b.writes(0)
	inj := b.inject(nemesis.KillPrimary(b.Cluster))
	require.Error(t, b.write(0))
	b.heal(inj)
}

func TestKillOfAMinorityOfMasters(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Masters(5, cluster.Options{}))
	inj := b.inject(nemesis.Kill(b.Cluster, nemesis.Minority()))
	require.Len(t, inj.Targets, 2)
	b.heal(inj)
}

func TestFaultsOfNodesSayWhatATopologyLacks(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Standalone(cluster.Options{}))
	inj, err := nemesis.Kill(b.Cluster, nemesis.Replica()).Inject(b.ctx, rng())
	require.ErrorContains(t, err, "there is no replica in this topology")
	require.Nil(t, inj.Heal)
	_, err = nemesis.Kill(b.Cluster, nemesis.Named("g0")).Inject(b.ctx, rng())
	require.ErrorContains(t, err, "g0 is a client group")
	_, err = nemesis.SentinelFailover(b.Cluster).Inject(b.ctx, rng())
	require.ErrorContains(t, err, "needs Sentinels")
}

func TestAFaultWaitsForAPrimary(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	old := b.primary()
	first, err := nemesis.KillPrimary(b.Cluster).Inject(b.ctx, rng())
	require.NoError(t, err)
	second, err := nemesis.Pause(b.Cluster, nemesis.Primary()).Inject(b.ctx, rng())
	require.NoError(t, err)
	require.NotEqual(t, old, second.Targets[0], "the killed primary was paused")
	require.NoError(t, second.Heal(b.ctx))
	b.heal(first)
}

func TestAFaultWaitsNoLongerThanItsContext(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Standalone(cluster.Options{}))
	inj := b.inject(nemesis.KillPrimary(b.Cluster))
	ctx, cancel := context.WithTimeout(b.ctx, 200*time.Millisecond)
	defer cancel()
	again, err := nemesis.KillPrimary(b.Cluster).Inject(ctx, rng())
	require.ErrorContains(t, err, "r1 is broken already")
	require.Nil(t, again.Heal)
	b.heal(inj)
}
