package workloads_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness/granttest"
)

// This file is the README's example: your own lock, and the test that holds it to its promise.

// yourLock renews nothing and deletes only its owner's lock.
type yourLock struct{ redis redis.UniversalClient }

func newYourLock(r redis.UniversalClient) *yourLock { return &yourLock{r} }

func (l *yourLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return l.redis.SetNX(ctx, key, owner, ttl).Result()
}

var release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end
return 0`)

func (l *yourLock) Release(ctx context.Context, key, owner string) (bool, error) {
	n, err := release.Run(ctx, l.redis, []string{key}, owner).Int()
	return n == 1, err
}

// No order of commands breaks it, and no load, as far as this one shows.
func TestYourLock(t *testing.T) {
	granttest.Lock(t, newYourLock)
}
