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

type dedupSetNXEXFilter struct{ redis redis.UniversalClient }

func newDedupSetNXEX(r redis.UniversalClient) Deduper { return &dedupSetNXEXFilter{r} }

func (f *dedupSetNXEXFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	return repliedOK(f.redis.SetArgs(ctx, id, "1", redis.SetArgs{Mode: "NX", TTL: fullSeconds(window)}))
}

// Inspect looks at the message's key.
func (f *dedupSetNXEXFilter) Inspect(ctx context.Context, id string) (bool, time.Duration, error) {
	return inspectKey(ctx, f.redis, id)
}
