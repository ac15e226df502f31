package nemesis_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/nemesis"
)

// clocks returns an error if this machine cannot set the clocks of nodes. It finds that out once.
var clocks = sync.OnceValue(func() error { _, err := cluster.CompileClocks(context.Background()); return err })

// needClocks skips a test on a machine that cannot set the clocks of nodes.
func needClocks(t *testing.T) {
	t.Helper()
	if err := clocks(); err != nil && !cluster.HasClockLibrary() {
		require.ErrorIs(t, err, cluster.ErrNoCompiler)
		testenv.LeftOut(t, "faults of nodes' clocks", "install a C compiler")
	}
}

func TestClockStepsMoveTheEndOfALease(t *testing.T) {
	needClocks(t)
	b := borrow(t, calm)
	r, err := b.Connect(0)
	require.NoError(t, err)
	for _, by := range []time.Duration{45 * time.Second, -45 * time.Second} {
		require.NoError(t, r.Set(b.ctx, "lock", "owner", 30*time.Second).Err())
		n := nemesis.ClockStep(b.Cluster, nemesis.Primary(), by)
		require.Equal(t,
			map[bool]string{true: "clock-step-forward-primary", false: "clock-step-backward-primary"}[by > 0], n.Name())
		inj := b.inject(n)
		if left := r.PTTL(b.ctx, "lock").Val(); by > 0 {
			require.Negative(t, left, "a lease of 30 s survived a step of 45 s")
		} else {
			require.Greater(t, left, 45*time.Second)
		}
		b.heal(inj)
		require.LessOrEqual(t, r.PTTL(b.ctx, "lock").Val(), 30*time.Second)
	}
}

func TestAClockIsSteppedOnce(t *testing.T) {
	needClocks(t)
	b := borrow(t, calm)
	for _, h := range []nemesis.Target{nemesis.Primary(), nemesis.Named("s1")} {
		first := b.inject(nemesis.ClockStep(b.Cluster, h, 45*time.Second))
		second, err := nemesis.ClockStep(b.Cluster, h, -45*time.Second).Inject(b.ctx, rng())
		require.ErrorContains(t, err, first.Targets[0]+"'s clock is off by 4")
		require.Nil(t, second.Heal, "it would end the first step")
		b.heal(first)
	}
}
