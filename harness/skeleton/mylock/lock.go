// Package mylock is a lock on Redis. Put your own in place of its methods.
package mylock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Lock is the lock of one client.
type Lock struct{ redis redis.UniversalClient }

// New returns a lock on a Redis.
func New(r redis.UniversalClient) *Lock { return &Lock{r} }

// Acquire tries once to take the lock for a time. owner is a token that nobody else has. false without an error means
// that another owner has it; an error leaves open whether it was taken.
func (l *Lock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return l.redis.SetNX(ctx, key, owner, ttl).Result()
}

var release = redis.NewScript(`
if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("del", KEYS[1])
end
return 0`)

// Release gives the lock up. false without an error means that it was no longer the owner's.
func (l *Lock) Release(ctx context.Context, key, owner string) (bool, error) {
	n, err := release.Run(ctx, l.redis, []string{key}, owner).Int()
	return n == 1, err
}
