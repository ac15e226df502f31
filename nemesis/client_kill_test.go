package nemesis_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

func TestClientKillCutsEveryConnectionOnce(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Standalone(cluster.Options{}))
	inj := b.inject(nemesis.ClientKill(b.Cluster, nemesis.Primary()))
	_, err := inj.Touched()
	require.EqualError(t, err, "idle: no client had a connection to r1")

	r, err := b.Connect(0)
	require.NoError(t, err)
	blocked := make(chan error, 1)
	go func() { blocked <- r.BLPop(b.ctx, 0, "queue").Err() }()
	require.Eventually(t, func() bool { return b.Connections("r1") == 1 }, wait, tick)
	inj = b.inject(nemesis.ClientKill(b.Cluster, nemesis.Primary()))
	require.Contains(t, inj.Bite, ", 1 of clients")
	seen, err := inj.Touched()
	require.NoError(t, err)
	require.Equal(t, "touched: closed 1 connections of clients", seen)
	require.Error(t, <-blocked)
	b.writes(0) // a client that dials again is served
	b.heal(inj)
}

func TestClientKillOnASentinelCluster(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	b.writes(0)
	old := b.primary()
	b.heal(b.inject(nemesis.ClientKill(b.Cluster, nemesis.Primary())))
	require.Equal(t, old, b.primary())
}
