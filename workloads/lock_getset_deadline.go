package workloads

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// lock/getset-deadline, a lock whose lease is kept by the clocks of its clients.
//
//	acquire  SETNX key deadline; if held GET key, and if that deadline is past GETSET key deadline: granted if the old
//	         value is the one that was read
//	release  DEL key
//
// Source: Redis documentation of SETNX before 2.6.12; machinery #780, redis-lock #12, jedis-lock #8. Deadlines are
// milliseconds on the caller's clock; Redis has no TTL for the key. It fails in these ways:
//
//   - A client whose clock is ahead takes a lock that is held.
//   - An owner that outlives its lease deletes the lock of the next owner.
//   - The loser of a GETSET race has overwritten the winner's deadline with a later one. Until that deadline the lock
//     outlasts its lease, or stands without an owner if it was released meanwhile. If the loser's clock is ahead by
//     more than the lease, that lasts for as long as the clock is ahead.
//   - A winner whose lock a late release has deleted is refused its own lock, which then stands by the loser's
//     deadline.
//
// The lock of a client that crashes is taken over after its deadline.
func getsetDeadline() Variant {
	return lockVariant("lock/getset-deadline", newGetsetDeadline, Variant{
		Doc:    "SETNX of a deadline by the client's clock; when it is past, GETSET of a new one; release is DEL",
		Source: "old Redis docs; machinery #780, redis-lock #12, jedis-lock #8",
		Claim:  Nothing,
		Flaws: []Flaw{
			{harness.StolenRelease, LateRelease},
			{harness.DoubleGrant, LateRelease},
			{harness.RefusedRelease, LateRelease},
			{harness.DoubleGrant, ClockSkew},
			{harness.RefusedRelease, ClockSkew},
			{harness.StuckLock, FastLoser},
			{harness.DoubleGrant, Failover},
		},
	})
}

type getsetDeadlineLock struct{ setnxLock }

func newGetsetDeadline(r redis.UniversalClient) Locker { return &getsetDeadlineLock{setnxLock{r}} }

func (l *getsetDeadlineLock) Acquire(ctx context.Context, key, _ string, ttl time.Duration) (bool, error) {
	deadline := harness.Now(ctx).Add(ttl).UnixMilli()
	if ok, err := l.redis.SetNX(ctx, key, deadline, 0).Result(); err != nil || ok {
		return ok, err
	}
	held, err := l.redis.Get(ctx, key).Result()
	if err == redis.Nil {
		return false, nil // released just now
	}
	if err != nil {
		return false, err
	}
	until, err := strconv.ParseInt(held, 10, 64)
	if now := harness.Now(ctx); err != nil || now.UnixMilli() <= until {
		return false, err
	}
	return l.takeOver(ctx, key, held, ttl)
}

// takeOver sets a new deadline. It is granted the lock if that replaces passed, the deadline that the caller has read,
// and not one that was set since.
func (l *getsetDeadlineLock) takeOver(ctx context.Context, key, passed string, ttl time.Duration) (bool, error) {
	old, err := l.redis.GetSet(ctx, key, harness.Now(ctx).Add(ttl).UnixMilli()).Result()
	if err == redis.Nil {
		return false, nil
	}
	return err == nil && old == passed, err
}
