package nemesis_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

func TestSleep(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	old := b.primary()
	began := time.Now()
	b.heal(b.inject(nemesis.Sleep(b.Cluster, nemesis.Replica(), 500*time.Millisecond)))
	require.GreaterOrEqual(t, time.Since(began), 500*time.Millisecond)
	require.Equal(t, old, b.primary())

	inj := b.inject(nemesis.Sleep(b.Cluster, nemesis.Primary(), 3*wait))
	require.Equal(t, []string{old}, inj.Targets)
	b.awaitFailover(old)            // it sleeps for longer than its Sentinels' patience
	require.NoError(t, b.Kill(old)) // nobody waits for the rest of its sleep
	require.NoError(t, inj.Heal(b.ctx))
	require.NoError(t, b.Restart(b.ctx, old))
	b.heal(inj)
	require.NotEqual(t, old, b.primary())
}

func TestSleepThatCannotBe(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	_, err := nemesis.Sleep(b.Cluster, nemesis.Primary(), time.Millisecond).Inject(b.ctx, rng())
	require.ErrorContains(t, err, "ask for 500ms or more")
	_, err = nemesis.Sleep(b.Cluster, nemesis.Sentinel(), time.Second).Inject(b.ctx, rng())
	require.ErrorContains(t, err, "is a Sentinel, and this is a fault of Redis nodes")
}

func TestSleepOfANodeThatIsCutOff(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Standalone(cluster.Options{}))
	cut := b.inject(nemesis.Degrade(b.Cluster, nemesis.Clients(), nemesis.Nodes(), harness.Refuse()))
	ctx, cancel := context.WithTimeout(b.ctx, 300*time.Millisecond)
	defer cancel()
	inj, err := nemesis.Sleep(b.Cluster, nemesis.Primary(), time.Second).Inject(ctx, rng())
	require.ErrorContains(t, err, "g0 does not reach r1 before the fault")
	require.NoError(t, inj.Heal(b.ctx))
	b.heal(cut)
}

// sleepless refuses to sleep, and loses its clients in the same moment.
type sleepless struct{ *cluster.Cluster }

func (s sleepless) Do(ctx context.Context, node string, command ...any) (any, error) {
	if command[0] == "DEBUG" {
		_, err := s.Impair(harness.Links(s.ClientGroups(), s.RedisNodes()), harness.Withhold()) // to the cluster's end
		return nil, errors.Join(errors.New("DEBUG is not allowed"), err)
	}
	return s.Cluster.Do(ctx, node, command...)
}

func TestSleepThatIsRefused(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Standalone(cluster.Options{}))
	_, err := nemesis.Sleep(sleepless{b.Cluster}, nemesis.Primary(), time.Second).Inject(b.ctx, rng())
	require.ErrorContains(t, err, "DEBUG is not allowed")
}

// blinking does not look at the first sleep.
type blinking struct {
	*cluster.Cluster
	sleeps *atomic.Int32
	looks  *sync.RWMutex
}

func (l blinking) Do(ctx context.Context, node string, command ...any) (any, error) {
	if command[0] == "DEBUG" && l.sleeps.Add(1) == 1 {
		l.looks.Lock()
		defer l.looks.Unlock()
	}
	return l.Cluster.Do(ctx, node, command...)
}

func (l blinking) Probe(ctx context.Context, from, to string) error {
	l.looks.RLock()
	defer l.looks.RUnlock()
	return l.Cluster.Probe(ctx, from, to)
}

func TestASleepThatNobodySawIsRepeated(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Standalone(cluster.Options{}))
	l := blinking{b.Cluster, new(atomic.Int32), new(sync.RWMutex)}
	inj := b.inject(nemesis.Sleep(l, nemesis.Primary(), 500*time.Millisecond))
	require.GreaterOrEqual(t, l.sleeps.Load(), int32(2))
	b.heal(inj)
}
