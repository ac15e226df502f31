package nemesis_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

func TestPauseOfAReplicaAndASentinel(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	old := b.primary()
	for _, h := range []nemesis.Target{nemesis.Replica(), nemesis.Sentinel()} {
		inj := b.inject(nemesis.Pause(b.Cluster, h))
		require.Error(t, b.Probe(b.ctx, cluster.GroupName(0), inj.Targets[0]))
		b.heal(inj)
		require.Equal(t, old, b.primary())
	}
}

// Sentinels that were stopped for long distrust their clocks; a primary that dies meanwhile is replaced once they act again.
func TestPauseOfAllSentinels(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	old := b.primary()
	inj := b.inject(nemesis.Pause(b.Cluster, nemesis.Sentinels()))
	require.Len(t, inj.Targets, 3)
	require.NoError(t, b.Kill(old))
	watching, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	_, err := b.AwaitPromotion(watching, old)
	require.Error(t, err, "a failover without Sentinels")
	require.NoError(t, inj.Heal(b.ctx))
	b.awaitFailover(old)
	require.NoError(t, b.Restart(b.ctx, old))
	b.heal(inj)
}

// stubborn fails to resume the first node that it is asked to, and to start it.
type stubborn struct {
	*cluster.Cluster
	failed *atomic.Bool
}

func (s stubborn) Resume(node string) error {
	if s.failed.CompareAndSwap(false, true) {
		return errors.New("stubborn")
	}
	return s.Cluster.Resume(node)
}

func (s stubborn) Restart(ctx context.Context, node string) error {
	if s.failed.CompareAndSwap(false, true) {
		return errors.New("stubborn")
	}
	return s.Cluster.Restart(ctx, node)
}

func TestAHealVisitsEveryNode(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Masters(3, cluster.Options{}))
	for _, make := range []func(stubborn) harness.Nemesis{
		func(s stubborn) harness.Nemesis { return nemesis.Pause(s, nemesis.Nodes()) },
		func(s stubborn) harness.Nemesis { return nemesis.Kill(s, nemesis.Nodes()) },
	} {
		inj := b.inject(make(stubborn{b.Cluster, new(atomic.Bool)}))
		require.ErrorContains(t, inj.Heal(b.ctx), "stubborn")
		b.comesTo(2, func() (answering int) { // one failed, and the others are healed
			for _, node := range b.RedisNodes() {
				if b.Probe(b.ctx, "g0", node) == nil {
					answering++
				}
			}
			return answering
		})
		b.heal(inj)
	}
}

func TestANodeThatDiedInItsPauseIsHealed(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Standalone(cluster.Options{}))
	inj := b.inject(nemesis.PausePrimary(b.Cluster))
	require.NoError(t, b.Kill("r1"))
	require.NoError(t, inj.Heal(b.ctx))
	require.NoError(t, b.Restart(b.ctx, "r1"))
	b.heal(inj)
}
