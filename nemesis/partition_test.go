package nemesis_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

func TestPartitionPrimary(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	for g := range b.Groups() {
		b.writes(g)
	}
	old := b.primary()
	inj := b.inject(nemesis.PartitionPrimary(b.Cluster))
	require.Equal(t, old, inj.Targets[0])
	require.Equal(t, []int{0, 1}, inj.Groups)
	left := slices.DeleteFunc(slices.Clone(inj.Targets), func(h string) bool { return h[0] != 's' })
	require.Len(t, left, 1, "one Sentinel stays with the primary")
	b.writes(0) // the minority's clients still write to the old primary
	b.writes(4) // the majority's clients write to the new one
	require.Equal(t, "master", b.role(old), "no split brain")
	b.heal(inj)
	require.Equal(t, "slave", b.role(old))
}

func TestPartitionPrimaryNeedsTwoSides(t *testing.T) {
	t.Parallel()
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

// acknowledged counts the replicas that acknowledge a write of group 0 in time. It returns -1 if the write itself came too late.
func (b bench) acknowledged() int {
	b.Helper()
	r, err := b.Connect(0)
	require.NoError(b, err)
	own := r.(*redis.Client).Conn() // WAIT speaks of the writes of its own connection
	defer own.Close()
	if own.Incr(b.ctx, "counter").Err() != nil {
		return -1
	}
	count, err := own.Wait(b.ctx, 2, 400*time.Millisecond).Result()
	require.NoError(b, err)
	return int(count)
}

// inSync waits until both replicas acknowledge: for up to a second after its first synchronisation a replica hears nothing.
func (b bench) inSync() {
	b.Helper()
	b.comesTo(2, b.acknowledged)
}

func (b bench) hears(replica string) bool {
	b.Helper()
	hears, err := b.Hears(b.ctx, replica)
	require.NoError(b, err)
	return hears
}

// nameOf returns the name of the partition of that shape.
func nameOf(sides nemesis.Shape) string {
	if sides.String() == "one-way" {
		return "one-way"
	}
	return "partition-" + sides.String()
}

// A partition without failover leaves the primary as it is.
func TestPartitionsWithoutFailover(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	b.inSync()
	first := b.primary()
	run := func(sides nemesis.Shape, effect func(b bench, old string, inj harness.Injection)) {
		t.Run(sides.String(), func(t *testing.T) {
			b := bench{t, b.Cluster, b.ctx}
			n := nemesis.Partition(b.Cluster, sides, harness.Withhold())
			require.Equal(t, nameOf(sides), n.Name())
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
		b.sees("g0", "s1")
		require.Equal(b, 2, countHears(b))
	})
	run(nemesis.PrimaryFromReplica(), func(b bench, old string, inj harness.Injection) {
		require.Equal(b, old, inj.Targets[0])
		require.Equal(b, 1, countHears(b))
		require.False(b, b.hears(inj.Targets[1]))
		b.comesTo(1, b.acknowledged)
	})
	run(nemesis.PrimaryFromReplicas(), func(b bench, old string, inj harness.Injection) {
		require.Zero(b, countHears(b))
		b.comesTo(0, b.acknowledged)
		b.sees(inj.Targets[1], inj.Targets[2])
	})
	run(nemesis.PrimaryFromSentinel(), func(b bench, old string, inj harness.Injection) {
		require.Error(b, b.Probe(b.ctx, old, inj.Targets[1]))
		for g := range b.Groups() {
			b.reach(g, true)
		}
	})
	run(nemesis.OneWay(nemesis.Primary(), nemesis.Replicas()), func(b bench, old string, inj harness.Injection) {
		b.comesTo(2, b.acknowledged) // replicas dial the primary: nothing is lost
	})
	run(nemesis.OneWay(nemesis.Replicas(), nemesis.Primary()), func(b bench, old string, inj harness.Injection) {
		b.comesTo(0, b.acknowledged)
		b.sees(old, inj.Targets[0])
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
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	b.inSync()
	run := func(sides nemesis.Shape, effect func(b bench, old string, inj harness.Injection)) {
		t.Run(sides.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			t.Cleanup(cancel) // after the heal, which is a clean-up too
			b := bench{t, b.Cluster, ctx}
			was := b.primary()
			b.suffer(nemesis.Partition(b.Cluster, sides, harness.Withhold()), effect)
			require.NotEqual(t, was, b.primary(), "no failover")
			require.Equal(t, "slave", b.role(was))
		})
	}
	run(nemesis.SplitBrainWithReplica(), func(b bench, old string, inj harness.Injection) {
		require.Equal(b, []int{0, 1}, inj.Groups)
		b.comesTo(1, b.acknowledged) // the replica on the old primary's side
		beyond := slices.DeleteFunc(b.RedisNodes(), func(n string) bool { return slices.Contains(inj.Targets, n) })
		require.Error(b, b.Probe(b.ctx, inj.Targets[1], beyond[0]))
		b.writes(4)
	})
	run(nemesis.PrimaryFromSentinels(), func(b bench, old string, inj harness.Injection) {
		require.Len(b, inj.Targets, 4)
		for g := range b.Groups() {
			b.sees(cluster.GroupName(g), old) // still
		}
		require.Equal(b, "master", b.role(old))
	})
	run(nemesis.IsolatePrimary(), func(b bench, old string, inj harness.Injection) {
		require.Len(b, inj.Targets, 6)
		for g := range b.Groups() {
			b.sees(cluster.GroupName(g), old)
			b.sees(cluster.GroupName(g), inj.Targets[1]) // and every replica
		}
		require.Equal(b, "master", b.role(old))
	})
	run(nemesis.Bridge(), func(b bench, old string, inj harness.Injection) {
		bridge := inj.Targets[len(inj.Targets)-1]
		require.Equal(b, []int{0, 1}, inj.Groups)
		for _, h := range []string{"g0", "g4", "s1", "s2", "s3", "r1", "r2", "r3"} {
			if h != bridge {
				b.sees(h, bridge)
			}
		}
		b.writes(4)
	})
}

// Every fault cuts old connections and new ones, and heals.
func TestEveryWayOfAPartition(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	for _, fault := range nemesis.Cuts() {
		t.Run(fault.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			t.Cleanup(cancel) // after the heal, which is a clean-up too
			b := bench{t, b.Cluster, ctx}
			key := "counter-" + fault.String() // what was withheld is counted after the heal
			n := nemesis.Partition(b.Cluster, nemesis.ClientsFromPrimary(), fault)
			b.suffer(n, func(b bench, _ string, _ harness.Injection) {
				b.writes(4)
				for range 3 { // over the old connection, then over new ones
					err := b.incr(0, key)
					require.Error(b, err)
					var late net.Error
					silent := errors.As(err, &late) && late.Timeout()
					require.Equal(b, fault.Kind != harness.LinkRefuse, silent, "a refusal is heard of, the others are not: %v", err)
				}
				require.Equal(b, fault.Kind == harness.LinkDropReplies, b.counted(key) > 0, "commands without replies alone are carried out")
			})
		})
	}
}

// counted returns what incr has counted, as the primary itself says.
func (b bench) counted(key string) int64 {
	b.Helper()
	reply, err := b.Do(b.ctx, b.primary(), "INCRBY", key, 0)
	require.NoError(b, err)
	return reply.(int64)
}

func (b bench) incr(group int, key string) error {
	r, err := b.Connect(group)
	require.NoError(b, err)
	return r.Incr(b.ctx, key).Err()
}

// named returns the address that a Sentinel gives for the primary.
func (b bench) named(sentinel string) any {
	b.Helper()
	reply, err := b.Do(b.ctx, sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", b.MasterName())
	require.NoError(b, err)
	return reply.([]any)[0]
}

func TestSplitBrainInEveryWay(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	for _, fault := range nemesis.Cuts()[1:] {
		t.Run(fault.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			t.Cleanup(cancel) // after the heal, which is a clean-up too
			b := bench{t, b.Cluster, ctx}
			n := nemesis.Partition(b.Cluster, nemesis.SplitBrain(), fault)
			require.Equal(t, "partition-split-brain", n.Name())
			before := b.named(b.Sentinels()[0])
			b.suffer(n, func(b bench, old string, inj harness.Injection) {
				if fault.Kind == harness.LinkDropReplies { // the Sentinel beside old hears the commands of the others
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

// drowsy leaves every other probe that comes from one of its hosts without an answer.
type drowsy struct {
	*cluster.Cluster
	host   string
	probes *atomic.Int32
}

func (d drowsy) Probe(ctx context.Context, from, to string) error {
	if from == d.host && d.probes.Add(1)%2 == 1 {
		return errors.New("drowsy")
	}
	return d.Cluster.Probe(ctx, from, to)
}

func TestALateAnswerBesideAFaultIsAnAnswer(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Standalone(cluster.Options{}))
	beside := drowsy{b.Cluster, "g2", new(atomic.Int32)}
	b.heal(b.inject(nemesis.Partition(beside, nemesis.ClientsFromPrimary(), harness.Withhold())))
	require.GreaterOrEqual(t, beside.probes.Load(), int32(4), "of the bite, and of the proof")
	reading := drowsy{b.Cluster, "g0", new(atomic.Int32)}
	b.heal(b.inject(nemesis.ClientPauseWrites(reading, nemesis.Primary())))
	require.GreaterOrEqual(t, reading.probes.Load(), int32(4), "before the pause, and in it")
}
