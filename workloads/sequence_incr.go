package workloads

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// sequence/incr, a counter.
//
//	next     INCR key
//
// Source: Redis documentation, INCR. Safe on one node; a failover may forget increments and issue their numbers again.
func sequenceIncr() Variant {
	return sequenceVariant("sequence/incr", newIncrSequence, Variant{
		Doc:        "INCR; ignores the proposal",
		Source:     "Redis docs",
		OwnNumbers: true,
		Claim:      OneNode,
		Flaws:      forgottenNumbers(),
	})
}

type incrSequence struct{ redis redis.UniversalClient }

func newIncrSequence(r redis.UniversalClient) Sequencer { return &incrSequence{r} }

func (q *incrSequence) Next(ctx context.Context, key, _ string) (string, error) {
	n, err := q.redis.Incr(ctx, key).Result()
	return strconv.FormatInt(n, 10), err
}
