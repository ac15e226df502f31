package nemesis_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

// pool lends clusters of one kind to tests. A test has its cluster to itself.
type pool struct {
	make func() *cluster.Cluster
	free chan *cluster.Cluster // nil stands for one that is still to be started
}

func newPool(most int, make_ func() *cluster.Cluster) *pool {
	p := &pool{make: make_, free: make(chan *cluster.Cluster, most)}
	for range most {
		p.free <- nil
	}
	return p
}

// The pools. Sentinels of watched clusters fail over as soon as they can. Sentinels of calm clusters never do, however
// slow the machine is, so r1 stays primary. The clocks of calm clusters can be set if the machine has a compiler.
var (
	standalone = newPool(2, func() *cluster.Cluster { return cluster.Standalone(cluster.Options{}) })
	watched    = newPool(1, func() *cluster.Cluster { return cluster.Sentinel(cluster.Options{}) })
	calm       = newPool(1, func() *cluster.Cluster {
		return cluster.Sentinel(cluster.Options{DownAfter: time.Hour,
			Clocks: cluster.HasClockLibrary() || clocks() == nil})
	})
)

func TestMain(m *testing.M) {
	code := m.Run()
	for _, p := range []*pool{standalone, watched, calm} {
		close(p.free)
		for c := range p.free {
			if c == nil {
				continue
			}
			if err := c.Stop(); err != nil {
				slog.Error("a cluster of the tests does not stop", "error", err)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// bench is a running cluster for the test of one fault.
type bench struct {
	*testing.T
	*cluster.Cluster
	ctx context.Context
}

// patience is a limit for a test and for each of its waits, so that none hangs. It is long, since Sentinels of a busy
// machine may vote for themselves again and again, every six seconds, or stand in TILT.
const patience, tick = 5 * time.Minute, 10 * time.Millisecond

func rng() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// borrow returns a whole and empty cluster of the pool, and lets the test run side by side with others. After the test
// it waits until the cluster is whole again. After a failed test it stops the cluster instead.
func borrow(t *testing.T, p *pool) bench {
	t.Helper()
	t.Parallel()
	c := <-p.free
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(func() {
		defer cancel()
		if c != nil && !t.Failed() {
			assert.NoError(t, c.AwaitWhole(ctx))
		}
		if t.Failed() && c != nil {
			assert.NoError(t, c.Stop())
			c = nil
		}
		p.free <- c
	})
	if c == nil {
		c = p.make()
		require.NoError(t, c.Start(context.WithoutCancel(ctx), harness.NewClock(), func(harness.Event) {},
			slog.New(slog.DiscardHandler)))
	}
	b := bench{t, c, ctx}
	require.NoError(t, b.AwaitWhole(ctx))
	primary, err := b.Primary(ctx)
	require.NoError(t, err)
	_, err = b.Do(ctx, primary, "FLUSHALL")
	require.NoError(t, err)
	return b
}

// primary returns the node that is primary now.
func (b bench) primary() string {
	b.Helper()
	p, err := b.Primary(b.ctx)
	require.NoError(b, err)
	return p
}

// inject injects the fault and waits for its proof.
func (b bench) inject(n harness.Nemesis) harness.Injection {
	b.Helper()
	inj, err := n.Inject(b.ctx, rng())
	require.NoError(b, err)
	require.NotNil(b, inj.Heal)
	require.NotEmpty(b, inj.Bite)
	if inj.Prove != nil {
		_, err = inj.Prove(b.ctx)
		require.NoError(b, err)
	}
	return inj
}

// heal heals the fault, waits until the cluster is whole, and checks that every client group can write.
func (b bench) heal(inj harness.Injection) {
	b.Helper()
	require.NoError(b, inj.Heal(b.ctx))
	require.NoError(b, b.AwaitWhole(b.ctx))
	for g := range b.Groups() {
		b.writes(g)
	}
}

func (b bench) await(seen func() bool, otherwise ...any) {
	b.Helper()
	require.Eventually(b, seen, patience, tick, otherwise...)
}

func (b bench) write(group int) error {
	r, err := b.Connect(group)
	require.NoError(b, err)
	return r.Set(b.ctx, "k", "v", 0).Err()
}

// writes waits until the group can write. One write that fails proves nothing: on a busy machine it may just be late.
func (b bench) writes(group int) {
	b.Helper()
	require.EventuallyWithT(b, func(t *assert.CollectT) { assert.NoError(t, b.write(group)) }, patience, tick,
		"group %d cannot write", group)
}

func TestAFaultWaitsForAPrimary(t *testing.T) {
	s := threeOf("s1", "s2", "s3")
	s.headless = 3
	inj, err := nemesis.KillPrimary(s).Inject(t.Context(), rng())
	require.NoError(t, err)
	require.Equal(t, []string{"r1"}, inj.Targets)
	again, err := nemesis.Pause(s, nemesis.Primary()).Inject(soon(t), rng())
	require.ErrorContains(t, err, "r1 is broken already", "it waits no longer than its context")
	require.Nil(t, again.Heal)
}
