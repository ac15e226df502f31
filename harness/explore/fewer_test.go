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

// renewing returns a client that sets a key, renews it in a goroutine, and deletes it.
func renewing(_ int) client {
	return does("hold", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		if _, err := say(ctx, r, "SET lock mine EX 10"); err != nil {
			return "", err
		}
		harness.Go(ctx, func(ctx context.Context) {
			for harness.Sleep(ctx, lease/3) == nil && r.PExpire(ctx, "lock", lease).Err() == nil {
			}
		})
		return say(ctx, r, "DEL lock")
	})
}

// If clients have goroutines and the user did not ask for a number of clients, the search has two, and says so.
func TestClientsWithGoroutinesAreFewer(t *testing.T) {
	t.Parallel()
	spec := quiet(program(renewing(0), renewing(1), renewing(2)))
	spec.Clients, spec.LostAnswers, spec.LostCommands, spec.Late = 0, 0, 0, 0
	spec.MaxSchedules = 50
	res := resultOf(t, spec)
	require.Equal(t, fewerClients, res.Budget.Clients)
	require.Contains(t, res.Limits[len(res.Limits)-1], "--clients 3")
	spec.Clients = interleave.MaxExhaustive - 1
	require.Equal(t, interleave.MaxExhaustive-1, resultOf(t, spec).Budget.Clients)
}

// A search that ends early says which part it was in, and which flags would make that part smaller.
func TestWhatASearchThatEndedEarlyHasLeft(t *testing.T) {
	t.Parallel()
	spec := quiet(program(writesTo("k", 5), writesTo("k", 5), writesTo("k", 5)))
	spec.Clients, spec.Crashes, spec.MaxSchedules = 3, 1, 60
	res := resultOf(t, spec)
	require.Len(t, res.Limits, 1)
	require.Regexp(t, `^\d+ schedules that are planned in part 1 of 1 .*% have a crash `+
		`\(--clients 2 and --crashes 0 would leave fewer\)$`, res.Limits[0])
	spec.Crashes, spec.MaxSchedules, spec.Clients, spec.For = 0, 0, 2, time.Minute
	require.Empty(t, resultOf(t, spec).Limits)
}
