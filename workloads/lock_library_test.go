package workloads

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestRedissonIsReentrant(t *testing.T) {
	_, r := realRedis(t)
	a, b := newRedisson(r), newRedisson(r)
	require.True(t, acquired(t, a, "k", "a"))
	require.True(t, acquired(t, a, "k", "a"))
	require.NoError(t, r.PExpire(t.Context(), "k", lockTTL/2).Err())
	require.True(t, released(t, a, "k", "a"))
	require.Greater(t, r.PTTL(t.Context(), "k").Val(), lockTTL/2, "the lease was not renewed")
	require.False(t, acquired(t, b, "k", "b"), "an entry is left")
	require.True(t, released(t, a, "k", "a"))
	require.True(t, acquired(t, b, "k", "b"))
}

func TestRedissonWaitsUntilTheLockIsReleased(t *testing.T) {
	_, r := realRedis(t)
	a, b := newRedisson(r), newRedisson(r)
	require.True(t, acquired(t, a, "k", "a"))
	b.(*redissonLock).maxWait = time.Minute // no longer than the holder's lease
	got := make(chan bool)
	go func() {
		ok, err := b.Acquire(t.Context(), "k", "b", lockTTL)
		got <- ok && err == nil
	}()
	require.Eventually(t, func() bool {
		n := r.PubSubNumSub(t.Context(), redissonChannel("k")).Val()
		return n[redissonChannel("k")] == 1
	}, time.Minute, time.Millisecond, "it listens")
	require.True(t, released(t, a, "k", "a"))
	require.True(t, <-got)

	a.(*redissonLock).maxWait = 5 * time.Millisecond
	require.False(t, acquired(t, a, "k", "a"), "nobody releases it in time")
	require.True(t, released(t, b, "k", "b"))
}

func TestALibrarysErrorsAreNoRefusals(t *testing.T) {
	_, r := realRedis(t)
	fail := false
	r.AddHook(spy(func(context.Context, ...redis.Cmder) error {
		if fail {
			return io.EOF
		}
		return nil
	}))
	for _, newLocker := range []func(redis.UniversalClient) Locker{newRedsync, newRedislock} {
		l, key := newLocker(r), fmt.Sprintf("%p", newLocker)
		require.True(t, acquired(t, l, key, "a"))
		fail = true
		_, err := l.(Extender).Extend(t.Context(), key, "a", lockTTL)
		require.ErrorIs(t, err, io.EOF)
		_, err = l.Release(t.Context(), key, "a")
		require.ErrorIs(t, err, io.EOF)
		_, err = l.Acquire(t.Context(), "other"+key, "a", lockTTL)
		require.ErrorIs(t, err, io.EOF)
		fail = false
	}
}

func TestRedislockGrantsAHeldLockToATokenThatBeginsTheHolders(t *testing.T) {
	_, r := realRedis(t)
	require.True(t, acquired(t, newRedislockToken(r), "k", "10"))
	require.True(t, acquired(t, newRedislockToken(r), "k", "1"))
	require.Equal(t, "1", r.Get(t.Context(), "k").Val())
}
