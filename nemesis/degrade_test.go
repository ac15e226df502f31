package nemesis_test

import (
	"context"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

// set is how long group 0 takes to write so many bytes over a connection of its pool, in the first of many tries that is
// answered in time: the machine may be busy, and what slows the connection takes most of the time that there is.
func (b bench) set(size int) time.Duration {
	b.Helper()
	return b.swift(size, time.Hour, "never written")
}

// swift checks that group 0 can write so many bytes in less than a bound, in one of many tries. It returns how long that
// took.
func (b bench) swift(size int, bound time.Duration, otherwise string) (took time.Duration) {
	b.Helper()
	r, err := b.Connect(0)
	require.NoError(b, err)
	require.Eventually(b, func() bool {
		began := time.Now()
		err := r.Set(b.ctx, "k", make([]byte, size), 0).Err()
		took = time.Since(began)
		return err == nil && took < bound
	}, wait, time.Millisecond, otherwise)
	return took
}

// Every degradation acts on an old connection, as well as on the probe's new one, and heals.
func TestEveryWayOfDegrading(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	run := func(way nemesis.Way, effect func(b bench, old string, inj harness.Injection)) {
		t.Run(way.Kind(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			t.Cleanup(cancel) // after the heal, which is a clean-up too
			b := bench{t, b.Cluster, ctx}
			n := nemesis.Degrade(b.Cluster, nemesis.Clients(), nemesis.Primary(), way)
			name := way.Kind()
			if slices.ContainsFunc(nemesis.Cuts(), func(cut nemesis.Way) bool { return cut.Kind() == name }) {
				name = "cut"
			}
			require.Equal(t, name, n.Name())
			b.suffer(n, effect)
			b.swift(5000, 90*time.Millisecond, "it is still slow after the heal")
		})
	}
	slow := func(size int, least time.Duration) func(b bench, old string, inj harness.Injection) {
		return func(b bench, old string, inj harness.Injection) {
			require.Equal(b, []string{"g0", "g1", "g2", "g3", "g4", old}, inj.Targets)
			require.GreaterOrEqual(b, b.set(size), least)
			b.sees("s1", old) // the Sentinels' links are not hit
		}
	}
	run(nemesis.Latency(80*time.Millisecond, 20*time.Millisecond), slow(1, 120*time.Millisecond))
	run(nemesis.Bandwidth(50_000), slow(10_000, 180*time.Millisecond))
	run(nemesis.Slice(500, 10*time.Millisecond), slow(5000, 90*time.Millisecond))
	run(nemesis.LimitData(200), func(b bench, _ string, _ harness.Injection) {
		r, err := b.Connect(0)
		require.NoError(b, err)
		require.NoError(b, r.Set(b.ctx, "small", "v", 0).Err(), "within the limit")
		require.Error(b, r.Set(b.ctx, "big", make([]byte, 500), 0).Err())
		require.NoError(b, r.Set(b.ctx, "small", "v", 0).Err(), "each connection has a limit of its own")
	})
	run(nemesis.SlowClose(200*time.Millisecond), func(b bench, old string, _ harness.Injection) {
		b.swift(1, 100*time.Millisecond, "bytes are delayed as well")
		began := time.Now()
		require.NoError(b, b.Hangup(b.ctx, "g1", old))
		require.GreaterOrEqual(b, time.Since(began), 200*time.Millisecond)
	})
	for _, way := range nemesis.Cuts() {
		run(way, func(b bench, old string, _ harness.Injection) {
			b.reach(0, false)
			require.Error(b, b.Probe(b.ctx, "g4", old))
			b.sees("g4", "s1")
		})
	}
}

// Slow replication makes WAIT wait.
func TestDegradedReplication(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	b.inStep()
	b.suffer(nemesis.Degrade(b.Cluster, nemesis.Nodes(), nemesis.Nodes(), nemesis.Latency(80*time.Millisecond, 0)),
		func(b bench, _ string, inj harness.Injection) {
			require.Equal(b, b.RedisNodes(), inj.Targets)
			quickest, tries := time.Hour, 0
			require.Eventually(b, func() bool {
				began := time.Now()
				if b.acknowledged() == 2 {
					quickest, tries = min(quickest, time.Since(began)), tries+1
				}
				return tries >= 5 && quickest < 320*time.Millisecond
			}, wait, tick, "a host in both choices is hit twice")
			require.GreaterOrEqual(b, quickest, 160*time.Millisecond, "there and back")
		})
}

func TestTwoDegradationsOfOneLink(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Standalone(cluster.Options{}))
	slow := func(way nemesis.Way) harness.Injection {
		return b.inject(nemesis.Degrade(b.Cluster, nemesis.Clients(), nemesis.Nodes(), way))
	}
	first, second := slow(nemesis.Latency(40*time.Millisecond, 0)), slow(nemesis.Latency(60*time.Millisecond, 0))
	require.GreaterOrEqual(t, b.set(1), 200*time.Millisecond)
	require.NoError(t, first.Heal(b.ctx))
	require.GreaterOrEqual(t, b.set(1), 120*time.Millisecond)
	b.heal(second)
	b.swift(1, 80*time.Millisecond, "it is still slow after the heal")

	first = slow(nemesis.Hold())
	for _, way := range append(nemesis.Cuts(), nemesis.LimitData(100)) {
		ctx, cancel := context.WithTimeout(b.ctx, 400*time.Millisecond)
		inj, err := nemesis.Degrade(b.Cluster, nemesis.Clients(), nemesis.Nodes(), way).Inject(ctx, rng())
		cancel()
		require.ErrorContains(t, err, "g0 does not reach r1 before "+way.String())
		require.Nil(t, inj.Heal)
	}
	b.heal(first)
}

