package workloads

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// lock/setnx-expire-truncated is lock/setnx-expire with a TTL that loses its fraction of a second.
//
//	acquire  SETNX key owner; EXPIRE key milliseconds/1000, an integer division
//	release  GET key, compare in the client, DEL key
//
// Source: the CSDN collection on Redis locks (last listing: (int)(timeOut/1000)). The lease ends up to a second before
// the owner expects it. A TTL below one second becomes EXPIRE 0, which deletes the key at once: everybody is granted
// the lock.
func setnxExpireTruncated() Variant {
	return lockVariant("lock/setnx-expire-truncated", newSetnxExpireTruncated, Variant{
		Doc:    "SETNX, then EXPIRE with the TTL cut down to full seconds; release is GET, compare, DEL",
		Source: "CSDN collection on Redis locks",
		Claim:  Nothing,
		Lease:  500 * time.Millisecond,
		Flaws: []Flaw{
			{harness.DoubleGrant, FractionOfSecond},
			{harness.StuckLock, Crash},
			{harness.StolenRelease, LeaseEndsInRelease},
			{harness.DoubleGrant, LeaseEndsInRelease},
			{harness.DoubleGrant, Failover},
			{harness.StuckLock, Failover},
		},
	})
}

type setnxExpireTruncatedLock struct{ setnxExpireLock }

func newSetnxExpireTruncated(r redis.UniversalClient) Locker {
	return &setnxExpireTruncatedLock{setnxExpireLock{r}}
}

func (l *setnxExpireTruncatedLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return l.acquire(ctx, key, owner, ttl.Truncate(time.Second))
}
