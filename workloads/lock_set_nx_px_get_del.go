package workloads

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// lock/set-nx-px-get-del, the reference lock with a release of two commands.
//
//	acquire  SET key owner NX PX ttl
//	release  GET key, compare in the client, DEL key
//
// Source: the CSDN collection on Redis locks (last listing's release). A lease that ends between GET and DEL makes the
// release delete another owner's lock, and a third is let in.
func setNXPXGetDel() Variant {
	return lockVariant("lock/set-nx-px-get-del", newSetNXPXGetDel, Variant{
		Doc:    "SET NX PX; release is GET, compare, DEL: each a command of its own",
		Source: "CSDN collection on Redis locks",
		Claim:  Nothing,
		Flaws: []Flaw{
			{harness.StolenRelease, LeaseEndsInRelease},
			{harness.DoubleGrant, LeaseEndsInRelease},
			{harness.DoubleGrant, Failover},
		},
	})
}

type setNXPXGetDelLock struct{ setNXPXLock }

func newSetNXPXGetDel(r redis.UniversalClient) Locker {
	return &setNXPXGetDelLock{setNXPXLock{redis: r}}
}

func (l *setNXPXGetDelLock) Release(ctx context.Context, key, owner string) (bool, error) {
	return getDel(ctx, l.redis, key, owner)
}
