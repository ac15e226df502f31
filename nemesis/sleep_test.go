package nemesis_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

// TestSleepIsAsLongAsItIsAskedToBe checks that a sleep lasts until a failover has happened, or the node is killed.
func TestSleepIsAsLongAsItIsAskedToBe(t *testing.T) {
	b := borrow(t, watched)
	old := b.primary()
	inj := b.inject(nemesis.Sleep(b.Cluster, nemesis.Primary(), patience))
	require.Equal(t, []string{old}, inj.Targets)
	b.await(func() bool { p, err := b.Primary(b.ctx); return err == nil && p != old }, "no failover from %s", old)
	require.NoError(t, b.Kill(old)) // nobody waits for the rest of its sleep
	require.NoError(t, inj.Heal(b.ctx))
	require.NoError(t, b.Restart(b.ctx, old))
	b.heal(inj)
	require.NotEqual(t, old, b.primary())
}

func TestSleepOfANodeThatIsCutOff(t *testing.T) {
	s := oneNode()
	s.down["r1"]++
	_, err := nemesis.Sleep(answering{s}, nemesis.Primary(), time.Second).Inject(soon(t), rng())
	require.ErrorContains(t, err, "g0 does not reach r1 before the fault")
}

// answering is a sketch whose nodes answer every command, except that they refuse to sleep.
type answering struct{ *sketch }

func (answering) Do(_ context.Context, _ string, command ...any) (any, error) {
	if command[0] == "DEBUG" {
		return nil, errors.New("DEBUG is not allowed")
	}
	return "PONG", nil
}

func TestSleepThatIsRefused(t *testing.T) {
	_, err := nemesis.Sleep(answering{oneNode()}, nemesis.Primary(), time.Second).Inject(t.Context(), rng())
	require.ErrorContains(t, err, "DEBUG is not allowed")
}

// blinking is a cluster that holds probes back during the first sleep, so that none sees it.
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
	b := borrow(t, standalone)
	l := blinking{b.Cluster, new(atomic.Int32), new(sync.RWMutex)}
	began := time.Now()
	inj := b.inject(nemesis.Sleep(l, nemesis.Primary(), 500*time.Millisecond))
	require.GreaterOrEqual(t, l.sleeps.Load(), int32(2))
	b.heal(inj)
	require.GreaterOrEqual(t, time.Since(began), time.Second, "two sleeps")
}
