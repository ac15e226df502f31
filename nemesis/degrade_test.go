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

// set measures how long group 0 takes to write so many bytes over a connection of its pool. It tries many times and returns the
// first time that was answered: on a busy machine a slowed connection may need more than the time that there is.
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
	run := func(fault harness.LinkFault, effect func(b bench, old string, inj harness.Injection)) {
		t.Run(string(fault.Kind), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			t.Cleanup(cancel) // after the heal, which is a clean-up too
			b := bench{t, b.Cluster, ctx}
			n := nemesis.Degrade(b.Cluster, nemesis.Clients(), nemesis.Primary(), fault)
			name := string(fault.Kind)
			if slices.ContainsFunc(nemesis.Cuts(), func(cut harness.LinkFault) bool { return string(cut.Kind) == name }) {
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
	run(harness.Latency(80*time.Millisecond, 20*time.Millisecond), slow(1, 120*time.Millisecond))
	run(harness.Bandwidth(50_000), slow(10_000, 180*time.Millisecond))
	run(harness.Slice(500, 10*time.Millisecond), slow(5000, 90*time.Millisecond))
	run(harness.LimitData(200), func(b bench, _ string, _ harness.Injection) {
		r, err := b.Connect(0)
		require.NoError(b, err)
		require.NoError(b, r.Set(b.ctx, "small", "v", 0).Err(), "within the limit")
		require.Error(b, r.Set(b.ctx, "big", make([]byte, 500), 0).Err())
		require.NoError(b, r.Set(b.ctx, "small", "v", 0).Err(), "each connection has a limit of its own")
	})
	run(harness.SlowClose(200*time.Millisecond), func(b bench, old string, _ harness.Injection) {
		b.swift(1, 100*time.Millisecond, "bytes are delayed as well")
		began := time.Now()
		require.NoError(b, b.Hangup(b.ctx, "g1", old))
		require.GreaterOrEqual(b, time.Since(began), 200*time.Millisecond)
	})
	for _, fault := range nemesis.Cuts() {
		run(fault, func(b bench, old string, _ harness.Injection) {
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
	b.inSync()
	b.suffer(nemesis.Degrade(b.Cluster, nemesis.Nodes(), nemesis.Nodes(), harness.Latency(80*time.Millisecond, 0)),
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
	slow := func(fault harness.LinkFault) harness.Injection {
		return b.inject(nemesis.Degrade(b.Cluster, nemesis.Clients(), nemesis.Nodes(), fault))
	}
	first, second := slow(harness.Latency(40*time.Millisecond, 0)), slow(harness.Latency(60*time.Millisecond, 0))
	require.GreaterOrEqual(t, b.set(1), 200*time.Millisecond)
	require.NoError(t, first.Heal(b.ctx))
	require.GreaterOrEqual(t, b.set(1), 120*time.Millisecond)
	b.heal(second)
	b.swift(1, 80*time.Millisecond, "it is still slow after the heal")

	first = slow(harness.Withhold())
	for _, fault := range append(nemesis.Cuts(), harness.LimitData(100)) {
		ctx, cancel := context.WithTimeout(b.ctx, 400*time.Millisecond)
		inj, err := nemesis.Degrade(b.Cluster, nemesis.Clients(), nemesis.Nodes(), fault).Inject(ctx, rng())
		cancel()
		require.ErrorContains(t, err, "g0 does not reach r1 before "+fault.String())
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
	n := nemesis.Degrade(undialled{b.Cluster}, nemesis.Clients(), nemesis.Nodes(), harness.LimitData(100))
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
	undrop, err := b.Impair(harness.Between(b.ClientGroups(), b.RedisNodes()), harness.Drop()) // Degrade would wait for an answer first
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
	for _, fault := range append(nemesis.Cuts(), harness.Latency(50*time.Millisecond, 0), harness.LimitData(100)) {
		inj := b.inject(nemesis.Degrade(b.Cluster, nemesis.Clients(), nemesis.Nodes(), fault))
		require.Contains(t, inj.Targets, "r1", "it is not degraded")
		require.NotContains(t, inj.Bite, ">r1 ")
		require.Contains(t, inj.Bite, "likewise 1 more")
		require.NoError(t, inj.Heal(b.ctx))
		ctx, cancel := context.WithTimeout(b.ctx, 300*time.Millisecond)
		_, err := nemesis.Degrade(b.Cluster, nemesis.Clients(), nemesis.Named("r1"), fault).Inject(ctx, rng())
		cancel()
		require.ErrorContains(t, err, "g0 does not reach r1 before "+fault.String())
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
		n := nemesis.Degrade(s, nemesis.Clients(), nemesis.Nodes(), harness.Latency(50*time.Millisecond, 0))
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
		"no link fault given":            nemesis.Degrade(b.Cluster, clients, primary, harness.LinkFault{}),
		"latency is -1s: ask for 1ms":    nemesis.Degrade(b.Cluster, clients, primary, harness.Latency(-time.Second, 0)),
		"latency is 0s: ask for 1ms":     nemesis.Degrade(b.Cluster, clients, primary, harness.Latency(0, 0)),
		"jitter is 2s: ask for 0s to 1s": nemesis.Degrade(b.Cluster, clients, primary, harness.Latency(time.Second, 2*time.Second)),
		"bandwidth is 0: ask for 1000":   nemesis.Degrade(b.Cluster, clients, primary, harness.Bandwidth(0)),
		"ask for 1000 to 50000000":       nemesis.Degrade(b.Cluster, clients, primary, harness.Bandwidth(math.MaxInt64)),
		"size is 0: ask for 1":           nemesis.Degrade(b.Cluster, clients, primary, harness.Slice(0, time.Second)),
		"delay is 0s: ask for 1µs":       nemesis.Degrade(b.Cluster, clients, primary, harness.Slice(10, 0)),
		"bytes is 0: ask for 1":          nemesis.Degrade(b.Cluster, clients, primary, harness.LimitData(0)),
		"ask for 1 to 16777216":          nemesis.Degrade(b.Cluster, clients, primary, harness.LimitData(math.MaxInt64)),
		"delay is -1ns: ask for 10ms":    nemesis.Degrade(b.Cluster, clients, primary, harness.SlowClose(-1)),
		"no links of":                    nemesis.Degrade(b.Cluster, clients, clients, harness.Withhold()),
		"the same host":                  nemesis.Degrade(b.Cluster, primary, primary, harness.Withhold()),
		"no replicas":                    nemesis.Degrade(b.Cluster, clients, nemesis.Replicas(), harness.Withhold()),
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
