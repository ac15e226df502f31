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
// Source: "Atomic operations by Lua", which names a lock as an alternative. A worker that cannot get the lock assumes
// that the owner delivers the message, and is told "seen". So the message is lost if the owner crashes before it has
// delivered the message, whether or not it has marked it. The filter is as good as its lock: if the lease ends between
// GET and SET, two workers are first.
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
	dedupLockPause = 5 * time.Millisecond // pause between two tries; longer than the lock is usually held
)

type dedupLockGetSetFilter struct {
	markedByKey
	lock Locker
}

func newDedupLockGetSet(r redis.UniversalClient) Deduper {
	return &dedupLockGetSetFilter{markedByKey{r}, newSetNXPX(r)}
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

// underLock claims the message under the lock and releases the lock. After an error the lock ends by itself.
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

// dedupLease returns how long a worker may work on a message before its claim or lock ends. It is a quarter of the
// message's window, in whole milliseconds, as Redis takes it.
func dedupLease(window time.Duration) time.Duration {
	return max(time.Millisecond, (window / 4).Truncate(time.Millisecond))
}

// newToken returns a token that nobody else has. It is random and not from a seed, since only equality matters. Under
// the explorer the tokens are the same in each replay of a schedule.
func newToken(ctx context.Context) string {
	if next, ok := ctx.Value(tokensKey{}).(func() string); ok {
		return next()
	}
	return fmt.Sprintf("%016x", rand.Uint64())
}

type tokensKey struct{}

// withTokens returns a context in which newToken returns name-1, name-2 and so on.
func withTokens(ctx context.Context, name string) context.Context {
	n := 0
	return context.WithValue(ctx, tokensKey{}, func() string { n++; return fmt.Sprintf("%s-%d", name, n) })
}
