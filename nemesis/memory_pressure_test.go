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

// settings returns the node's settings that memory pressure changes.
func (b bench) settings(node string) any {
	b.Helper()
	all, err := b.Do(b.ctx, node, "CONFIG", "GET", "maxmemory*")
	require.NoError(b, err)
	return all
}

// meddling is a cluster that hands each command to meddle, which may send it by next.
type meddling struct {
	*cluster.Cluster
	meddle func(command []any, next ask) (any, error)
}

type ask = func(command ...any) (any, error)

func (m meddling) Do(ctx context.Context, node string, command ...any) (any, error) {
	return m.meddle(command, func(command ...any) (any, error) { return m.Cluster.Do(ctx, node, command...) })
}

// replica is a sketch whose primary says that it is a replica, as a primary may for a moment after a failover.
type replica struct{ *sketch }

func (replica) Do(context.Context, string, ...any) (any, error) { return "role:slave\r\n", nil }

func TestMemoryPressureOfAReplicaIsIdle(t *testing.T) {
	inj, err := nemesis.MemoryPressure(replica{oneNode()}, nemesis.Primary()).Inject(t.Context(), rng())
	require.NoError(t, err)
	_, err = inj.Touched()
	require.ErrorContains(t, err, "idle: r1 is a replica")
}

// Under load a node's data grows. The memory limit follows it, so that locks are still evicted and no write is refused.
func TestMemoryPressureUnderLoad(t *testing.T) {
	const changes, values, size = 5, 24, 512 << 10 // 12 MB each time, of the 16 MB that fit in
	b := borrow(t, standalone)
	r, err := b.Connect(0)
	require.NoError(t, err)
	var change atomic.Int32 // of the node's limit
	load := meddling{b.Cluster, func(command []any, next ask) (any, error) {
		reply, err := next(command...)
		if command[0] == "CONFIG" && command[1] == "SET" && err == nil && change.Add(1) <= changes {
			for i := range values { // before the next change
				assert.NoError(t, r.Set(b.ctx, fmt.Sprint("data", change.Load(), "-", i), make([]byte, size), 0).Err())
			}
		}
		return reply, err
	}}
	inj := b.inject(nemesis.MemoryPressure(load, nemesis.Primary()))
	for i := range 3 {
		lock := fmt.Sprint("lock", i)
		require.NoError(t, r.Set(b.ctx, lock, "owner", time.Minute).Err())
		b.await(func() bool { return r.Get(b.ctx, lock).Err() == redis.Nil })
	}
	b.await(func() bool { return change.Load() > changes })
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

func TestTheHealOfMemoryPressureAwaitsANodeThatDiesMeanwhile(t *testing.T) {
	b := borrow(t, standalone)
	before := b.settings("r1")
	var dies sync.Once
	var back sync.WaitGroup
	b.heal(b.inject(nemesis.MemoryPressure(meddling{b.Cluster, func(command []any, next ask) (any, error) {
		if command[0] == "CONFIG" && command[1] == "REWRITE" { // its settings are to be written down
			dies.Do(func() {
				require.NoError(t, b.Kill("r1"))
				back.Go(func() { assert.NoError(t, b.Restart(b.ctx, "r1")) })
			})
		}
		return next(command...)
	}}, nemesis.Primary())))
	back.Wait()
	require.ElementsMatch(t, before, b.settings("r1")) // another process lists them in another order
}

// Redis may execute a late change of the settings after the heal has restored them. The heal then restores them again.
func TestALateChangeDoesNotOutliveMemoryPressure(t *testing.T) {
	b := borrow(t, standalone)
	before := b.settings("r1")
	var times atomic.Int32
	b.heal(b.inject(nemesis.MemoryPressure(meddling{b.Cluster, func(command []any, next ask) (any, error) {
		reply, err := next(command...)
		restores := slices.Equal(command, []any{"CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "noeviction"})
		if restores && times.Add(1) <= 2 {
			_, err = next("CONFIG", "SET", "maxmemory", "5mb", "maxmemory-policy", "volatile-random")
		}
		return reply, err
	}}, nemesis.Primary())))
	require.GreaterOrEqual(t, times.Load(), int32(3), "more often where an answer was late") // two were undone
	require.Equal(t, before, b.settings("r1"))
}

// A node that has evicted keys counts from 0 again after a restart. That change of the count is no eviction.
func TestARestartIsNoEviction(t *testing.T) {
	b := borrow(t, standalone)
	var looks atomic.Int32
	inj := b.inject(nemesis.MemoryPressure(meddling{b.Cluster, func(command []any, next ask) (any, error) {
		if !slices.Equal(command, []any{"INFO", "stats"}) {
			return next(command...)
		}
		said := []int{7, 7, 0, 0, 1}
		return fmt.Sprintf("evicted_keys:%d\r\n", said[min(int(looks.Add(1)), len(said))-1]), nil
	}}, nemesis.Primary()))
	require.EqualValues(t, 5, looks.Load(), "a counter that fell was taken for evictions")
	b.heal(inj)
}
