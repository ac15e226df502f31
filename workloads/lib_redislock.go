package workloads

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// lib/redislock, bsm/redislock, unmodified.
//
//	acquire  script: SET NX PX; else, if the value begins with the owner's token, SET PX
//	extend   script: GET, compare, PEXPIRE
//	release  script: GET, compare, DEL
//
// Source: the library. The reference lock, once granted again to who asks with the same token. A holder whose token
// begins with another's loses the lock to that one: tokens of one's own have to be of one length, as the library's are.
// Those of this harness need not be, but of two that are asked for at one time none is the beginning of the other.
func libRedislock() Variant {
	return lockVariant("lib/redislock", newRedislock, Variant{
		Doc:    "bsm/redislock without retries",
		Source: "github.com/bsm/redislock",
		Claim:  OneNode,
		Flaws:  []Flaw{{harness.DoubleGrant, Failover}},
	})
}

type redislockLock struct {
	redislock *redislock.Client
	held      map[grant]*redislock.Lock
}

func newRedislock(r redis.UniversalClient) Locker {
	return &redislockLock{redislock: redislock.New(r), held: map[grant]*redislock.Lock{}}
}

func (l *redislockLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	opts := redislock.Options{Token: owner, RetryStrategy: redislock.NoRetry()}
	h, err := l.redislock.Obtain(ctx, key, ttl, &opts)
	if err == nil {
		l.held[grant{key, owner}] = h
	}
	return redislockAnswer(err)
}

func (l *redislockLock) Extend(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	h := l.held[grant{key, owner}]
	if h == nil {
		return false, nil
	}
	return redislockAnswer(h.Refresh(ctx, ttl, nil))
}

func (l *redislockLock) Release(ctx context.Context, key, owner string) (bool, error) {
	h := l.held[grant{key, owner}]
	delete(l.held, grant{key, owner})
	return redislockAnswer(h.Release(ctx)) // of nil: not held
}

// redislockAnswer tells the library's refusals from its errors.
func redislockAnswer(err error) (bool, error) {
	if errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, redislock.ErrLockNotHeld) {
		return false, nil
	}
	return err == nil, err
}
