package workloads

import (
	"context"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// sequence/get-set, a counter that the client increments.
//
//	next     GET key; SET key with one more
//
// Source: the naive way. Two clients that GET before either has SET draw the same number, and a SET that comes late
// takes the sequence back.
func sequenceGetSet() Variant {
	return sequenceVariant("sequence/get-set", newGetSetSequence, Variant{
		Doc:        "GET, add one in the client, SET; ignores the proposal",
		Source:     "the naive way",
		OwnNumbers: true,
		Claim:      Nothing,
		Flaws: slices.Concat(
			flawsUnder(Race, harness.DuplicateNumber, harness.Regression, harness.SequenceRestart),
			forgottenNumbers(),
		),
	})
}

type getSetSequence struct{ redis redis.UniversalClient }

func newGetSetSequence(r redis.UniversalClient) Sequencer { return &getSetSequence{r} }

func (q *getSetSequence) Next(ctx context.Context, key, _ string) (string, error) {
	last, err := q.redis.Get(ctx, key).Int64()
	if err != nil && err != redis.Nil {
		return "", err
	}
	next := strconv.FormatInt(last+1, 10)
	return next, q.redis.Set(ctx, key, next, 0).Err()
}
