package workloads

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// lib/redislock is bsm/redislock, unmodified.
//
//	acquire  script: SET NX PX; else, if the value begins with the owner's token, SET PX
//	extend   script: GET, compare, PEXPIRE
//	release  script: GET, compare, DEL
//
// Source: the library. It is the reference lock, except that it grants a lock again to a caller with the same token.
// Tokens are as long as the library's own, and derived from the owner's name, so that schedules can be replayed.
func libRedislock() Variant {
	return lockVariant("lib/redislock", newRedislock, Variant{
		Doc:    "bsm/redislock without retries, with tokens as it makes them",
		Source: "github.com/bsm/redislock",
		Claim:  OneNode,
		Flaws:  []Flaw{{harness.DoubleGrant, Failover}},
	})
}

// lib/redislock-token is bsm/redislock with its caller's tokens.
//
// Source: the library's Options.Token. Its scripts compare only as many characters as the caller's token has. A caller
// whose token is a prefix of the owner's therefore takes the lock from that owner.
func libRedislockToken() Variant {
	return lockVariant("lib/redislock-token", newRedislockToken, Variant{
		Doc:           "bsm/redislock without retries, with its caller's tokens",
		Source:        "github.com/bsm/redislock",
		Claim:         Nothing,
		ComparesNames: true,
		Flaws:         []Flaw{{harness.DoubleGrant, NamesBegin}, {harness.DoubleGrant, Failover}},
	})
}

// lib/redislock-retries is lib/redislock with one more attempt.
//
// Source: the library's LimitRetry and LinearBackoff.
func libRedislockRetries() Variant {
	return lockVariant("lib/redislock-retries", newRedislockRetries, Variant{
		Doc:    "bsm/redislock with one retry",
		Source: "github.com/bsm/redislock",
		Claim:  OneNode,
		Flaws:  []Flaw{{harness.DoubleGrant, Failover}},
	})
}

type redislockLock struct {
	redislock *redislock.Client
	held      map[grant]*redislock.Lock
	token     func(owner string) string
	retry     func() redislock.RetryStrategy
}

func newRedislockToken(r redis.UniversalClient) Locker {
	return &redislockLock{
		redislock: redislock.New(r), held: map[grant]*redislock.Lock{},
		token: func(owner string) string { return owner }, retry: redislock.NoRetry,
	}
}

func newRedislock(r redis.UniversalClient) Locker {
	l := newRedislockToken(r).(*redislockLock)
	l.token = func(owner string) string { // 16 bytes, as the library's
		sum := sha256.Sum256([]byte(owner))
		return base64.RawURLEncoding.EncodeToString(sum[:16])
	}
	return l
}

func newRedislockRetries(r redis.UniversalClient) Locker {
	l := newRedislock(r).(*redislockLock)
	l.retry = func() redislock.RetryStrategy {
		return redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 1)
	}
	return l
}

func (l *redislockLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	opts := redislock.Options{Token: l.token(owner), RetryStrategy: l.retry()}
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
	return redislockAnswer(h.Release(ctx)) // a nil lock answers that it is not held
}

// redislockAnswer turns an error of the library into an answer: true for no error and false for a refusal. Any other
// error stays an error.
func redislockAnswer(err error) (bool, error) {
	if errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, redislock.ErrLockNotHeld) {
		return false, nil
	}
	return err == nil, err
}
