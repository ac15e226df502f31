package workloads

import (
	"cmp"
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/lua"
)

// lock/redisson, the re-entrant lock of Redisson: a hash that counts the entries of its owner.
//
//	acquire  script: EXISTS, HSET key owner 1, PEXPIRE; HEXISTS, HINCRBY key owner 1, PEXPIRE; else PTTL, and try again
//	extend   script: HEXISTS, PEXPIRE; the watchdog does so every third of the lease
//	release  script: HEXISTS, HINCRBY key owner -1; PEXPIRE if entries are left, else DEL
//
// Source: the CSDN collection on Redis locks. A caller that is refused waits and tries again, once and within a quarter of
// the lease unless wait and tries say otherwise. Redisson has waiters woken by PUBLISH; here they sleep, for the holder's
// PTTL at most. Safe on one node, but a failover may forget a granted lock; its watchdog then finds none.
func redisson() Variant {
	return lockVariant("lock/redisson", newRedisson, Variant{
		Doc:    "re-entrant hash lock by scripts; a watchdog extends the lease; who is refused waits and tries again",
		Source: "CSDN collection on Redis locks; Redisson",
		Claim:  OneNode,
		Flaws:  []Flaw{{harness.DoubleGrant, Failover}},
	})
}

type redissonLock struct {
	redis              redis.UniversalClient
	enter, stay, leave *redis.Script
	wait               time.Duration // how long to try for; 0: a quarter of the lease
	tries              int           // how often to try
	lease              time.Duration // last asked for; a release that leaves entries renews it
}

func newRedisson(r redis.UniversalClient) Locker {
	return &redissonLock{
		redis: r, tries: 2,
		enter: redis.NewScript(lua.LockRedissonAcquire),
		stay:  redis.NewScript(lua.LockRedissonExtend),
		leave: redis.NewScript(lua.LockRedissonRelease),
	}
}

func (l *redissonLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	l.lease = ttl
	wait := cmp.Or(l.wait, ttl/4)
	for try := 1; ; try++ {
		held, err := l.try(ctx, key, owner, ttl)
		if err != nil || held == 0 {
			return err == nil, err
		}
		if try >= l.tries || harness.Sleep(ctx, min(held, wait/time.Duration(l.tries))) != nil {
			return false, nil // the last answer was a refusal
		}
	}
}

// try tries once. It returns how long the holder's lease goes on, at least a millisecond, or 0 if the lock was granted.
func (l *redissonLock) try(ctx context.Context, key, owner string, ttl time.Duration) (time.Duration, error) {
	ms, err := l.enter.Run(ctx, l.redis, []string{key}, ttl.Milliseconds(), owner).Int64()
	if err == redis.Nil {
		return 0, nil
	}
	return max(time.Millisecond, time.Duration(ms)*time.Millisecond), err
}

func (l *redissonLock) Extend(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return yes(l.stay.Run(ctx, l.redis, []string{key}, ttl.Milliseconds(), owner))
}

// Release gives up one entry. It returns true even if entries are left.
func (l *redissonLock) Release(ctx context.Context, key, owner string) (bool, error) {
	err := l.leave.Run(ctx, l.redis, []string{key}, l.lease.Milliseconds(), owner).Err()
	if err == redis.Nil {
		return false, nil
	}
	return err == nil, err
}
