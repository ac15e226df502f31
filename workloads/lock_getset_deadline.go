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
// milliseconds on the caller's clock; Redis has no TTL for the key. The lock fails in these ways:
//
//   - A client whose clock is ahead takes a lock that is held.
//   - An owner that outlives its lease deletes the lock of the next owner.
//   - The loser of a GETSET race replaces the winner's deadline by its own, later one. The lock then lasts longer than
//     the winner's lease. If the winner has released it before, the key stands until that deadline without an owner. If
//     the loser's clock is ahead by more than a lease, this lasts for as long as the clock is ahead.
//   - A late release of an earlier owner deletes the winner's lock, so the winner's own release is refused. The loser's
//     GETSET then leaves its deadline in the key, and nobody owns the lock.
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

// takeOver sets a new deadline. The parameter passed is the old deadline that the caller has read. takeOver grants the
// lock only if the new deadline has replaced that one.
func (l *getsetDeadlineLock) takeOver(ctx context.Context, key, passed string, ttl time.Duration) (bool, error) {
	old, err := l.redis.GetSet(ctx, key, harness.Now(ctx).Add(ttl).UnixMilli()).Result()
	if err == redis.Nil {
		return false, nil
	}
	return err == nil && old == passed, err
}
