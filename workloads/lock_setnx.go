package workloads

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// lock/setnx, a lock without a lease.
//
//	acquire  SETNX key owner
//	release  DEL key
//
// Source: the SoRedisLock article, section 2; "Lua in Redis". The requested TTL is ignored, so the lock of a client
// that crashes never ends. Since no lease ends, no release is too late, and DEL removes the caller's own lock. The
// exception is a lock that a failover has forgotten: then DEL removes the next owner's. A failover that forgets the DEL
// leaves a lock that never ends.
func setnx() Variant {
	return lockVariant("lock/setnx", newSetnx, Variant{
		Doc:    "SETNX without a TTL; release is DEL",
		Source: "SoRedisLock article, section 2; Lua in Redis (article)",
		Claim:  Nothing,
		Flaws: []Flaw{
			{harness.StuckLock, Crash},
			{harness.StuckLock, Unanswered},
			{harness.DoubleGrant, Unanswered},
			{harness.DoubleGrant, Failover},
			{harness.StuckLock, Failover},
		},
	})
}

type setnxLock struct{ redis redis.UniversalClient }

func newSetnx(r redis.UniversalClient) Locker { return &setnxLock{r} }

func (l *setnxLock) Acquire(ctx context.Context, key, owner string, _ time.Duration) (bool, error) {
	return l.redis.SetNX(ctx, key, owner, 0).Result()
}

func (l *setnxLock) Release(ctx context.Context, key, _ string) (bool, error) {
	return deletedOne(l.redis.Del(ctx, key))
}

// deletedOne reports, from the reply of a DEL, whether its key was deleted.
func deletedOne(cmd *redis.IntCmd) (bool, error) {
	n, err := cmd.Result()
	return n == 1, err
}