// undialled fails every echo with an error of its dialling.
type undialled struct{ *cluster.Cluster }

func (undialled) Echo(context.Context, string, string, int) error {
	return &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
}

func TestAConnectionThatNeverWasDoesNotEnd(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Standalone(cluster.Options{}))
	n := nemesis.Degrade(undialled{b.Cluster}, nemesis.Clients(), nemesis.Nodes(), nemesis.LimitData(100))
	inj, err := n.Inject(b.ctx, rng())
	require.ErrorContains(t, err, "no connection on g0>r1")
	b.heal(inj)
}

// A node that is paused reads nothing, and toxics wait for who does not read: only full buffers make that a problem.
func TestAPauseAndToxicsOfOneLink(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Standalone(cluster.Options{}))
	b.writes(0)
	pause := b.inject(nemesis.PausePrimary(b.Cluster))
	require.Error(t, b.write(0))
	undrop, err := b.Drop(harness.Between(b.ClientGroups(), b.RedisNodes())) // Degrade would wait for an answer first
	require.NoError(t, err)
	require.NoError(t, pause.Heal(b.ctx))
	require.Error(t, b.write(0), "the drop is still in force")
	pause = b.inject(nemesis.PausePrimary(b.Cluster))
	require.NoError(t, undrop())
	require.Error(t, b.write(0), "the pause is still in force")
	b.heal(pause)
}

func TestADegradationLooksPastANodeThatIsDown(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Masters(3, cluster.Options{}))
	kill := b.inject(nemesis.Kill(b.Cluster, nemesis.Named("r1")))
	for _, way := range append(nemesis.Cuts(), nemesis.Latency(50*time.Millisecond, 0), nemesis.LimitData(100)) {
		inj := b.inject(nemesis.Degrade(b.Cluster, nemesis.Clients(), nemesis.Nodes(), way))
		require.Contains(t, inj.Targets, "r1", "it is not degraded")
		require.NotContains(t, inj.Bite, ">r1 ")
		require.Contains(t, inj.Bite, "likewise 1 more")
		require.NoError(t, inj.Heal(b.ctx))
		ctx, cancel := context.WithTimeout(b.ctx, 300*time.Millisecond)
		_, err := nemesis.Degrade(b.Cluster, nemesis.Clients(), nemesis.Named("r1"), way).Inject(ctx, rng())
		cancel()
		require.ErrorContains(t, err, "g0 does not reach r1 before "+way.String())
	}
	b.heal(kill)
}

// stalling keeps echoes waiting, from the second on and for so many.
type stalling struct {
	*cluster.Cluster
	echoes *atomic.Int32
	stalls int32
}

