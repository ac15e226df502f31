package workloads

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// dedup/set-nx-ex, a filter of one command.
//
//	first    SET id 1 NX EX seconds
//
// Source: Redis documentation, SET. Exactly one worker is first, on one node.
func dedupSetNXEX() Variant {
	return dedupVariant("dedup/set-nx-ex", newDedupSetNXEX, Variant{
		Doc:    "SET NX EX",
		Source: "Redis docs",
		Claim:  OneNode,
		Flaws:  []Flaw{{harness.LostMessage, Crash}, {harness.DuplicateDelivery, Failover}},
	})
}

type dedupSetNXEXFilter struct{ markedByKey }

func newDedupSetNXEX(r redis.UniversalClient) Deduper { return &dedupSetNXEXFilter{markedByKey{r}} }

func (f *dedupSetNXEXFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	return repliedOK(f.redis.SetArgs(ctx, id, "1", redis.SetArgs{Mode: "NX", TTL: fullSeconds(window)}))
}
