package workloads

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// lock/set-nx-px-blind-del, the reference lock with a careless release.
//
//	acquire  SET key owner NX PX ttl
//	release  DEL key
//
// A common mistake. An owner that outlives its lease deletes the lock of the next owner, and a third is let in.
func blindDel() Variant {
	return lockVariant("lock/set-nx-px-blind-del", newBlindDel, Variant{
		Doc:    "SET NX PX; release is DEL, whoever holds the lock",
		Source: "common mistake",
		Claim:  Nothing,
		Flaws: []Flaw{
			{harness.StolenRelease, LateRelease},
			{harness.DoubleGrant, LateRelease},
			{harness.DoubleGrant, Failover},
		},
	})
}

type blindDelLock struct{ setNXPXLock }

func newBlindDel(r redis.UniversalClient) Locker {
	return &blindDelLock{setNXPXLock{redis: r}}
}

func (l *blindDelLock) Release(ctx context.Context, key, _ string) (bool, error) {
	return deletedOne(l.redis.Del(ctx, key))
}
