package nemesis_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

func TestSentinelFailover(t *testing.T) {
	b := start(t, cluster.Sentinel(cluster.Options{}))
	old := b.primary()
	b.heal(b.inject(nemesis.SentinelFailover(b.Cluster)))
	require.NotEqual(t, old, b.primary())
}

func TestSentinelCrashAfterElectionChangesNothing(t *testing.T) {
	b := start(t, cluster.Sentinel(cluster.Options{}))
	old := b.primary()
	inj := b.inject(nemesis.SimulateFailure(b.Cluster, nemesis.AfterElection()))
	require.False(t, b.Running(inj.Targets[0]))
	b.heal(inj)
	require.Equal(t, old, b.primary())
}

func TestSentinelCrashAfterPromotion(t *testing.T) {
	b := start(t, cluster.Sentinel(cluster.Options{}))
	old := b.primary()
	inj := b.inject(nemesis.SimulateFailure(b.Cluster, nemesis.AfterPromotion()))
	require.False(t, b.Running(inj.Targets[0]))
	b.heal(inj)
	require.NotEqual(t, old, b.primary())
}
