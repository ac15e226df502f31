package workloads

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// dedup/set-nx-ex-wait, dedup/set-nx-ex with an acknowledgement by one replica, or by as many as the options ask for.
//
//	first    SET id 1 NX EX seconds; WAIT n 20, in one pipeline; an error if the mark is new and fewer replicas have it
//
// Source: Redis documentation, SET and WAIT. A mark that a replica has survives the failover to that replica, not the
// one to another: fewer duplicates, not none. After an error the mark stays where it is. Deleting it would be worse:
// the DEL may be lost as well, or come after a failover and delete the mark of the next worker. So until the window is
// over the message is delivered by nobody, unless the worker delivers it without knowing whether somebody else does.
func dedupSetNXEXWait(acks int) Variant {
	return dedupVariant("dedup/set-nx-ex-wait", newDedupSetNXEXWait(waitFor(acks)), Variant{
		Doc:     fmt.Sprintf("SET NX EX, WAIT %d; an error if fewer replicas have the mark", acks),
		Source:  "Redis docs",
		Claim:   OneNode,
		Acks:    acks,
		waiting: dedupSetNXEXWait,
		Flaws:   []Flaw{{harness.LostMessage, Crash}, {harness.DuplicateDelivery, Failover}, {harness.LostMessage, Failover}},
	})
}

type dedupSetNXEXWaitFilter struct {
	redis redis.UniversalClient
	wait  waitArguments
}

func newDedupSetNXEXWait(w waitArguments) func(redis.UniversalClient) Deduper {
	return func(r redis.UniversalClient) Deduper { return &dedupSetNXEXWaitFilter{r, w} }
}

func (f *dedupSetNXEXWaitFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	var set *redis.StatusCmd
	enough := f.wait.write(ctx, f.redis, func(p redis.Cmdable) {
		set = p.SetArgs(ctx, id, "1", redis.SetArgs{Mode: "NX", TTL: fullSeconds(window)})
	})
	first, err := repliedOK(set)
	if err != nil || !first { // whether somebody else's mark is replicated is not this worker's concern
		return false, err
	}
	return true, enough
}

// Inspect looks at the message's key.
func (f *dedupSetNXEXWaitFilter) Inspect(ctx context.Context, id string) (bool, time.Duration, error) {
	return inspectKey(ctx, f.redis, id)
}
