package workloads

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// TestAFastClockThatLosesTheRaceLeavesTheLockStuck: the owner releases between the loser's GET, which finds the deadline
// past, and its GETSET. The GETSET leaves a lock that is nobody's, until a deadline that is as far away as the clock is
// ahead.
func TestAFastClockThatLosesTheRaceLeavesTheLockStuck(t *testing.T) {
	const lease = 50 * time.Millisecond
	for by, stuck := range map[time.Duration]bool{time.Minute: true, 60 * time.Millisecond: false} {
		_, r := realRedis(t)
		ctx := t.Context()
		owner := newGetsetDeadline(r)
		granted, err := owner.Acquire(ctx, "lock", "owner", lease)
		require.NoError(t, err)
		require.True(t, granted)

		other := redis.NewClient(r.(*redis.Client).Options())
		defer other.Close()
		other.AddHook(before("getset", func() error {
			_, err := owner.Release(ctx, "lock", "owner")
			return err
		}))
		granted, err = newGetsetDeadline(other).Acquire(ahead(ctx, by), "lock", "other", lease)
		require.NoError(t, err)
		require.False(t, granted, "it has lost the race")

		time.Sleep(4 * lease) // a deadline in the client's clock: Redis shows nothing that could be awaited
		granted, err = owner.Acquire(ctx, "lock", "third", lease)
		require.NoError(t, err)
		require.Equal(t, stuck, !granted, "a clock that is ahead by %v", by)
	}
}
