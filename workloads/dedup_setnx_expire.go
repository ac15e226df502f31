package workloads

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// dedup/setnx-expire, a filter of one command that decides and another that sets the end.
//
//	first    SETNX id 1; if it was set EXPIRE id seconds, and deliver
//
// Source: "Lua in Redis". SETNX lets exactly one worker be first, on one node. A crash after the SETNX leaves a mark
// that never ends. So does a failover to a replica that has the SETNX but not the EXPIRE.
func dedupSetnxExpire() Variant {
	return dedupVariant("dedup/setnx-expire", newDedupSetnxExpire, Variant{
		Doc:    "SETNX, then EXPIRE: each a command of its own",
		Source: "Lua in Redis (article)",
		Claim:  Nothing,
		Flaws: []Flaw{
			{harness.ImmortalMark, Crash},
			{harness.LostMessage, Crash},
			{harness.DuplicateDelivery, Failover},
			{harness.ImmortalMark, Failover},
		},
	})
}

type dedupSetnxExpireFilter struct{ markedByKey }

func newDedupSetnxExpire(r redis.UniversalClient) Deduper {
	return &dedupSetnxExpireFilter{markedByKey{r}}
}

func (f *dedupSetnxExpireFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	ok, err := f.redis.SetNX(ctx, id, "1", 0).Result()
	if err != nil || !ok {
		return false, err
	}
	return true, f.redis.Expire(ctx, id, fullSeconds(window)).Err()
}
