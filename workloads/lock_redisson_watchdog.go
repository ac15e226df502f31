package workloads

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// lock/redisson-watchdog is lock/redisson with its watchdog: a goroutine of the owner that renews the lease.
//
//	acquire   as the first try of lock/redisson; a grant starts the watchdog
//	watchdog  every third of the lease, script: HEXISTS, PEXPIRE; it ends when the lock is no longer the owner's
//	release   as lock/redisson, then the watchdog is stopped
//
// Source: the CSDN collection on Redis locks; Redisson (scheduleExpirationRenewal). A renewal may be under way while
// the lock is released. It then finds no entry of its owner and changes nothing. The watchdog ends with its process, so
// a crash costs one lease. Safe on one node. After a failover that forgot the lock, the watchdog finds no lock and
// ends, and the lock's owner does not learn that the lock is lost.
func redissonWatchdog() Variant {
	return lockVariant("lock/redisson-watchdog", newRedissonWatchdog, Variant{
		OwnKeys: true,
		Doc:     "lock/redisson without waiting, whose owner renews the lease by a watchdog until it releases",
		Source:  "CSDN collection on Redis locks; Redisson",
		Claim:   OneNode,
		Flaws:   []Flaw{{harness.DoubleGrant, Failover}},

		Explored: 2, ExploredBriefly: true,
	})
}

type redissonWatchdogLock struct {
	lock *redissonLock
	stop context.CancelFunc // ends the watchdog
}

func newRedissonWatchdog(r redis.UniversalClient) Locker {
	l := redissonOn(r)
	l.tries = 1
	return &redissonWatchdogLock{lock: l, stop: func() {}}
}

func (l *redissonWatchdogLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	granted, err := l.lock.Acquire(ctx, key, owner, ttl)
	if granted {
		l.watch(ctx, key, owner, ttl)
	}
	return granted, err
}

// watch starts the watchdog, which goes on after the call that started it has returned.
func (l *redissonWatchdogLock) watch(ctx context.Context, key, owner string, ttl time.Duration) {
	ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	harness.Go(ctx, func(ctx context.Context) {
		for harness.Sleep(ctx, ttl/3) == nil {
			if mine, err := l.lock.Extend(ctx, key, owner, ttl); err != nil || !mine {
				return
			}
		}
	})
}

func (l *redissonWatchdogLock) Release(ctx context.Context, key, owner string) (bool, error) {
	defer l.stop()
	return l.lock.Release(ctx, key, owner)
}
