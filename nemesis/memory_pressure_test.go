package nemesis_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

// settings returns those that memory pressure changes.
func (b bench) settings(node string) any {
	b.Helper()
	all, err := b.Do(b.ctx, node, "CONFIG", "GET", "maxmemory*")
	require.NoError(b, err)
	return all
}

func TestMemoryPressureEvictsALock(t *testing.T) {
	b := borrow(t, standalone)
	before := b.settings("r1")
	r, err := b.Connect(0)
	require.NoError(t, err)
	require.NoError(t, r.Set(b.ctx, "data", "v", 0).Err())
	require.NoError(t, r.SetArgs(b.ctx, "lock", "owner", redis.SetArgs{Mode: "NX", TTL: time.Minute}).Err())
	inj := b.inject(nemesis.MemoryPressure(b.Cluster, nemesis.Primary()))
	b.await(func() bool { return r.Get(b.ctx, "lock").Err() == redis.Nil }, "the lock was never evicted")
	require.NoError(t, r.Get(b.ctx, "data").Err(), "what has no TTL stays")
	require.NoError(t, r.SetArgs(b.ctx, "lock", "other", redis.SetArgs{Mode: "NX", TTL: time.Minute}).Err(), "granted again")
	b.heal(inj)
	require.Equal(t, before, b.settings("r1"))
	keys, err := b.Do(b.ctx, "r1", "KEYS", "doublegrant:*")
	require.NoError(t, err)
	require.Empty(t, keys, "ballast left behind")
}

// replica is a sketch whose primary says that it is a replica, as it is for a moment after a failover.
type replica struct{ *sketch }

func (replica) Do(context.Context, string, ...any) (any, error) { return "role:slave\r\n", nil }

func TestMemoryPressureOfAReplicaIsIdle(t *testing.T) {
	inj, err := nemesis.MemoryPressure(replica{oneNode()}, nemesis.Primary()).Inject(t.Context(), rng())
	require.NoError(t, err)
	_, err = inj.Touched()
	require.ErrorContains(t, err, "idle: r1 is a replica")
}

// growing lets a node's data grow after each of the first changes of its limit, and before the next one.
type growing struct {
	*cluster.Cluster
	grow  func(change int32)
	times *atomic.Int32
}

func (g growing) Do(ctx context.Context, node string, command ...any) (any, error) {
	reply, err := g.Cluster.Do(ctx, node, command...)
	if command[0] == "CONFIG" && command[1] == "SET" && err == nil {
		g.grow(g.times.Add(1))
	}
	return reply, err
}

// Under load the memory in use grows by itself. The limit follows: locks go on being evicted, and nobody is refused.
func TestMemoryPressureUnderLoad(t *testing.T) {
	const changes, values, size = 5, 24, 512 << 10 // 12 MB each time, of the 16 MB that fit in
	b := borrow(t, standalone)
	r, err := b.Connect(0)
	require.NoError(t, err)
	load := growing{b.Cluster, func(change int32) {
		for i := range values {
			if change <= changes {
				assert.NoError(t, r.Set(b.ctx, fmt.Sprint("data", change, "-", i), make([]byte, size), 0).Err())
			}
		}
	}, new(atomic.Int32)}
	inj := b.inject(nemesis.MemoryPressure(load, nemesis.Primary()))
	for i := range 3 {
		lock := fmt.Sprint("lock", i)
		require.NoError(t, r.Set(b.ctx, lock, "owner", time.Minute).Err())
		b.await(func() bool { return r.Get(b.ctx, lock).Err() == redis.Nil })
	}
	b.await(func() bool { return load.times.Load() > changes })
	b.heal(inj)
	require.Len(t, r.Keys(b.ctx, "data*").Val(), changes*values, "what has no TTL stays")
}

