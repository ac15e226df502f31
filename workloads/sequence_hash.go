package workloads

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/lua"
)

// sequence/string-compare-hash, which compares numbers as strings.
//
//	next     script: HSETNX; else HGET, and if it is smaller AS A STRING HSET, else HINCRBY
//
// Source: 004, second script. "100" < "23" is true for strings, so a sequence that crosses a power of ten starts again:
// of callers that all propose 23, calls 1 to 78 return 23 to 100, and call 79 returns 23.
func sequenceStringCompareHash() Variant {
	return sequenceVariant("sequence/string-compare-hash", newHashSequence(lua.SequenceStringCompareHash), Variant{
		Doc:    "script on a hash field; compares with the proposal as strings",
		Source: "004, second script",
		Claim:  Nothing,
		Flaws: []Flaw{
			{harness.DuplicateNumber, In(Fixed)},
			{harness.Regression, In(Fixed)},
			{harness.DuplicateNumber, In(Growing)},
			{harness.Regression, In(Growing)},
			{harness.DuplicateNumber, Failover},
			{harness.Regression, Failover},
		},
	})
}

// sequence/numeric-compare-hash, which compares numbers as Lua numbers.
//
//	next     script: HSETNX; else HGET, and if it is smaller as a number HSET, else HINCRBY
//
// Source: 004, final script, which its author calls correct. A Lua number is a double, exact up to 2^53, which is 16
// digits; the article's own numbers have 17. Numbers repeat, and the one returned is not the one stored.
func sequenceNumericCompareHash() Variant {
	return sequenceVariant("sequence/numeric-compare-hash", newHashSequence(lua.SequenceNumericCompare), Variant{
		Doc:    "script on a hash field; compares with the proposal as Lua numbers",
		Source: "004, final script",
		Claim:  OneNode,
		Flaws: []Flaw{
			{harness.DuplicateNumber, In(Timestamp17)},
			{harness.Regression, In(Timestamp17)},
			{harness.DuplicateNumber, Failover},
			{harness.Regression, Failover},
		},
	})
}

// sequencesHash is the one hash that holds all sequences, as in 004.
const sequencesHash = "sequences"

type hashSequence struct {
	redis  redis.UniversalClient
	script *redis.Script
}

func newHashSequence(source string) func(redis.UniversalClient) Sequencer {
	return func(r redis.UniversalClient) Sequencer {
		return &hashSequence{redis: r, script: redis.NewScript(source)}
	}
}

func (q *hashSequence) Next(ctx context.Context, key, proposed string) (string, error) {
	return number(q.script.Run(ctx, q.redis, []string{sequencesHash}, key, proposed))
}

// number reads a number that a script returned, whichever way it returned it.
func number(cmd *redis.Cmd) (string, error) {
	v, err := cmd.Result()
	if err != nil {
		return "", err
	}
	return fmt.Sprint(v), nil
}
