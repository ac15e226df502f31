package workloads

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// lock/setnx-expire, a lock made of single commands.
//
//	acquire  SETNX key owner; EXPIRE key seconds
//	release  GET key, compare in the client, DEL key
//
// Source: "Lua in Redis"; the CSDN collection on Redis locks (last listing). A client that crashes after SETNX leaves a
// lock that never ends, and so does a failover that forgets the EXPIRE. A lease that ends between GET and DEL makes the
// release delete another owner's lock. The TTL is rounded up to full seconds; lock/setnx-expire-truncated rounds it
// down.
func setnxExpire() Variant {
	return lockVariant("lock/setnx-expire", newSetnxExpire, Variant{
		Doc:    "SETNX, then EXPIRE; release is GET, compare, DEL: each a command of its own",
		Source: "Lua in Redis (article); CSDN collection on Redis locks",
		Claim:  Nothing,
		Flaws: []Flaw{
			{harness.StuckLock, Crash},
			{harness.StolenRelease, LeaseEndsInRelease},
			{harness.DoubleGrant, LeaseEndsInRelease},
			{harness.DoubleGrant, Failover},
			{harness.StuckLock, Failover},
		},
	})
}

type setnxExpireLock struct{ redis redis.UniversalClient }

func newSetnxExpire(r redis.UniversalClient) Locker { return &setnxExpireLock{r} }

func (l *setnxExpireLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return l.acquire(ctx, key, owner, fullSeconds(ttl))
}

// acquire takes the lock by SETNX and EXPIRE. ttl is a whole number of seconds.
func (l *setnxExpireLock) acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	ok, err := l.redis.SetNX(ctx, key, owner, 0).Result()
	if err != nil || !ok {
		return false, err
	}
	return true, l.redis.Expire(ctx, key, ttl).Err()
}

func (l *setnxExpireLock) Release(ctx context.Context, key, owner string) (bool, error) {
	return getDel(ctx, l.redis, key, owner)
}

// getDel releases a lock by GET, a comparison and DEL. Between the two commands the lock may become another owner's.
func getDel(ctx context.Context, r redis.UniversalClient, key, owner string) (bool, error) {
	holder, err := r.Get(ctx, key).Result()
	if err == redis.Nil || err == nil && holder != owner {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return deletedOne(r.Del(ctx, key))
}

// fullSeconds rounds d up to whole seconds, EXPIRE's unit: at least one.
func fullSeconds(d time.Duration) time.Duration {
	return max(time.Second, (d + time.Second - 1).Truncate(time.Second))
}
