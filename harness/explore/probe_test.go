package explore

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Observe and Finally look at the store in the schedule's time.
func TestQuestionsAreAskedInTheSchedulesTime(t *testing.T) {
	spec := timed(program(sends("SET k 1 PX 1000")), 1)
	var seen []time.Duration
	spec.Program.Observe = func(ctx context.Context, _ *harness.Session, _ redis.UniversalClient, _ harness.Op) {
		seen = append(seen, harness.Now(ctx).Sub(epoch).Truncate(time.Millisecond))
	}
	spec.Program.Finally = func(ctx context.Context, _ *harness.Session, r redis.UniversalClient, after interleave.After) error {
		require.NoError(t, after.Pass(500*time.Millisecond))
		require.NoError(t, harness.Sleep(ctx, 200*time.Millisecond))
		at, err := r.Time(ctx).Result()
		require.NoError(t, err)
		require.Equal(t, at.Truncate(time.Millisecond).UTC(), harness.Now(ctx).Truncate(time.Millisecond).UTC())
		seen = append(seen, harness.Now(ctx).Sub(epoch).Truncate(time.Millisecond))
		return nil
	}
	s := newScheduler(t, spec)
	s.run(interleave.Run(0))
	require.Zero(t, seen[0])
	require.Equal(t, 700*time.Millisecond, seen[len(seen)-1])
}

// Finally may use the connection of a client, which is done by then. For Observe that is refused, and nobody hangs.
func TestAClientsConnectionIsAskedInTheEndOnly(t *testing.T) {
	spec := quiet(program(sends("SET k 1", "SET k 2")))
	var clients []redis.UniversalClient
	open := spec.Program.Open
	spec.Program.Open = func(i int, r redis.UniversalClient) harness.Client {
		clients = append(clients[:i], r)
		return open(i, r)
	}
	var meanwhile []error
	spec.Program.Observe = func(ctx context.Context, _ *harness.Session, _ redis.UniversalClient, _ harness.Op) {
		meanwhile = append(meanwhile, clients[0].Get(ctx, "k").Err())
	}
	spec.Program.Finally = func(ctx context.Context, _ *harness.Session, _ redis.UniversalClient, _ interleave.After) error {
		require.Equal(t, "2", clients[0].Get(ctx, "k").Val())
		return nil
	}
	s := newScheduler(t, spec)
	s.run(interleave.Run(0), interleave.Run(0))
	require.ErrorIs(t, meanwhile[0], errBusy)
	require.Zero(t, s.w.strayCommands)
}
