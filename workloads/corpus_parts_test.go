package workloads_test

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/workloads"
)

// This file has the parts from which algorithms of the corpus are made.

const (
	takeSetNX = `if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0`
	extendGet = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
return 0`

	// Correct releases, which compare the owner.
	releaseGet   = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`
	releaseOwner = `if redis.call('hget', KEYS[1], 'owner') == ARGV[1] then return redis.call('del', KEYS[1]) end
return 0`
	releaseZset = `return redis.call('zrem', KEYS[1], ARGV[1])`

	// nowMS begins a script that reads the server's clock.
	nowMS = `local t = redis.call('time') local now = t[1]*1000 + math.floor(t[2]/1000)
`
)

// lockCall is one method of a lock. A release gets no ttl.
type lockCall = func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error)

// forOneServer marks a script that uses undeclared keys, which a Cluster would refuse. The corpus is about one server.
func forOneServer(text string) string {
	if strings.Contains(text, "KEYS[1]..") || strings.Contains(text, "KEYS[1] ..") ||
		strings.Contains(text, "'keys'") || strings.Contains(text, ":fence") || strings.Contains(text, "'last'") {
		return "#!lua flags=no-cluster\n" + text
	}
	return text
}

// luaCall is a call that runs a script with the owner and the lease in milliseconds.
func luaCall(text string) func(redis.UniversalClient) lockCall {
	s := redis.NewScript(forOneServer(text))
	return func(r redis.UniversalClient) lockCall {
		return func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
			n, err := s.Run(ctx, r, []string{key}, owner, ttl.Milliseconds()).Int()
			return n == 1, err
		}
	}
}

func scripted(r redis.UniversalClient, text string) lockCall { return luaCall(text)(r) }

// inSteps is a call that runs scripts one after the other, until one says no.
func inSteps(texts ...string) func(redis.UniversalClient) lockCall {
	return func(r redis.UniversalClient) lockCall {
		return func(ctx context.Context, key, owner string, ttl time.Duration) (ok bool, err error) {
			for _, text := range texts {
				if ok, err = scripted(r, text)(ctx, key, owner, ttl); !ok || err != nil {
					return false, err
				}
			}
			return true, nil
		}
	}
}

// goLock is a Locker made of functions. It cannot renew its lease.
type goLock struct{ take, give lockCall }

func (l goLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return l.take(ctx, key, owner, ttl)
}

func (l goLock) Release(ctx context.Context, key, owner string) (bool, error) {
	return l.give(ctx, key, owner, 0)
}

// pair returns the constructor of a lock, given the constructors of its acquire and its release.
func pair(take, give func(redis.UniversalClient) lockCall) func(redis.UniversalClient) workloads.Locker {
	return func(r redis.UniversalClient) workloads.Locker { return goLock{take(r), give(r)} }
}

// acquiring returns the constructor of a correct lock whose acquire is replaced by take.
func acquiring(
	take func(ctx context.Context, r redis.UniversalClient, key, owner string, ttl time.Duration) (bool, error),
) func(redis.UniversalClient) workloads.Locker {
	return pair(func(r redis.UniversalClient) lockCall {
		return func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
			return take(ctx, r, key, owner, ttl)
		}
	}, luaCall(releaseGet))
}

// extendingLock is a goLock that renews its lease.
type extendingLock struct {
	goLock
	extend lockCall
}

func (l extendingLock) Extend(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return l.extend(ctx, key, owner, ttl)
}

// extender returns the constructor of a lock by SET NX PX that renews its lease by extend.
func extender(extend func(redis.UniversalClient) lockCall) func(redis.UniversalClient) workloads.Locker {
	return func(r redis.UniversalClient) workloads.Locker {
		return extendingLock{goLock{scripted(r, takeSetNX), scripted(r, releaseGet)}, extend(r)}
	}
}

func extendBy(text string) func(redis.UniversalClient) workloads.Locker {
	return extender(luaCall(text))
}

func ignoreNil(err error) error {
	if err == redis.Nil {
		return nil
	}
	return err
}

// getCompareExtend finds by GET that the caller owns the lock, pauses, and then renews the lease of any owner.
func getCompareExtend(pause time.Duration) func(redis.UniversalClient) workloads.Locker {
	return extender(func(r redis.UniversalClient) lockCall {
		return func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
			if cur, err := r.Get(ctx, key).Result(); err != nil || cur != owner {
				return false, ignoreNil(err)
			}
			if pause > 0 {
				if err := harness.Sleep(ctx, pause); err != nil {
					return false, err
				}
			}
			return r.PExpire(ctx, key, ttl).Result()
		}
	})
}

// deletesByAnybody releases the lock of any owner.
func deletesByAnybody(r redis.UniversalClient) workloads.Locker {
	return pair(luaCall(takeSetNX), luaCall(`return redis.call('del', KEYS[1])`))(r)
}
