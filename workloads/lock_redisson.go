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
//	acquire  script: EXISTS, HSET key owner 1, PEXPIRE; HEXISTS, HINCRBY key owner 1, PEXPIRE; else PTTL.
//	         If refused: SUBSCRIBE, the same script, wait for a message, the same script
//	extend   script: HEXISTS, PEXPIRE
//	release  script: HEXISTS, HINCRBY key owner -1; PEXPIRE if entries are left, else DEL and PUBLISH
//
// Source: the CSDN collection on Redis locks; Redisson. A refused caller waits for the message of a release and tries
// again. It waits until the holder's lease ends, or for a quarter of its own lease if that is shorter. It also tries
// between SUBSCRIBE and the wait: the message may have come before the subscription. Safe on one node, but a failover
// may forget a granted lock.
func redisson() Variant {
	return lockVariant("lock/redisson", newRedisson, Variant{
		OwnKeys: true,
		Doc:     "re-entrant hash lock by scripts; who is refused waits for the PUBLISH of a release and tries again",
		Source:  "CSDN collection on Redis locks; Redisson",
		Claim:   OneNode,
		Flaws:   []Flaw{{harness.DoubleGrant, Failover}},

		Explored: 2, ExploredBriefly: true,
	})
}

type redissonLock struct {
	redis                                      redis.UniversalClient
	acquireScript, extendScript, releaseScript *redis.Script
	// releases is the subscription by which a refused caller hears of releases; nil until a caller first waits.
	releases *redis.PubSub
	maxWait  time.Duration // how long to wait for releases; 0: a quarter of the lease
	tries    int           // how often to try
	// lease is the lease that was last asked for. A release that leaves entries renews the lock for as long.
	lease time.Duration
}

func newRedisson(r redis.UniversalClient) Locker { return redissonOn(r) }

func redissonOn(r redis.UniversalClient) *redissonLock {
	return &redissonLock{
		redis: r, tries: 3,
		acquireScript: redis.NewScript(lua.LockRedissonAcquire),
		extendScript:  redis.NewScript(lua.LockRedissonExtend),
		releaseScript: redis.NewScript(lua.LockRedissonRelease),
	}
}

// redissonChannel names the channel of a lock. It shares the lock's slot on a Cluster.
func redissonChannel(key string) string { return "redisson_lock__channel:{" + key + "}" }

func (l *redissonLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	l.lease = ttl
	if granted, _, err := l.try(ctx, key, owner, ttl); granted || err != nil {
		return granted, err
	}
	waitLeft := cmp.Or(l.maxWait, ttl/4)
	if l.tries < 2 || l.subscribe(ctx, key, waitLeft) != nil {
		return false, nil // Redis refused the lock; without the subscription there is no use in waiting
	}
	defer func() { _ = l.releases.Unsubscribe(ctx, redissonChannel(key)) }() // the lock's answer is what counts
	for try := 2; ; try++ {
		granted, leaseLeft, err := l.try(ctx, key, owner, ttl)
		if granted || err != nil {
			return granted, err
		}
		pause := min(leaseLeft, waitLeft)
		if try >= l.tries || pause <= 0 {
			return false, nil
		}
		if _, err := l.releases.ReceiveTimeout(ctx, pause); err != nil {
			waitLeft -= pause // a wait that a message has ended does not count: tries bounds their number
		}
	}
}

// try tries once. If the lock is refused, the result leaseLeft is how long the holder's lease still lasts, at least a
// millisecond.
func (l *redissonLock) try(ctx context.Context, key, owner string, ttl time.Duration) (
	granted bool, leaseLeft time.Duration, err error,
) {
	ms, err := l.acquireScript.Run(ctx, l.redis, []string{key}, ttl.Milliseconds(), owner).Int64()
	if err == redis.Nil {
		return true, 0, nil
	}
	return false, max(time.Millisecond, time.Duration(ms)*time.Millisecond), err
}

// subscribe subscribes to the releases of a lock. It returns an error unless Redis confirms that in time.
func (l *redissonLock) subscribe(ctx context.Context, key string, within time.Duration) error {
	if l.releases == nil {
		l.releases = l.redis.Subscribe(ctx)
	}
	if err := l.releases.Subscribe(ctx, redissonChannel(key)); err != nil {
		return err
	}
	for {
		m, err := l.releases.ReceiveTimeout(ctx, within)
		if err != nil {
			return err
		}
		if s, ok := m.(*redis.Subscription); ok && s.Kind == "subscribe" && s.Channel == redissonChannel(key) {
			return nil
		} // else it comes from an earlier wait
	}
}

func (l *redissonLock) Extend(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return saysYes(l.extendScript.Run(ctx, l.redis, []string{key}, ttl.Milliseconds(), owner))
}

// Release undoes one acquire of the re-entrant lock. It returns true even if the owner still holds the lock by other
// acquires.
func (l *redissonLock) Release(ctx context.Context, key, owner string) (bool, error) {
	err := l.releaseScript.Run(ctx, l.redis, []string{key, redissonChannel(key)}, l.lease.Milliseconds(), owner).Err()
	if err == redis.Nil {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, nil
}
