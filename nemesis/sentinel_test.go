package nemesis_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	old := b.primary()
	b.heal(b.inject(nemesis.SentinelFailover(b.Cluster)))
	require.NotEqual(t, old, b.primary())
}

func TestSentinelCrashAfterElectionChangesNothing(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	old := b.primary()
	inj := b.inject(nemesis.SimulateFailure(b.Cluster, nemesis.AfterElection()))
	require.False(t, b.Running(inj.Targets[0]))
	b.heal(inj)
	require.Equal(t, old, b.primary())
}

func TestSentinelCrashAfterPromotion(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	old := b.primary()
	inj := b.inject(nemesis.SimulateFailure(b.Cluster, nemesis.AfterPromotion()))
	require.False(t, b.Running(inj.Targets[0]))
	b.heal(inj)
	require.NotEqual(t, old, b.primary())
}

// hasty is a cluster whose Sentinels crash before they have answered.
type hasty struct{ *cluster.Cluster }

func (h hasty) Do(ctx context.Context, node string, args ...any) (any, error) {
	answer, err := h.Cluster.Do(ctx, node, args...)
	if len(args) > 1 && args[1] == "FAILOVER" {
		return nil, errors.Join(err, io.EOF)
	}
	return answer, err
}

func TestASentinelMayCrashBeforeItAnswers(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	inj := b.inject(nemesis.SimulateFailure(hasty{b.Cluster}, nemesis.AfterElection()))
	require.False(t, b.Running(inj.Targets[0]))
	b.heal(inj)
}

// reluctant is a cluster whose Sentinels agree to a failover once, and give it up.
type reluctant struct {
	*cluster.Cluster
	gaveUp *atomic.Bool
}

func (r reluctant) Do(ctx context.Context, node string, args ...any) (any, error) {
	if len(args) > 1 && args[1] == "FAILOVER" && r.gaveUp.CompareAndSwap(false, true) {
		return "OK", nil
	}
	return r.Cluster.Do(ctx, node, args...)
}

func TestASentinelThatGivesItsFailoverUpIsAskedAgain(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	old := b.primary()
	b.heal(b.inject(nemesis.SentinelFailover(reluctant{b.Cluster, new(atomic.Bool)})))
	require.NotEqual(t, old, b.primary())
	inj := b.inject(nemesis.SimulateFailure(reluctant{b.Cluster, new(atomic.Bool)}, nemesis.AfterPromotion()))
	require.False(t, b.Running(inj.Targets[0]))
	b.heal(inj)
}
