package workloads

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// dedup/lock-get-set, the commands of dedup/get-set under the lock of lock/set-nx-px.
//
//	first    SET id:lock token NX PX window/4, up to 3 times, 5 ms apart
//	         GET id; if absent SET id 1 EX seconds, and deliver
//	         script: if id:lock holds the token, DEL id:lock
//
// Source: "Atomic operations by Lua", which names a lock as an alternative.
// A worker that cannot have the lock takes it that the one who has
// it delivers, and is told "seen": so a message is lost when that one crashes, even if it has not marked the message
// yet. The filter is as good as its lock: where the lease ends between GET and SET, two workers are first.
func dedupLockGetSet() Variant {
	return dedupVariant("dedup/lock-get-set", newDedupLockGetSet, Variant{
		Doc:    "GET; if absent SET EX: under a lock (SET NX PX, compare-and-delete script)",
		Source: "Atomic operations by Lua (article), a lock as an alternative",
		Claim:  OneNode,
		Flaws: []Flaw{
			{harness.DuplicateDelivery, LeaseEndsInClaim},
			{harness.LostMessage, Crash},
			{harness.DuplicateDelivery, Failover},
		},
	})
}

const (
	dedupLockTries = 3
	dedupLockPause = 5 * time.Millisecond // longer than the lock is needed for, most of the time
)

type dedupLockGetSetFilter struct {
	redis redis.UniversalClient
	lock  Locker
}

func newDedupLockGetSet(r redis.UniversalClient) Deduper {
	return &dedupLockGetSetFilter{r, newSetNXPX(r)}
}

func (f *dedupLockGetSetFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	for try := range dedupLockTries {
		if try > 0 {
			if err := harness.Sleep(ctx, dedupLockPause); err != nil {
				return false, err
			}
		}
		token := newToken(ctx)
		locked, err := f.lock.Acquire(ctx, id+":lock", token, dedupLease(window))
		if err != nil {
			return false, err
		}
		if locked {
			return f.underLock(ctx, id, token, window)
		}
	}
	return false, nil
}

// Inspect looks at the message's key.
func (f *dedupLockGetSetFilter) Inspect(ctx context.Context, id string) (bool, time.Duration, error) {
	return inspectKey(ctx, f.redis, id)
}

// underLock does what the lock is for and releases it. After an error the lock ends by itself.
func (f *dedupLockGetSetFilter) underLock(ctx context.Context, id, token string, window time.Duration) (bool, error) {
	err := f.redis.Get(ctx, id).Err()
	first := err == redis.Nil
	if first {
		err = f.redis.Set(ctx, id, "1", fullSeconds(window)).Err()
	}
	if err != nil {
		return false, err
	}
	_, err = f.lock.Release(ctx, id+":lock", token)
	return first, err
}

// dedupLease is how long a worker may be on a message that stays marked for window: in full milliseconds, as Redis
// takes it.
func dedupLease(window time.Duration) time.Duration {
	return max(time.Millisecond, (window / 4).Truncate(time.Millisecond))
}

// newToken is a token that nobody else has: random, and not from a seed, since only equality matters. Under the explorer
// it is the same in each replay.
func newToken(ctx context.Context) string {
	if next, ok := ctx.Value(tokensKey{}).(func() string); ok {
		return next()
	}
	return fmt.Sprintf("%016x", rand.Uint64())
}

type tokensKey struct{}

// withTokens gives what is done in ctx tokens that begin with name.
func withTokens(ctx context.Context, name string) context.Context {
	n := 0
	return context.WithValue(ctx, tokensKey{}, func() string { n++; return fmt.Sprintf("%s-%d", name, n) })
}
