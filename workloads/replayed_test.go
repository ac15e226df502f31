package workloads_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/workloads"
)

// The smallest counterexample of each kind gives the same result in each of 100 replays.
func TestCounterexamplesReplay(t *testing.T) {
	t.Parallel()
	const none = -1
	for _, c := range []struct {
		name   string
		lock   func(redis.UniversalClient) workloads.Locker
		bounds interleave.Bounds
		shows  string // in its steps
	}{
		{"a lost answer", deletesByAnybody, interleave.Bounds{LostAnswers: 1, Crashes: none, Expiries: none},
			"(the answer is lost)"},
		{"a lost command", deletesByAnybody, interleave.Bounds{LostCommands: 1, Crashes: none, Expiries: none},
			"(the command is lost)"},
		{"a late command", neverEnds, interleave.Bounds{Late: 1, Crashes: none, Expiries: none}, "late"},
		{"a lease's end, and an extend after it", getCompareExtend(0),
			interleave.Bounds{LostAnswers: none, Crashes: none}, "10.001s pass"},
		{"a lease's end", nineTenths, interleave.Bounds{LostAnswers: none, Crashes: none}, "9.001s pass"},
		{"a crash", neverEnds, interleave.Bounds{LostAnswers: none, Expiries: none}, "crash"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := explore.Spec{
				Program:  workloads.LockProgram(workloads.Options{}, c.lock),
				Checkers: []harness.Checker{checkers.Mutex(), checkers.Stuck()}, Bounds: c.bounds, For: time.Minute,
			}
			spec.Clients = 2
			res, err := explore.Search(t.Context(), spec)
			require.NoError(t, err)
			require.Equal(t, harness.Invalid, res.Verdict(), res.Summary())
			found := res.Counterexamples[0]
			require.Contains(t, found.Text(), c.shows)
			require.NoError(t, explore.Replay(t.Context(), spec, found, 100), found.Text())
		})
	}
}

// neverEnds has no lease.
var neverEnds = acquiring(func(ctx context.Context, r redis.UniversalClient, key, owner string, _ time.Duration) (bool,
	error) {
	return r.SetNX(ctx, key, owner, 0).Result()
})

// nineTenths asks Redis for a shorter lease than it was asked for.
var nineTenths = acquiring(func(ctx context.Context, r redis.UniversalClient, key, owner string,
	ttl time.Duration) (bool, error) {
	return r.SetNX(ctx, key, owner, ttl*9/10).Result()
})