func (s stalling) Echo(ctx context.Context, from, to string, size int) error {
	if n := s.echoes.Add(1); n > 1 && n <= 1+s.stalls {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Cluster.Echo(ctx, from, to, size)
}

func TestAStallIsNotALatency(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Standalone(cluster.Options{}))
	slow := func(stalls int32) (harness.Injection, *atomic.Int32, error) {
		s := stalling{b.Cluster, new(atomic.Int32), stalls}
		ctx, cancel := context.WithTimeout(b.ctx, 3*time.Second)
		defer cancel()
		n := nemesis.Degrade(s, nemesis.Clients(), nemesis.Nodes(), nemesis.Latency(50*time.Millisecond, 0))
		inj, err := n.Inject(ctx, rng())
		return inj, s.echoes, err
	}
	inj, echoes, err := slow(1)
	require.NoError(t, err)
	require.GreaterOrEqual(t, echoes.Load(), int32(3), "one before, a stall, and another look")
	b.heal(inj)
	inj, _, err = slow(math.MaxInt32 - 1)
	require.ErrorContains(t, err, "delays it for longer")
	b.heal(inj)
}

func TestDegradationsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Standalone(cluster.Options{}))
	clients, primary := nemesis.Clients(), nemesis.Primary()
	for want, n := range map[string]harness.Nemesis{
		"no way given":           nemesis.Degrade(b.Cluster, clients, primary, nemesis.Way{}),
		"a latency of -1s":       nemesis.Degrade(b.Cluster, clients, primary, nemesis.Latency(-time.Second, 0)),
		"a latency of 0s":        nemesis.Degrade(b.Cluster, clients, primary, nemesis.Latency(0, 0)),
		"a jitter of 2s":         nemesis.Degrade(b.Cluster, clients, primary, nemesis.Latency(time.Second, 2*time.Second)),
		"a bandwidth of 0 bytes": nemesis.Degrade(b.Cluster, clients, primary, nemesis.Bandwidth(0)),
		"is like no limit":       nemesis.Degrade(b.Cluster, clients, primary, nemesis.Bandwidth(math.MaxInt64)),
		"slices of 0 bytes":      nemesis.Degrade(b.Cluster, clients, primary, nemesis.Slice(0, time.Second)),
		"with a delay of 0s":     nemesis.Degrade(b.Cluster, clients, primary, nemesis.Slice(10, 0)),
		"a limit of 0 bytes":     nemesis.Degrade(b.Cluster, clients, primary, nemesis.LimitData(0)),
		"give 16777216 or less":  nemesis.Degrade(b.Cluster, clients, primary, nemesis.LimitData(math.MaxInt64)),
		"a slow close of -1ns":   nemesis.Degrade(b.Cluster, clients, primary, nemesis.SlowClose(-1)),
		"no links of":            nemesis.Degrade(b.Cluster, clients, clients, nemesis.Hold()),
		"the same host":          nemesis.Degrade(b.Cluster, primary, primary, nemesis.Hold()),
		"no replicas":            nemesis.Degrade(b.Cluster, clients, nemesis.Replicas(), nemesis.Hold()),
	} {
		inj, err := n.Inject(b.ctx, rand.New(rand.NewPCG(1, 2)))
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\n")
		if inj.Heal != nil {
			require.NoError(t, inj.Heal(b.ctx))
		}
	}
	b.writes(0) // something was touched
}

func TestWaysSayWhatTheyAre(t *testing.T) {
	for want, way := range map[string]nemesis.Way{
		"hold": nemesis.Hold(), "drop": nemesis.Drop(), "drop-replies": nemesis.DropReplies(), "refuse": nemesis.Refuse(),
		"latency 80ms±20ms": nemesis.Latency(80*time.Millisecond, 20*time.Millisecond), "latency 1s": nemesis.Latency(time.Second, 0),
		"bandwidth 5000B/s": nemesis.Bandwidth(5000), "slicer 64B/10µs": nemesis.Slice(64, 10*time.Microsecond),
		"limit-data 100B": nemesis.LimitData(100), "slow-close 1.5s": nemesis.SlowClose(1500 * time.Millisecond),
	} {
		require.Equal(t, want, way.String())
	}
}
