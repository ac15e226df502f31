package workloads

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// dedup/get-set, a filter made of single commands.
//
//	first    GET id; if absent SET id 1, EXPIRE id seconds, and deliver
//
// Source: "Atomic operations by Lua", plan one. Two workers that GET before either has SET both deliver. A crash
// between SET and EXPIRE leaves a mark that never ends, and so does a failover to a replica that has only the SET.
// Without any fault the same happens if the answer to SET comes too late for its client, which then sends no EXPIRE.
func dedupGetSet() Variant {
	return dedupVariant("dedup/get-set", newDedupGetSet, Variant{
		Doc:    "GET; if absent SET, EXPIRE, deliver",
		Source: "Atomic operations by Lua (article), plan one",
		Claim:  Nothing,
		Flaws: []Flaw{
			{harness.DuplicateDelivery, Race},
			{harness.ImmortalMark, Crash},
			{harness.LostMessage, Crash},
			{harness.DuplicateDelivery, Failover},
			{harness.ImmortalMark, Failover},
		},
	})
}

type dedupGetSetFilter struct{ markedByKey }

func newDedupGetSet(r redis.UniversalClient) Deduper { return &dedupGetSetFilter{markedByKey{r}} }

func (f *dedupGetSetFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	err := f.redis.Get(ctx, id).Err()
	if err != redis.Nil {
		return false, err
	}
	if err := f.redis.Set(ctx, id, "1", 0).Err(); err != nil {
		return false, err
	}
	return true, f.redis.Expire(ctx, id, fullSeconds(window)).Err()
}
