package explore

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/interleave"
)

// nextByTime counts by a key that ends after a millisecond, and shows the time after it has counted.
const nextByTime = `local n = redis.call('incr', KEYS[1])
if n == 1 then redis.call('pexpire', KEYS[1], 1) end
return n .. ' at ' .. math.floor(redis.call('time')[2] / 1000)`

// A millisecond may pass inside a script. Keys end by the time at which it began, and TIME shows that it has passed.
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
