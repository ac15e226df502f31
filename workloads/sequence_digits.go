package workloads

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/lua"
)

// sequence/digits-compare, which compares numbers digit by digit.
//
//	next     script: GET; if the proposal is longer, or as long and larger as a string, SET it; else INCR and GET
//
// Source: this project. No Lua number is involved, so it is exact for all that INCR can count, 19 digits.
func sequenceDigitsCompare() Variant {
	return sequenceVariant("sequence/digits-compare", newDigitsSequence, Variant{
		Doc:    "script; compares with the proposal by length, then by characters; returns what it stored",
		Source: "this project",
		Claim:  OneNode,
		Flaws:  []Flaw{{harness.DuplicateNumber, Failover}, {harness.Regression, Failover}},
	})
}

type digitsSequence struct {
	redis  redis.UniversalClient
	script *redis.Script
}

func newDigitsSequence(r redis.UniversalClient) Sequencer {
	return &digitsSequence{redis: r, script: redis.NewScript(lua.SequenceDigitsCompare)}
}

func (q *digitsSequence) Next(ctx context.Context, key, proposed string) (string, error) {
	return number(q.script.Run(ctx, q.redis, []string{key}, proposed))
}
