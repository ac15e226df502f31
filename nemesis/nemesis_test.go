package nemesis_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
	"github.com/doublegrant/doublegrant/nemesis"
)

// bench is a running cluster for one fault.
type bench struct {
	*testing.T
	*cluster.Cluster
	ctx context.Context
}

// How long, and how often, tests look for what must come.
const wait, tick = 10 * time.Second, 10 * time.Millisecond

func rng() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func start(t *testing.T, c *cluster.Cluster) bench {
	t.Helper()
	clustertest.Start(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return bench{t, c, ctx}
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
	inj, err := n.Inject(b.ctx, rand.New(rand.NewPCG(1, 2)))
	require.NoError(b, err)
	require.NotNil(b, inj.Heal)
	require.NotEmpty(b, inj.Bite)
	seen := "-"
	if inj.Prove != nil {
		seen, err = inj.Prove(b.ctx)
		require.NoError(b, err)
	}
	b.Logf("%s: %s; %s", n.Name(), inj.Bite, seen)
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
		b.writes(g)
	}
}

// awaitFailover waits until most Sentinels name another primary than old. Where each of them votes for itself, as happens on
// a busy machine, they hold the next election six seconds later.
func (b bench) awaitFailover(old string) {
	b.Helper()
	require.Eventually(b, func() bool {
		p, err := b.Primary(b.ctx)
		return err == nil && p != old
	}, 2*wait, tick, "no failover from %s", old)
}

func (b bench) write(group int) error {
	r, err := b.Connect(group)
	require.NoError(b, err)
	return r.Set(b.ctx, "k", "v", 0).Err()
}

// writes waits until the group can write, to whichever primary it follows: on a busy machine one write that comes late is
// no evidence of a cut, and through a cut none ever gets.
func (b bench) writes(group int) {
	b.Helper()
	require.EventuallyWithT(b, func(t *assert.CollectT) { assert.NoError(t, b.write(group)) }, wait, tick, "group %d cannot write", group)
}

// sees waits until the host gets an answer from the node: a probe waits for a fraction of a second, and the machine may be
// busy.
func (b bench) sees(from, to string) {
	b.Helper()
	require.EventuallyWithT(b, func(t *assert.CollectT) { assert.NoError(t, b.Probe(b.ctx, from, to)) }, wait, tick)
}

// comesTo waits until as many have answered, and checks that it is never more: on a busy machine some answer too late.
func (b bench) comesTo(want int, answered func() int) {
	b.Helper()
	most := -1
	enough := func() bool { most = max(most, answered()); return most >= want }
	require.Eventually(b, enough, wait, tick, "%d never answered", want)
	require.Equal(b, want, most)
}

func (b bench) role(node string) string {
	b.Helper()
	role, err := b.Role(b.ctx, node)
	require.NoError(b, err)
	return role
}

func TestKillPrimary(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	old := b.primary()
	inj := b.inject(nemesis.PausePrimary(b.Cluster))
	require.Error(t, b.Probe(b.ctx, cluster.GroupName(0), old))
	b.heal(inj)
	require.NotEqual(t, old, b.primary())
	require.Equal(t, "slave", b.role(old))
}

func TestPausePrimaryOfAStandalone(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Standalone(cluster.Options{}))
	inj := b.inject(nemesis.PausePrimary(b.Cluster))
	require.Error(t, b.write(0))
	b.heal(inj)
}
