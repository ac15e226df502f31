package nemesis_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

func TestPartitionPrimary(t *testing.T) {
	b := start(t, cluster.Sentinel(cluster.Options{}))
	for g := range b.Groups() {
		b.writes(g)
	}
	old := b.primary()
	inj := b.inject(nemesis.PartitionPrimary(b.Cluster))
	require.Equal(t, old, inj.Targets[0])
	require.Equal(t, []int{0, 1}, inj.Groups)
	guards := slices.DeleteFunc(slices.Clone(inj.Targets), func(h string) bool { return h[0] != 's' })
	require.Len(t, guards, 1, "one Sentinel stays with the primary")
	b.writes(0) // the minority's clients still write to the old primary
	b.writes(4) // the majority's clients write to the new one
	require.Equal(t, "master", b.role(old), "no split brain")
	b.heal(inj)
	require.Equal(t, "slave", b.role(old))
}

func TestPartitionPrimaryNeedsTwoSides(t *testing.T) {
	b := start(t, cluster.Sentinel(cluster.Options{ClientGroups: 1}))
	inj, err := nemesis.PartitionPrimary(b.Cluster).Inject(b.ctx, rand.New(rand.NewPCG(1, 2)))
	require.ErrorContains(t, err, "2 client groups")
	require.Nil(t, inj.Heal)
}

// suffer injects the fault with every client group connected, shows its effect and heals it.
func (b bench) suffer(n harness.Nemesis, effect func(b bench, old string, inj harness.Injection)) {
	b.Helper()
	for g := range b.Groups() {
		b.writes(g) // its connection is an old one when the fault comes
	}
	old := b.primary()
	inj := b.inject(n)
	b.Cleanup(func() { _ = inj.Heal(b.ctx) }) // should the effect not be there: the next fault wants a whole cluster
	if inj.Prove == nil {
		b.Logf("%s: %s", n.Name(), inj.Bite)
	}
	effect(b, old, inj)
	b.heal(inj)
}

// reach checks that the group writes over its old connection, or does not.
func (b bench) reach(group int, want bool) {
	b.Helper()
	if want {
		b.writes(group)
	} else {
		require.Error(b, b.write(group), "group %d", group)
	}
}

// acknowledged is how many replicas acknowledge a write of group 0 in time.
func (b bench) acknowledged() int64 {
	b.Helper()
	r, err := b.Connect(0)
	require.NoError(b, err)
	var n *redis.Cmd
	_, err = r.Pipelined(b.ctx, func(p redis.Pipeliner) error {
		p.Incr(b.ctx, "counter")
		n = p.Do(b.ctx, "WAIT", 2, 400)
		return nil
	})
	require.NoError(b, err)
	count, err := n.Int64()
	require.NoError(b, err)
	return count
}

// inStep waits until both replicas acknowledge: for up to a second after its first synchronisation a replica hears nothing.
func (b bench) inStep() {
	b.Helper()
	require.Eventually(b, func() bool { return b.acknowledged() == 2 }, 10*time.Second, time.Millisecond)
}

func (b bench) hears(replica string) bool {
	b.Helper()
	hears, err := b.Hears(b.ctx, replica)
	require.NoError(b, err)
	return hears
}

// A partition without failover leaves the primary as it is.
func TestPartitionsWithoutFailover(t *testing.T) {
	b := start(t, cluster.Sentinel(cluster.Options{}))
	b.inStep()
	first := b.primary()
	run := func(sides nemesis.Sides, effect func(b bench, old string, inj harness.Injection)) {
		t.Run(sides.String(), func(t *testing.T) {
			b := bench{t, b.Cluster, b.ctx}
			n := nemesis.Partition(b.Cluster, sides, nemesis.Hold())
			require.Equal(t, "partition-"+sides.String(), n.Name())
			b.suffer(n, effect)
			require.Equal(t, first, b.primary(), "a failover")
		})
	}
	run(nemesis.ClientsFromPrimary(), func(b bench, old string, inj harness.Injection) {
		require.Equal(b, []string{old, "g0", "g1"}, inj.Targets)
		require.Equal(b, []int{0, 1}, inj.Groups)
		b.reach(0, false)
		b.reach(1, false)
		b.reach(2, true)
		require.NoError(b, b.Probe(b.ctx, "g0", "s1"))
		require.Equal(b, 2, countHears(b))
	})
	run(nemesis.PrimaryFromReplica(), func(b bench, old string, inj harness.Injection) {
		require.Equal(b, old, inj.Targets[0])
		require.Equal(b, 1, countHears(b))
		require.False(b, b.hears(inj.Targets[1]))
		require.EqualValues(b, 1, b.acknowledged())
	})
	run(nemesis.PrimaryFromReplicas(), func(b bench, old string, inj harness.Injection) {
		require.Zero(b, countHears(b))
		require.Zero(b, b.acknowledged())
		require.NoError(b, b.Probe(b.ctx, inj.Targets[1], inj.Targets[2]))
	})
	run(nemesis.PrimaryFromSentinel(), func(b bench, old string, inj harness.Injection) {
		require.Error(b, b.Probe(b.ctx, old, inj.Targets[1]))
		for g := range b.Groups() {
			b.reach(g, true)
		}
	})
	run(nemesis.OneWay(nemesis.Primary(), nemesis.Replicas()), func(b bench, old string, inj harness.Injection) {
		require.EqualValues(b, 2, b.acknowledged(), "replicas dial the primary: nothing is lost")
	})
	run(nemesis.OneWay(nemesis.Replicas(), nemesis.Primary()), func(b bench, old string, inj harness.Injection) {
		require.Zero(b, b.acknowledged())
		require.NoError(b, b.Probe(b.ctx, old, inj.Targets[0]))
	})
}

