package workloads

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/lua"
)

// lock/watchdog-rearms, a lock whose watchdog may take it again after its release.
//
//	acquire   SET key owner NX PX ttl; a grant sets a timer
//	timer     after a third of the lease, script: GET, compare, PEXPIRE, or SET PX if the lock is free; then a new timer
//	release   the timer is stopped; script: GET, compare, DEL
//
// Source: RedLock.net, and its issue 64. Two mistakes combine. Stopping a timer does not stop a renewal that is under
// way: it arrives after the DEL of the release, and its answer sets the next timer. And a renewal that finds no lock
// takes it. So the lock is taken for an owner that has released it, and is renewed until that owner's process ends;
// nobody else can acquire it. lock/redisson-watchdog renews only a lock that is there.
func watchdogRearms() Variant {
	return lockVariant("lock/watchdog-rearms", newWatchdogRearms, Variant{
		Doc: "SET NX PX with a renewal timer; a renewal under way at the release takes the lock again and sets the " +
			"next timer",
		Source: "RedLock.net issue 64",
		Claim:  Nothing,
		Flaws:  []Flaw{{harness.StuckLock, Race}, {harness.DoubleGrant, Failover}},

		Explored: 2, ExploredBriefly: true,
	})
}

type watchdogRearmsLock struct {
	setNXPXLock
	extendOrTake *redis.Script
	stop         context.CancelFunc // stops the latest timer
}

func newWatchdogRearms(r redis.UniversalClient) Locker {
	return &watchdogRearmsLock{setNXPXLock: compareDeleteLock(r), extendOrTake: redis.NewScript(lua.LockExtendOrTake),
		stop: func() {}}
}

func (l *watchdogRearmsLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	granted, err := l.setNXPXLock.Acquire(ctx, key, owner, ttl)
	if granted {
		l.set(context.WithoutCancel(ctx), key, owner, ttl)
	}
	return granted, err
}

// set starts the timer for the next renewal.
func (l *watchdogRearmsLock) set(ctx context.Context, key, owner string, ttl time.Duration) {
	timer, stop := context.WithCancel(ctx)
	l.stop = stop
	harness.Go(timer, func(timer context.Context) {
		if harness.Sleep(timer, ttl/3) != nil {
			return
		}
		renewed, err := saysYes(l.extendOrTake.Run(timer, l.redis, []string{key}, owner, ttl.Milliseconds()))
		if err == nil && renewed {
			l.set(context.WithoutCancel(timer), key, owner, ttl)
		}
	})
}

func (l *watchdogRearmsLock) Release(ctx context.Context, key, owner string) (bool, error) {
	l.stop()
	return l.setNXPXLock.Release(ctx, key, owner)
}
