package workloads

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// dedup/watch-multi, the commands of dedup/get-set in an optimistic transaction.
//
//	first    WATCH id; GET id; if absent MULTI, SET id 1 EX seconds, EXEC; else UNWATCH
//
// Source: "Atomic operations by Lua", which names transactions as an alternative. EXEC does nothing if anybody has
// touched the mark since WATCH, so exactly one worker is first, on one node. It costs three round trips on one
// connection.
func dedupWatchMulti() Variant {
	return dedupVariant("dedup/watch-multi", newDedupWatchMulti, Variant{
		Doc:    "WATCH, GET; if absent MULTI, SET EX, EXEC",
		Source: "Atomic operations by Lua (article), transactions as an alternative",
		Claim:  OneNode,
		Flaws:  []Flaw{{harness.LostMessage, Crash}, {harness.DuplicateDelivery, Failover}},
	})
}

type dedupWatchMultiFilter struct{ markedByKey }

func newDedupWatchMulti(r redis.UniversalClient) Deduper {
	return &dedupWatchMultiFilter{markedByKey{r}}
}

func (f *dedupWatchMultiFilter) First(ctx context.Context, id string, window time.Duration) (first bool, err error) {
	err = f.redis.Watch(ctx, func(tx *redis.Tx) error {
		if err := tx.Get(ctx, id).Err(); err != redis.Nil {
			return err
		}
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			return p.Set(ctx, id, "1", fullSeconds(window)).Err()
		})
		first = err == nil
		return err
	}, id)
	if errors.Is(err, redis.TxFailedErr) { // somebody else has marked it meanwhile
		return false, nil
	}
	return first, err
}
