package workloads

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// sequencesHash is the one hash that holds all sequences, as in "Unique serial numbers".
const sequencesHash = "sequences"

// luaSequence draws numbers with a script. It keeps each sequence under a key of its own, or all in one hash.
type luaSequence struct {
	redis   redis.UniversalClient
	script  *redis.Script
	oneHash bool
}

func newLuaSequence(source string) func(redis.UniversalClient) Sequencer {
	return func(r redis.UniversalClient) Sequencer { return &luaSequence{r, redis.NewScript(source), false} }
}

func newHashSequence(source string) func(redis.UniversalClient) Sequencer {
	return func(r redis.UniversalClient) Sequencer { return &luaSequence{r, redis.NewScript(source), true} }
}

func (q *luaSequence) Next(ctx context.Context, key, proposed string) (string, error) {
	if q.oneHash {
		return readNumber(q.script.Run(ctx, q.redis, []string{sequencesHash}, key, proposed))
	}
	return readNumber(q.script.Run(ctx, q.redis, []string{key}, proposed))
}

// readNumber reads a number that a script returned in any form.
func readNumber(cmd *redis.Cmd) (string, error) {
	v, err := cmd.Result()
	if err != nil {
		return "", err
	}
	return fmt.Sprint(v), nil
}
