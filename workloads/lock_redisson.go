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
//	         Who is refused: SUBSCRIBE, the same script, wait for a message, the same script
//	extend   script: HEXISTS, PEXPIRE
//	release  script: HEXISTS, HINCRBY key owner -1; PEXPIRE if entries are left, else DEL and PUBLISH
//
// Source: the CSDN collection on Redis locks; Redisson. A caller that is refused waits for a message of a release, no longer than
// the holder's lease goes on and than a quarter of its own, and tries again. Between SUBSCRIBE and the wait it tries as well:
// the message may have come before it could be heard. Safe on one node, but a failover may forget a granted lock.
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
	redis              redis.UniversalClient
	enter, stay, leave *redis.Script
	released           *redis.PubSub // listens while a caller waits; nil: none has yet
	wait               time.Duration // how long to wait; 0: a quarter of the lease
	tries              int           // how often to try
	lease              time.Duration // last asked for; a release that leaves entries renews it
}

func newRedisson(r redis.UniversalClient) Locker { return redissonOn(r) }

func redissonOn(r redis.UniversalClient) *redissonLock {
	return &redissonLock{
		redis: r, tries: 3,
		enter: redis.NewScript(lua.LockRedissonAcquire),
		stay:  redis.NewScript(lua.LockRedissonExtend),
		leave: redis.NewScript(lua.LockRedissonRelease),
	}
}

// redissonChannel names the channel of a lock. It shares the lock's slot on a Cluster.
func redissonChannel(key string) string { return "redisson_lock__channel:{" + key + "}" }

func (l *redissonLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	l.lease = ttl
	held, err := l.try(ctx, key, owner, ttl)
	if err != nil || held == 0 {
		return err == nil, err
	}
	left := cmp.Or(l.wait, ttl/4)
	if l.tries < 2 || !l.listen(ctx, key, left) {
		return false, nil // the last answer was a refusal
	}
	defer func() { _ = l.released.Unsubscribe(ctx, redissonChannel(key)) }() // the lock's answer is what counts
	for try := 2; ; try++ {
		if held, err = l.try(ctx, key, owner, ttl); err != nil || held == 0 {
			return err == nil, err
		}
		pause := min(held, left)
		if try >= l.tries || pause <= 0 {
			return false, nil
		}
		if _, err := l.released.ReceiveTimeout(ctx, pause); err != nil {
			left -= pause
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

// listen subscribes to the releases of a lock, and reports whether Redis has confirmed that in time.
func (l *redissonLock) listen(ctx context.Context, key string, within time.Duration) bool {
	if l.released == nil {
		l.released = l.redis.Subscribe(ctx)
	}
	if l.released.Subscribe(ctx, redissonChannel(key)) != nil {
		return false
	}
	for {
		m, err := l.released.ReceiveTimeout(ctx, within)
		if err != nil {
			return false
		}
		if s, ok := m.(*redis.Subscription); ok && s.Kind == "subscribe" && s.Channel == redissonChannel(key) {
			return true
		} // else it is left from an earlier wait
	}
}

func (l *redissonLock) Extend(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return saysYes(l.stay.Run(ctx, l.redis, []string{key}, ttl.Milliseconds(), owner))
}

// Release gives up one entry. It returns true even if entries are left.
func (l *redissonLock) Release(ctx context.Context, key, owner string) (bool, error) {
	err := l.leave.Run(ctx, l.redis, []string{key, redissonChannel(key)}, l.lease.Milliseconds(), owner).Err()
	if err == redis.Nil {
		return false, nil
	}
	return err == nil, err
}
