package workloads

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/lua"
)

// lock/blpop-signal, a lock without a lease whose waiters wait for a signal.
//
//	acquire  SET key owner NX. If refused: BLPOP signal 0, and the same again
//	release  script: GET, compare; DEL signal, LPUSH signal, PEXPIRE signal, DEL key
//
// Source: python-redis-lock without its option expire. A release leaves one signal, which wakes one waiter and ends
// after a second. Under load a waiter gives up after a second. The lock fails in these ways:
//
//   - If the owner crashes, nothing releases the lock: it is stuck, and the waiters wait for ever.
//   - If the waiter that the signal woke crashes, the lock is free, but the other waiters wait for ever.
//   - A waiter that was refused before the release, and begins to wait after the signal's end, waits for ever.
func blpopSignal() Variant {
	return lockVariant("lock/blpop-signal", func(r redis.UniversalClient) Locker { return signalLock(r, time.Second) },
		Variant{
			OwnKeys: true,
			Doc:     "SET NX without a TTL; who is refused waits by BLPOP for the signal of a release",
			Source:  "python-redis-lock",
			Claim:   Nothing,
			Flaws: []Flaw{
				{harness.StuckLock, Crash}, {harness.Deadlock, Crash}, {harness.Deadlock, SignalEnds},
				{harness.StuckLock, Unanswered}, {harness.Deadlock, Unanswered},
				{harness.DoubleGrant, Failover}, {harness.Deadlock, Failover}, {harness.StuckLock, Failover},
			},
			Explored: 2, ExploredBriefly: true,
			newExplored: func(r redis.UniversalClient) Locker { return signalLock(r, 0) },
		})
}

// lock/blpop-signal-lease is lock/blpop-signal with a lease.
//
//	acquire  SET key owner NX PX ttl. If refused: BLPOP signal ttl, and the same once more
//	release  as lock/blpop-signal
//
// Source: python-redis-lock with its option expire. A waiter that no signal wakes tries again after one lease, in full
// seconds. Then the lock is free, or somebody else has taken it since. Safe on one node.
func blpopSignalLease() Variant {
	return lockVariant("lock/blpop-signal-lease",
		func(r redis.UniversalClient) Locker { return &signalLeaseLock{*signalLock(r, 0)} }, Variant{
			OwnKeys: true,
			Doc:     "SET NX PX; who is refused waits by BLPOP for the signal of a release, for one lease at most",
			Source:  "python-redis-lock",
			Claim:   OneNode,
			Flaws:   []Flaw{{harness.DoubleGrant, Failover}},

			Explored: 2, ExploredBriefly: true,
		})
}

type blpopSignalLock struct {
	redis         redis.UniversalClient
	releaseScript *redis.Script
	maxWait       time.Duration // how long to wait for a signal, in whole seconds; 0: for ever
}

func signalLock(r redis.UniversalClient, wait time.Duration) *blpopSignalLock {
	return &blpopSignalLock{redis: r, releaseScript: redis.NewScript(lua.LockSignalRelease), maxWait: wait}
}

// signalKept is how long a signal stays if nobody waits for it.
const signalKept = time.Second

// signalKey names the list of signals of a lock. It shares the lock's slot on a Cluster.
func signalKey(key string) string { return "lock-signal:{" + key + "}" }

func (l *blpopSignalLock) Acquire(ctx context.Context, key, owner string, _ time.Duration) (bool, error) {
	for {
		ok, err := l.try(ctx, key, owner, 0)
		if ok || err != nil {
			return ok, err
		}
		if signalled, err := l.awaitSignal(ctx, key, l.maxWait); err != nil || !signalled {
			return false, err
		}
	}
}

// try takes the lock for ttl if it is free. If ttl is 0, the lock has no end.
func (l *blpopSignalLock) try(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return repliedOK(l.redis.SetArgs(ctx, key, owner, redis.SetArgs{Mode: "NX", TTL: ttl}))
}

// awaitSignal waits for a signal, and reports whether one came.
func (l *blpopSignalLock) awaitSignal(ctx context.Context, key string, within time.Duration) (bool, error) {
	err := l.redis.BLPop(ctx, within, signalKey(key)).Err()
	if err == redis.Nil {
		return false, nil
	}
	return err == nil, err
}

func (l *blpopSignalLock) Release(ctx context.Context, key, owner string) (bool, error) {
	return saysYes(l.releaseScript.Run(ctx, l.redis, []string{key, signalKey(key)}, owner, signalKept.Milliseconds()))
}

type signalLeaseLock struct{ blpopSignalLock }

func (l *signalLeaseLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	ok, err := l.try(ctx, key, owner, ttl)
	if ok || err != nil {
		return ok, err
	}
	if _, err := l.awaitSignal(ctx, key, fullSeconds(ttl)); err != nil {
		return false, err
	}
	return l.try(ctx, key, owner, ttl)
}
