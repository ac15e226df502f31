package workloads

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// dedup/set-nx-ex-wait is dedup/set-nx-ex with an acknowledgement by one replica, or by as many as the options ask for.
//
//	first    SET id 1 NX EX seconds; WAIT n 20, in one pipeline; an error if the mark is new and fewer replicas have it
//
// Source: Redis documentation, SET and WAIT. A mark on a replica survives a failover to that replica, but not to
// another: there are fewer duplicates, not none. After an error the mark stays. To delete it would be worse: the DEL
// may be lost as well, or come after a failover and delete the next worker's mark. So a message whose worker got an
// error is lost until its window ends, unless that worker delivers it at the risk of a duplicate.
func dedupSetNXEXWait(acks int) Variant {
	return dedupVariant("dedup/set-nx-ex-wait", newDedupSetNXEXWait(waitFor(acks)), Variant{
		Doc:     fmt.Sprintf("SET NX EX, WAIT %d; an error if fewer replicas have the mark", acks),
		Source:  "Redis docs",
		Claim:   OneNode,
		Acks:    acks,
		waiting: dedupSetNXEXWait,
		Flaws: []Flaw{{harness.LostMessage, Crash}, {harness.DuplicateDelivery, Failover},
			{harness.LostMessage, Failover}},
	})
}

type dedupSetNXEXWaitFilter struct {
	markedByKey
	wait waitArguments
}

func newDedupSetNXEXWait(w waitArguments) func(redis.UniversalClient) Deduper {
	return func(r redis.UniversalClient) Deduper { return &dedupSetNXEXWaitFilter{markedByKey{r}, w} }
}

func (f *dedupSetNXEXWaitFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	var set *redis.StatusCmd
	enough := f.wait.write(ctx, f.redis, func(p redis.Cmdable) {
		set = p.SetArgs(ctx, id, "1", redis.SetArgs{Mode: "NX", TTL: fullSeconds(window)})
	})
	first, err := repliedOK(set)
	if err != nil || !first { // whether somebody else's mark is replicated does not concern this worker
		return false, err
	}
	return true, enough
}
