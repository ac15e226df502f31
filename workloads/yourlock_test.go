package workloads_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/workloads"
)

// This file is the README's example: a lock of one's own, and the tests that hold it to its promise.

// yourLock renews nothing and deletes only what is its own.
type yourLock struct{ redis redis.UniversalClient }

func newYourLock(r redis.UniversalClient) workloads.Locker { return yourLock{r} }

func (l yourLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return l.redis.SetNX(ctx, key, owner, ttl).Result()
}

var release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

func (l yourLock) Release(ctx context.Context, key, owner string) (bool, error) {
	n, err := release.Run(ctx, l.redis, []string{key}, owner).Int()
	return n == 1, err
}

// No order of commands breaks it: three clients, one crash, one expiry, every interleaving.
func TestEveryInterleavingOfYourLock(t *testing.T) {
	p := workloads.LockProgram(workloads.LockOptions{}, newYourLock)
	explore.Test(t, explore.Spec{Program: p, Checkers: checkers.ForSearch(p.Kinds...)})
}

// Nor does a load, as far as this one shows.
func TestYourLock(t *testing.T) {
	c := cluster.Standalone(cluster.Options{})
	w := workloads.Locks(c, workloads.LockOptions{TTL: 300 * time.Millisecond}, newYourLock)
	harness.Test(t, harness.Spec{
		System:   c,
		Workload: w,
		Checkers: checkers.For(w),
		Clients:  50,
		Duration: 2 * time.Second,
	})
}
