package workloads

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// lock/watch-multi, a lock by optimistic transaction.
//
//	acquire  WATCH key; GET key; if there is none: MULTI, SET key owner PX ttl, EXEC
//	release  script: GET, compare, DEL
//
// Source: the SoRedisLock article, section 5; "Atomic operations by Lua". EXEC does nothing if somebody has touched the
// key since WATCH. Safe on one node, at three round trips instead of one; a failover may forget a granted lock.
func watchMulti() Variant {
	return lockVariant("lock/watch-multi", newWatchMulti, Variant{
		Doc:    "WATCH, GET, MULTI, SET PX, EXEC; release by compare-and-delete script",
		Source: "SoRedisLock article, section 5; Atomic operations by Lua (article)",
		Claim:  OneNode,
		Flaws:  []Flaw{{harness.DoubleGrant, Failover}},
	})
}

type watchMultiLock struct{ setNXPXLock }

func newWatchMulti(r redis.UniversalClient) Locker { return &watchMultiLock{compareDeleteLock(r)} }

func (l *watchMultiLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	free := false
	err := l.redis.Watch(ctx, func(tx *redis.Tx) error {
		err := tx.Get(ctx, key).Err()
		if free = err == redis.Nil; !free {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			return p.Set(ctx, key, owner, ttl).Err()
		})
		return err
	}, key)
	if errors.Is(err, redis.TxFailedErr) {
		return false, nil
	}
	return err == nil && free, err
}
