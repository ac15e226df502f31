package explore

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// The new primary has all that the replica held: values of every type with their ends, one of them in its last millisecond, and
// functions. It has nothing of an earlier promotion.
func TestTheNewPrimaryHasWhatTheReplicaHeld(t *testing.T) {
	const library = "#!lua name=lib\nredis.register_function('answer', function() return 42 end)"
	write := func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
		op(s, "write", func() (string, error) {
			_, err := r.Pipelined(ctx, func(p redis.Pipeliner) error {
				p.FunctionLoadReplace(ctx, library)
				p.RPush(ctx, "list", "x", "y")
				p.HSet(ctx, "hash", "f", "v")
				p.ZAdd(ctx, "sorted", redis.Z{Score: 1.5, Member: "m"})
				p.SAdd(ctx, "set", "1", "2", "3")
				p.XAdd(ctx, &redis.XAddArgs{Stream: "stream", ID: "5-1", Values: []string{"f", "v"}})
				p.XGroupCreate(ctx, "stream", "group", "0")
				p.Set(ctx, "short", "s\x00\r\n", 1000_000_000)
				p.Set(ctx, "year", "1", 365*24*3600*1000_000_000)
				return nil
			})
			return "", err
		})
		sends("DEL list", "SET lost 1")(ctx, s, r)
	}
	look := sends("LRANGE list 0 -1", "HGETALL hash", "ZRANGE sorted 0 -1 WITHSCORES", "SMEMBERS set", "XINFO GROUPS stream", "GET short", "PEXPIRETIME short",
		"PEXPIRETIME year", "GET lost", "FCALL answer 0")
	spec := quiet(program(write, look))
	spec.Failovers, spec.Expiries, spec.LostCommands = 1, 1, 1
	s := newScheduler(t, spec)
	steps := func(client, n int) []interleave.Choice {
		return slices.Repeat([]interleave.Choice{interleave.Run(client)}, n)
	}
	var direct []string
	for _, failover := range []bool{false, true, true} {
		then := []interleave.Choice{interleave.Pass(0)}
		if failover {
			then = []interleave.Choice{interleave.StopReplication, interleave.Run(0), interleave.Run(0), interleave.Pass(0), interleave.Promote}
		}
		seen := results(s.run(slices.Concat(steps(0, 9), then, steps(1, 10))...).ops)
		seen = slices.DeleteFunc(seen, func(r string) bool { return !strings.HasPrefix(r, "2: ") })
		if !failover {
			direct = seen
			require.Contains(t, strings.Join(seen, "\n"), "GET short = s\x00\r\n")
			require.Contains(t, strings.Join(seen, "\n"), "FCALL answer 0 = 42")
		}
		require.Equal(t, direct, seen)
	}
	s.whole()
}