func countHears(b bench) (n int) {
	for _, r := range b.RedisNodes() {
		if b.hears(r) {
			n++
		}
	}
	return n
}

func TestPartitionsWithFailover(t *testing.T) {
	b := start(t, cluster.Sentinel(cluster.Options{}))
	b.inStep()
	run := func(sides nemesis.Sides, effect func(b bench, old string, inj harness.Injection)) {
		t.Run(sides.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			t.Cleanup(cancel) // after the heal, which is a clean-up too
			b := bench{t, b.Cluster, ctx}
			was := b.primary()
			b.suffer(nemesis.Partition(b.Cluster, sides, nemesis.Hold()), effect)
			require.NotEqual(t, was, b.primary(), "no failover")
			require.Equal(t, "slave", b.role(was))
		})
	}
	run(nemesis.SplitBrainWithReplica(), func(b bench, old string, inj harness.Injection) {
		require.Equal(b, []int{0, 1}, inj.Groups)
		require.EqualValues(b, 1, b.acknowledged(), "the replica on the old primary's side acknowledges")
		beyond := slices.DeleteFunc(b.RedisNodes(), func(n string) bool { return slices.Contains(inj.Targets, n) })
		require.Error(b, b.Probe(b.ctx, inj.Targets[1], beyond[0]))
		b.writes(4)
	})
	run(nemesis.PrimaryFromSentinels(), func(b bench, old string, inj harness.Injection) {
		require.Len(b, inj.Targets, 4)
		for g := range b.Groups() {
			require.NoError(b, b.Probe(b.ctx, cluster.GroupName(g), old), "every group still reaches the old primary")
		}
		require.Equal(b, "master", b.role(old))
	})
	run(nemesis.IsolatePrimary(), func(b bench, old string, inj harness.Injection) {
		require.Len(b, inj.Targets, 6)
		for g := range b.Groups() {
			require.NoError(b, b.Probe(b.ctx, cluster.GroupName(g), old))
			require.NoError(b, b.Probe(b.ctx, cluster.GroupName(g), inj.Targets[1]), "and every replica")
		}
		require.Equal(b, "master", b.role(old))
	})
	run(nemesis.Bridge(), func(b bench, old string, inj harness.Injection) {
		bridge := inj.Targets[len(inj.Targets)-1]
		require.Equal(b, []int{0, 1}, inj.Groups)
		for _, h := range []string{"g0", "g4", "s1", "s2", "s3", "r1", "r2", "r3"} {
			if h != bridge {
				require.NoError(b, b.Probe(b.ctx, h, bridge), "%s does not see the bridge", h)
			}
		}
		b.writes(4)
	})
}

// Every way cuts old connections and new ones, and heals.
func TestEveryWayOfAPartition(t *testing.T) {
	b := start(t, cluster.Sentinel(cluster.Options{}))
	for _, way := range nemesis.Cuts() {
		t.Run(way.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			t.Cleanup(cancel) // after the heal, which is a clean-up too
			b := bench{t, b.Cluster, ctx}
			before := b.counter()
			n := nemesis.Partition(b.Cluster, nemesis.ClientsFromPrimary(), way)
			b.suffer(n, func(b bench, _ string, _ harness.Injection) {
				require.NoError(b, b.incr(4))
				for range 3 { // over the old connection, then over new ones
					err := b.incr(0)
					require.Error(b, err)
					var late net.Error
					silent := errors.As(err, &late) && late.Timeout()
					require.Equal(b, way.Kind() != "refuse", silent, "a refusal is heard of, the others are not: %v", err)
				}
				during := b.counter() - before
				if way.Kind() == "drop-replies" {
					require.Greater(b, during, int64(1), "commands without replies are carried out")
				} else {
					require.EqualValues(b, 1, during)
				}
			})
		})
	}
}

// counter is what incr has counted, asked of the primary itself.
func (b bench) counter() int64 {
	b.Helper()
	reply, err := b.Do(b.ctx, b.primary(), "INCRBY", "counter", 0)
	require.NoError(b, err)
	return reply.(int64)
}

func (b bench) incr(group int) error {
	r, err := b.Connect(group)
	require.NoError(b, err)
	return r.Incr(b.ctx, "counter").Err()
}

// named is the address that a Sentinel gives for the primary.
func (b bench) named(sentinel string) any {
	b.Helper()
	reply, err := b.Do(b.ctx, sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", b.MasterName())
	require.NoError(b, err)
	return reply.([]any)[0]
}

func TestSplitBrainInEveryWay(t *testing.T) {
	b := start(t, cluster.Sentinel(cluster.Options{}))
	for _, way := range nemesis.Cuts()[1:] {
		t.Run(way.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			t.Cleanup(cancel) // after the heal, which is a clean-up too
			b := bench{t, b.Cluster, ctx}
			n := nemesis.Partition(b.Cluster, nemesis.SplitBrain(), way)
			require.Equal(t, "partition-split-brain-"+way.String(), n.Name())
			before := b.named(b.Sentinels()[0])
			b.suffer(n, func(b bench, old string, inj harness.Injection) {
				if way.Kind() == "drop-replies" { // the Sentinel beside old hears the commands of the others
					i := slices.IndexFunc(inj.Targets, func(host string) bool { return slices.Contains(b.Sentinels(), host) })
					require.Eventually(b, func() bool { return b.named(inj.Targets[i]) != before }, wait, tick, "nobody told it")
				} else {
					b.reach(0, true)
				}
				b.writes(4)
				require.Equal(b, "master", b.role(old))
			})
		})
	}
}
