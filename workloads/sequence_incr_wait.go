package workloads

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// sequence/incr-wait, a counter with an acknowledgement by one replica, or by as many as the options ask for.
//
//	next     INCR key; WAIT n 20, in one pipeline; an error if fewer replicas have the increment
//
// Source: Redis documentation, INCR and WAIT. An increment on a replica survives a failover to that replica, but not to
// another: there are fewer duplicates, not none. The number of a call that ended in an error is skipped, unless a
// failover forgets it.
func sequenceIncrWait(acks int) Variant {
	return sequenceVariant("sequence/incr-wait", newIncrWaitSequence(waitFor(acks)), Variant{
		Doc: fmt.Sprintf("INCR, WAIT %d; an error if fewer replicas have the increment; ignores the proposal",
			acks),
		Source:     "Redis docs",
		OwnNumbers: true,
		Claim:      OneNode,
		Acks:       acks,
		waiting:    sequenceIncrWait,
		Flaws:      forgottenNumbers(),
	})
}

type incrWaitSequence struct {
	redis redis.UniversalClient
	wait  waitArguments
}

func newIncrWaitSequence(w waitArguments) func(redis.UniversalClient) Sequencer {
	return func(r redis.UniversalClient) Sequencer { return &incrWaitSequence{r, w} }
}

func (q *incrWaitSequence) Next(ctx context.Context, key, _ string) (string, error) {
	var incr *redis.IntCmd
	enough := q.wait.write(ctx, q.redis, func(p redis.Cmdable) { incr = p.Incr(ctx, key) })
	n, err := incr.Result()
	if err != nil {
		return "", err
	}
	return strconv.FormatInt(n, 10), enough
}
