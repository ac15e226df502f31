package explore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// nextByTime counts with a key that expires after a millisecond, and then reads the time.
const nextByTime = `local n = redis.call('incr', KEYS[1])
if n == 1 then redis.call('pexpire', KEYS[1], 1) end
return n .. ' at ' .. math.floor(redis.call('time')[2] / 1000)`

// A millisecond may pass inside a script. Keys expire by the time at which the script began; TIME shows the new time.
func TestAMillisecondPassesInsideAScript(t *testing.T) {
	count := does("count", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		return r.Eval(ctx, nextByTime, []string{"k"}).Text()
	})
	spec := timed(program(count, count, count), 1)
	spec.Clients = 3
	s := newScheduler(t, spec)
	for range 2 {
		ex := s.begin()
		s.follow(ex, interleave.Run(0))
		require.Contains(t, possible(ex), interleave.PassFine(0))
		s.follow(ex, interleave.PassFine(0))
		require.Contains(t, possible(ex), interleave.Slow(1))
		s.follow(ex, interleave.Slow(1))
		require.NotContains(t, possible(ex), interleave.Slow(2), "once is enough")
		s.follow(ex, interleave.Run(2))
		s.finish(ex)
		require.Equal(t, []string{"1: count = 1 at 997", "2: count = 2 at 999", "3: count = 1 at 999"}, results(ex.ops))
	}
}

// A deadline is found in stored values of every type and in every unit. The numbers stand for 10 s after midnight.
func TestInstantsThatValuesName(t *testing.T) {
	const at = keyspace.UntilMidnight + 10*time.Second
	many := "for i = 1, 200 do redis.call('%s') end "
	for name, script := range map[string]string{
		"seconds":               "redis.call('set', 'k', '1893456010')",
		"milliseconds":          "redis.call('set', 'k', '1893456010000')",
		"microseconds":          "redis.call('set', 'k', '1893456010000000')",
		"nanoseconds":           "redis.call('set', 'k', '1893456010000000000')",
		"a fraction of seconds": "redis.call('set', 'k', '1893456010.000')",
		"JSON":                  `redis.call('set', 'k', cjson.encode({owner = 'a', deadline = 1893456010000}))`,
		"a word":                "redis.call('set', 'k', 'client-1:1893456010000.')",
		"MessagePack":           "redis.call('set', 'k', 'x' .. struct.pack('<I8', 1893456010000))",
		"a field":               "redis.call('hset', 'k', 'owner', 'a', 'until', '1893456010')",
		"a field of many": fmt.Sprintf(many, "hset', 'k', i, 'v") +
			"redis.call('hset', 'k', 'until', '1893456010000')",
		"a field's name":          "redis.call('hset', 'k', '1893456010000', 'owner')",
		"a score":                 "redis.call('zadd', 'k', '1893456010000', 'a')",
		"a score with a fraction": "redis.call('zadd', 'k', '1893456010.0004', 'a')",
		"a score of many": fmt.Sprintf(many, "zadd', 'k', i, i..'") +
			"redis.call('zadd', 'k', '1893456010000', 'a')",
		"a list":               "redis.call('rpush', 'k', '1893456010000')",
		"a set of numbers":     "redis.call('sadd', 'k', '1893456010000')",
		"a set":                "redis.call('sadd', 'k', 'a', '1893456010')",
		"an entry of a stream": "redis.call('xadd', 'k', '1893456010000-0', 'a', 'b')",
	} {
		t.Run(name, func(t *testing.T) {
			keeps := does("keep", func(ctx context.Context, r redis.UniversalClient) (string, error) {
				return "", r.Eval(ctx, script, []string{"k"}).Err()
			})
			s := newScheduler(t, timed(program(keeps), 1))
			ex := s.run(interleave.Run(0))
			named, err := ex.backend.namedInstants()
			require.NoError(t, err)
			require.Equal(t, []time.Duration{at}, named)
		})
	}
}

// The number of instants is bounded. If there are too many, those that stored values name are left out first.
func TestInstantsThatThereIsRoomFor(t *testing.T) {
	const deadlines = `for i = 1, 25 do redis.call('set', 'k'..i, 1893456010000 + i * 1000, 'PX', 9000 + i * 10) end`
	keeps := does("keep", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		return "", r.Eval(ctx, deadlines, []string{"k"}).Err()
	})
	spec := timed(program(keeps, keeps), 1)
	s := newScheduler(t, spec)
	ex := s.run(interleave.Run(0))
	ex.remaining.Approaches, ex.budget.Approaches = 1, 1
	fine, err := ex.fineInstants()
	require.NoError(t, err)
	require.Len(t, fine, maxInstants)
	for i, at := range fine {
		require.Equal(t, interleave.PassFine(i), at.Choice)
	}
}
