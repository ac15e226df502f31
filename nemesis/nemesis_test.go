package nemesis_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

// bench is a running cluster for one fault.
type bench struct {
	*testing.T
	*cluster.Cluster
	ctx context.Context
}

func start(t *testing.T, c *cluster.Cluster) bench {
	t.Helper()
	require.NoError(t, c.Start(t.Context(), harness.NewClock(), func(harness.Event) {}, slog.New(slog.DiscardHandler)))
	t.Cleanup(func() { require.NoError(t, c.Stop()) })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return bench{t, c, ctx}
}

// primary is who is primary now.
func (b bench) primary() string {
	b.Helper()
	p, err := b.Primary(b.ctx)
	require.NoError(b, err)
	return p
}

// inject injects the fault and waits for its proof.
func (b bench) inject(n harness.Nemesis) harness.Injection {
	b.Helper()
	inj, err := n.Inject(b.ctx, rand.New(rand.NewPCG(1, 2)))
	require.NoError(b, err)
	require.NotNil(b, inj.Heal)
	require.NotEmpty(b, inj.Bite)
	if inj.Prove != nil {
		seen, err := inj.Prove(b.ctx)
		require.NoError(b, err)
		b.Logf("%s: %s; %s", n.Name(), inj.Bite, seen)
	}
	return inj
}

// heal heals, waits until the cluster is whole, and checks that every client group can write.
func (b bench) heal(inj harness.Injection) {
	b.Helper()
	began := time.Now()
	require.NoError(b, inj.Heal(b.ctx))
	require.NoError(b, b.AwaitWhole(b.ctx))
	b.Logf("whole %v after the heal began", time.Since(began))
	for g := range b.Groups() {
		require.Eventually(b, func() bool { return b.write(g) == nil }, 10*time.Second, 20*time.Millisecond, "group %d cannot write", g)
	}
}

func (b bench) write(group int) error {
	r, err := b.Connect(group)
	require.NoError(b, err)
	return r.Set(b.ctx, "k", "v", 0).Err()
}

func (b bench) role(node string) string {
	b.Helper()
	role, err := b.Role(b.ctx, node)
	require.NoError(b, err)
	return role
}

func TestKillPrimary(t *testing.T) {
	b := start(t, cluster.Sentinel(cluster.Options{}))
	old := b.primary()
	inj := b.inject(nemesis.KillPrimary(b.Cluster))
	require.Equal(t, []string{old}, inj.Targets)
	require.False(t, b.Running(old))
	b.heal(inj)
	require.NotEqual(t, old, b.primary())
	require.Equal(t, "slave", b.role(old))
}

func TestPausePrimary(t *testing.T) {
	b := start(t, cluster.Sentinel(cluster.Options{}))
	old := b.primary()
	inj := b.inject(nemesis.PausePrimary(b.Cluster))
	require.Error(t, b.Probe(b.ctx, cluster.GroupName(0), old))
	b.heal(inj)
	require.NotEqual(t, old, b.primary())
	require.Equal(t, "slave", b.role(old))
}

func TestPausePrimaryOfAStandalone(t *testing.T) {
	b := start(t, cluster.Standalone(cluster.Options{}))
	inj := b.inject(nemesis.PausePrimary(b.Cluster))
	require.Error(t, b.write(0))
	b.heal(inj)
}

func TestPartitionPrimary(t *testing.T) {
	b := start(t, cluster.Sentinel(cluster.Options{}))
	for g := range b.Groups() {
		require.NoError(t, b.write(g))
	}
	old := b.primary()
	inj := b.inject(nemesis.PartitionPrimary(b.Cluster))
	require.Equal(t, old, inj.Targets[0])
	require.Equal(t, []int{0, 1}, inj.Groups)
	guards := slices.DeleteFunc(slices.Clone(inj.Targets), func(h string) bool { return h[0] != 's' })
	require.Len(t, guards, 1, "one Sentinel stays with the primary")
	require.NoError(t, b.write(0), "the minority's clients still write to the old primary")
	require.Eventually(t, func() bool { return b.write(4) == nil }, 10*time.Second, 20*time.Millisecond,
		"the majority's clients never write to the new one")
	require.Equal(t, "master", b.role(old), "no split brain")
	b.heal(inj)
	require.Equal(t, "slave", b.role(old))
}

func TestPartitionPrimaryNeedsTwoSides(t *testing.T) {
	b := start(t, cluster.Sentinel(cluster.Options{ClientGroups: 1}))
	inj, err := nemesis.PartitionPrimary(b.Cluster).Inject(b.ctx, rand.New(rand.NewPCG(1, 2)))
	require.ErrorContains(t, err, "two client groups")
	require.Nil(t, inj.Heal)
}
