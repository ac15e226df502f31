package nemesis_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
	"github.com/doublegrant/doublegrant/nemesis"
)

// TestClientKillCutsEveryConnectionOnce starts a cluster, since no client may have a connection to it yet.
func TestClientKillCutsEveryConnectionOnce(t *testing.T) {
	t.Parallel()
	b := bench{t, clustertest.Start(t, cluster.Standalone(cluster.Options{})), t.Context()}
	inj := b.inject(nemesis.ClientKill(b.Cluster, nemesis.Primary()))
	_, err := inj.Touched()
	require.EqualError(t, err, "idle: no client had a connection to r1")

	r, err := b.Connect(0)
	require.NoError(t, err)
	blocked := make(chan error, 1)
	go func() { blocked <- r.BLPop(b.ctx, 0, "queue").Err() }()
	b.await(func() bool { return b.Connections("r1") == 1 })
	inj = b.inject(nemesis.ClientKill(b.Cluster, nemesis.Primary()))
	require.Contains(t, inj.Bite, ", 1 of clients")
	seen, err := inj.Touched()
	require.NoError(t, err)
	require.Equal(t, "touched: closed 1 connections of clients", seen)
	require.Error(t, <-blocked)
	b.heal(inj) // a client that dials again is served
}
