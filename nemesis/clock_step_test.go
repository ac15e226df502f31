package nemesis_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

func TestClockStepForwardEndsALease(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{Clocks: true}))
	old := b.primary()
	r, err := b.Connect(0)
	require.NoError(t, err)
	require.NoError(t, r.Set(b.ctx, "lock", "owner", 30*time.Second).Err())
	n := nemesis.ClockStep(b.Cluster, nemesis.Primary(), 45*time.Second)
	require.Equal(t, "clock-step-forward-primary", n.Name())
	inj := b.inject(n)
	require.Equal(t, redis.Nil, r.Get(b.ctx, "lock").Err(), "a lease of 30 s survived a step of 45 s")
	b.heal(inj)
	require.Equal(t, old, b.primary())
}

func TestClockStepBackwardProlongsALease(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{Clocks: true}))
	old := b.primary()
	r, err := b.Connect(0)
	require.NoError(t, err)
	require.NoError(t, r.Set(b.ctx, "lock", "owner", time.Second).Err())
	n := nemesis.ClockStep(b.Cluster, nemesis.Primary(), -45*time.Second)
	require.Equal(t, "clock-step-backward-primary", n.Name())
	inj := b.inject(n)
	require.Never(t, func() bool { return r.Get(b.ctx, "lock").Err() == redis.Nil }, 1500*time.Millisecond, 50*time.Millisecond,
		"the lease was over")
	b.heal(inj)
	require.Equal(t, old, b.primary())
	require.Eventually(t, func() bool { return r.Get(b.ctx, "lock").Err() == redis.Nil }, wait, tick, "the lease is never over")
}

func TestClockStepOfOthers(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{Clocks: true}))
	old := b.primary()
	for _, by := range []time.Duration{45 * time.Second, -45 * time.Second} {
		for _, h := range []nemesis.Target{nemesis.Replica(), nemesis.Sentinel()} {
			b.heal(b.inject(nemesis.ClockStep(b.Cluster, h, by)))
			require.Equal(t, old, b.primary())
		}
	}
	b.heal(b.inject(nemesis.KillPrimary(b.Cluster))) // Sentinels still do their work
	require.NotEqual(t, old, b.primary())
}

func TestClockStepThatCannotBe(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	_, err := nemesis.ClockStep(b.Cluster, nemesis.Primary(), time.Minute).Inject(b.ctx, rng())
	require.ErrorContains(t, err, "Options.Clocks")
	_, err = nemesis.ClockStep(b.Cluster, nemesis.Primary(), 0).Inject(b.ctx, rng())
	require.ErrorContains(t, err, "ask for 1s or more")
	_, err = nemesis.ClockStep(b.Cluster, nemesis.Sentinel(), 2*time.Second).Inject(b.ctx, rng())
	require.ErrorContains(t, err, "ask for 3s or more")
}

func TestAClockIsSteppedOnce(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{Clocks: true}))
	for _, h := range []nemesis.Target{nemesis.Primary(), nemesis.Named("s1")} {
		first := b.inject(nemesis.ClockStep(b.Cluster, h, 45*time.Second))
		second, err := nemesis.ClockStep(b.Cluster, h, -45*time.Second).Inject(b.ctx, rng())
		require.ErrorContains(t, err, first.Targets[0]+"'s clock is off by 4")
		require.Nil(t, second.Heal, "it would end the first step")
		b.heal(first)
	}
}
