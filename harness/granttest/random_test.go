package granttest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/granttest"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// newFifthWins makes a lock that is granted to the fifth caller even if it is taken.
var newFifthWins = acquiring(func(ctx context.Context, l goodLock, key, owner string, ttl time.Duration) (bool, error) {
	n, err := l.redis.Incr(ctx, key+":tries").Result()
	if err != nil {
		return false, err
	}
	if err := l.redis.PExpire(ctx, key+":tries", 10*ttl).Err(); err != nil {
		return false, err
	}
	if n == 5 {
		return true, l.redis.Set(ctx, key, owner, ttl).Err()
	}
	return l.Acquire(ctx, key, owner, ttl)
})

// Schedules at random find a race that takes more clients than the search has.
func TestLongSchedulesAtRandomFindWhatTakesMoreClients(t *testing.T) {
	testenv.NeedLong(t)
	t.Chdir(t.TempDir())
	options := quick
	options.Search.Twice, options.Search.Minimize = 3, -1
	record(t, "TestIt", lock(newFifthWins, options)).passes(t)

	few := options
	options.Search.Random = granttest.Random{Schedules: 100, Clients: 6, Seed: 1}
	failure := record(t, "TestIt", lock(newFifthWins, options)).failure(t)
	require.Contains(t, failure, "double-grant in ")
	require.Contains(t, failure, "shrunk from ")
	again := record(t, "TestIt", lock(newFifthWins, few))
	require.Len(t, again.failures, 1)
	require.Contains(t, again.failures[0], "happens again", "saved schedules may have more clients than the search")

	options.Search.Random.Schedules = 10
	good := record(t, "TestGood", lock(newGoodLock, options))
	good.passes(t)
	require.Regexp(t, `schedules at random, seed 1: nothing was found: 10 schedules at random of 6 clients.*Nothing is claimed about deeper bugs\.`, good.logs)
}
