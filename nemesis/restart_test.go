package nemesis_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

func TestRestart(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	for _, h := range []nemesis.Target{nemesis.Sentinel(), nemesis.Replica(), nemesis.Primary()} {
		old := b.primary()
		inj := b.inject(nemesis.Restart(b.Cluster, h))
		require.False(t, b.Running(inj.Targets[0]))
		b.heal(inj)
		require.Equal(t, slices.Contains(inj.Targets, old), old != b.primary(), "failover")
	}
}