func TestMemoryPressureIsRefusedUnderMemoryPressure(t *testing.T) {
	b := borrow(t, standalone)
	before := b.settings("r1")
	var injections [2]harness.Injection
	var errs [2]error
	var injecting sync.WaitGroup
	for i := range errs { // in the same moment
		injecting.Go(func() {
			injections[i], errs[i] = nemesis.MemoryPressure(b.Cluster, nemesis.Primary()).Inject(b.ctx, rng())
		})
	}
	injecting.Wait()
	require.ErrorContains(t, errors.Join(errs[:]...), "r1 is under memory pressure already")
	require.Contains(t, errs, error(nil), "both refused")
	_, err := nemesis.MemoryPressure(b.Cluster, nemesis.Primary()).Inject(b.ctx, rng())
	require.ErrorContains(t, err, "r1 is under memory pressure already")
	require.NotEqual(t, before, b.settings("r1"), "refusals have ended the pressure")
	for _, inj := range injections {
		b.heal(inj)
	}
	require.Equal(t, before, b.settings("r1"))
}

// belated carries out a change of settings after the one that puts them back.
type belated struct {
	*cluster.Cluster
	times *atomic.Int32
}

func (l belated) Do(ctx context.Context, node string, command ...any) (any, error) {
	reply, err := l.Cluster.Do(ctx, node, command...)
	restores := slices.Equal(command, []any{"CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "noeviction"})
	if restores && l.times.Add(1) <= 2 {
		_, err = l.Cluster.Do(ctx, node, "CONFIG", "SET", "maxmemory", "5mb", "maxmemory-policy", "volatile-random")
	}
	return reply, err
}

// fragile is a node that dies the first time that its settings are to be written down, and comes back.
type fragile struct {
	*cluster.Cluster
	*testing.T
	dies *sync.Once
	back *sync.WaitGroup
}

func (f fragile) Do(ctx context.Context, node string, command ...any) (any, error) {
	if command[0] == "CONFIG" && command[1] == "REWRITE" {
		f.dies.Do(func() {
			require.NoError(f, f.Kill(node))
			f.back.Go(func() { assert.NoError(f, f.Restart(ctx, node)) })
		})
	}
	return f.Cluster.Do(ctx, node, command...)
}

func TestTheHealOfMemoryPressureAwaitsANodeThatDiesMeanwhile(t *testing.T) {
	b := borrow(t, standalone)
	before := b.settings("r1")
	node := fragile{b.Cluster, t, new(sync.Once), new(sync.WaitGroup)}
	b.heal(b.inject(nemesis.MemoryPressure(node, nemesis.Primary())))
	node.back.Wait()
	require.ElementsMatch(t, before, b.settings("r1")) // another process lists them in another order
}

func TestALateChangeDoesNotOutliveMemoryPressure(t *testing.T) {
	b := borrow(t, standalone)
	before := b.settings("r1")
	late := belated{b.Cluster, new(atomic.Int32)}
	b.heal(b.inject(nemesis.MemoryPressure(late, nemesis.Primary())))
	require.GreaterOrEqual(t, late.times.Load(), int32(3), "more often where an answer was late") // two were undone
	require.Equal(t, before, b.settings("r1"))
}

// restarted says of evicted keys what a node does that has evicted some, and is then restarted.
type restarted struct {
	*cluster.Cluster
	looks *atomic.Int32
}

func (r restarted) Do(ctx context.Context, node string, command ...any) (any, error) {
	if !slices.Equal(command, []any{"INFO", "stats"}) {
		return r.Cluster.Do(ctx, node, command...)
	}
	said := []int{7, 7, 0, 0, 1}
	return fmt.Sprintf("evicted_keys:%d\r\n", said[min(int(r.looks.Add(1)), len(said))-1]), nil
}

func TestARestartIsNoEviction(t *testing.T) {
	b := borrow(t, standalone)
	r := restarted{b.Cluster, new(atomic.Int32)}
	inj := b.inject(nemesis.MemoryPressure(r, nemesis.Primary()))
	require.EqualValues(t, 5, r.looks.Load(), "a counter that fell was taken for evictions")
	b.heal(inj)
}
