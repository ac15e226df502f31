// Package mylock is a module of its own: what a user of granttest writes, and nothing else.
package mylock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

type MyLock struct{ redis redis.UniversalClient }

func newMyLock(r redis.UniversalClient) *MyLock { return &MyLock{r} }

func (l *MyLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return l.redis.SetNX(ctx, key, owner, ttl).Result()
}

var release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

func (l *MyLock) Release(ctx context.Context, key, owner string) (bool, error) {
	n, err := release.Run(ctx, l.redis, []string{key}, owner).Int()
	return n == 1, err
}
