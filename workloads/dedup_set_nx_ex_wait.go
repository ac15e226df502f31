package workloads

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// dedup/set-nx-ex-wait, dedup/set-nx-ex that asks for a replica's word.
//
//	first    SET id 1 NX EX seconds; WAIT 1 20, in one pipeline; an error if the mark is new and no replica has it
//
// Source: Redis documentation, SET and WAIT. A mark that a replica has survives the failover to that replica, not the
// one to another: fewer duplicates, not none. After an error the mark stays where it is. Deleting it would be worse:
// the DEL may be lost as well, or come after a failover and delete the mark of the next worker. So until the window is
// over the message is delivered by nobody, unless the worker delivers it without knowing whether somebody else does.
func dedupSetNXEXWait() Variant {
	return dedupVariant("dedup/set-nx-ex-wait", newDedupSetNXEXWait, Variant{
		Doc:    "SET NX EX, WAIT 1; an error if no replica has the mark",
		Source: "Redis docs",
		Claim:  OneNode,
		Acks:   waitAcks,
		Flaws:  []Flaw{{harness.LostMessage, Crash}, {harness.DuplicateDelivery, Failover}, {harness.LostMessage, Failover}},
	})
}

type dedupSetNXEXWaitFilter struct{ redis redis.UniversalClient }

func newDedupSetNXEXWait(r redis.UniversalClient) Deduper { return &dedupSetNXEXWaitFilter{r} }

func (f *dedupSetNXEXWaitFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	var set *redis.StatusCmd
	enough := writeAndWait(ctx, f.redis, func(p redis.Pipeliner) {
		set = p.SetArgs(ctx, id, "1", redis.SetArgs{Mode: "NX", TTL: fullSeconds(window)})
	})
	first, err := granted(set)
	if err != nil || !first { // a mark that is somebody else's is not for this worker to see replicated
		return false, err
	}
	return true, enough
}

// errFewAcks says that a write was made, and that too few replicas said in time that they have it.
var errFewAcks = errors.New("too few acknowledgements")

// writeAndWait sends one write, and WAIT for replicas to have it. Both are in one pipeline, since WAIT speaks of the
// writes of its own connection. It returns the error of the WAIT, or errFewAcks; the write has its own.
func writeAndWait(ctx context.Context, r redis.UniversalClient, write func(redis.Pipeliner)) error {
	pipe := r.Pipeline()
	write(pipe)
	wait := pipe.Do(ctx, "WAIT", waitAcks, waitTimeout.Milliseconds())
	_, _ = pipe.Exec(ctx) // the error of each command is its own
	acks, err := wait.Int()
	if err == nil && acks < waitAcks {
		return errFewAcks
	}
	return err
}
