package workloads

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// sequence/incr-wait, a counter that asks for a replica's word.
//
//	next     INCR key; WAIT 1 20, in one pipeline; an error if no replica has the increment
//
// Source: Redis documentation, INCR and WAIT. An increment that a replica has survives the failover to that replica,
// not the one to another: fewer duplicates, not none. The number of a call that
// ended in an error is skipped, unless a failover forgets it.
func sequenceIncrWait() Variant {
	return sequenceVariant("sequence/incr-wait", newIncrWaitSequence, Variant{
		Doc:        "INCR, WAIT 1; an error if no replica has the increment; ignores the proposal",
		Source:     "Redis docs",
		OwnNumbers: true,
		Claim:      OneNode,
		Acks:       waitAcks,
		Flaws:      forgottenNumbers(),
	})
}

type incrWaitSequence struct{ redis redis.UniversalClient }

func newIncrWaitSequence(r redis.UniversalClient) Sequencer { return &incrWaitSequence{r} }

func (q *incrWaitSequence) Next(ctx context.Context, key, _ string) (string, error) {
	var incr *redis.IntCmd
	enough := writeAndWait(ctx, q.redis, func(p redis.Pipeliner) { incr = p.Incr(ctx, key) })
	n, err := incr.Result()
	if err != nil {
		return "", err
	}
	return strconv.FormatInt(n, 10), enough
}
