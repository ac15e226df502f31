package workloads

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// sequencesHash is the one hash that holds all sequences, as in "Unique serial numbers".
const sequencesHash = "sequences"

// luaSequence draws numbers with a script that keeps each sequence under a key of its own.
type luaSequence struct {
	redis  redis.UniversalClient
	script *redis.Script
}

func newLuaSequence(source string) func(redis.UniversalClient) Sequencer {
	return func(r redis.UniversalClient) Sequencer {
		return &luaSequence{redis: r, script: redis.NewScript(source)}
	}
}

func (q *luaSequence) Next(ctx context.Context, key, proposed string) (string, error) {
	return readNumber(q.script.Run(ctx, q.redis, []string{key}, proposed))
}

// hashSequence draws numbers with a script that keeps all sequences in one hash, a field each.
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
	return readNumber(q.script.Run(ctx, q.redis, []string{sequencesHash}, key, proposed))
}

// readNumber reads a number that a script returned in any form.
func readNumber(cmd *redis.Cmd) (string, error) {
	v, err := cmd.Result()
	if err != nil {
		return "", err
	}
	return fmt.Sprint(v), nil
}
