package explore_test

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
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/workloads"
)

// waitingLock is a lock that waits for acks replicas to acknowledge a grant. With fewer acknowledgements it takes the
// grant back.
type waitingLock struct {
	*redis.Client
	acks int
}

func (l waitingLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	taken, err := l.SetNX(ctx, key, owner, ttl).Result()
	if !taken || err != nil {
		return false, err
	}
	event, err := l.Wait(ctx, l.acks, 100*time.Millisecond).Result()
	if err != nil || event >= int64(l.acks) {
		return err == nil, err
	}
	_, err = l.Release(ctx, key, owner)
	return false, err
}

func (l waitingLock) Release(ctx context.Context, key, owner string) (bool, error) {
	gone,
		err := l.Eval(ctx,
		`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`,
		[]string{key}, owner).Int()
	return gone == 1, err
}

// waitingSpec returns the search of a lock that waits for replicas, with a failover and nothing else. declared is true
// if its program says that it waits.
func waitingSpec(acks int, declared bool) explore.Spec {
	p := workloads.LockProgram(workloads.Options{Name: "waits"}, func(r redis.UniversalClient) workloads.Locker {
		return waitingLock{r.(*redis.Client), acks}
	})
	p.NoBackgroundWork, p.Replicas = true, declared
	return explore.Spec{
		Program: p, Checkers: checkers.ForSearch(p.Kinds...), Workers: 1,
		Bounds: interleave.Bounds{Clients: 2, Failovers: 1, Crashes: -1, Expiries: -1, LostAnswers: -1, Late: -1},
	}
}

// A search notices that a lock waits for replicas, and has the same result as for a lock that declares it. The replica
// that acknowledged need not be the one that is promoted.
func TestLongWhoWaitsForReplicasIsSeen(t *testing.T) {
	testenv.NeedLong(t)
	declared, err := explore.Search(t.Context(), waitingSpec(1, true))
	require.NoError(t, err)
	require.Equal(t, map[harness.Class][2]int{harness.DoubleGrant: {6, 2}}, sizes(declared))

	spec := waitingSpec(1, false)
	seen, err := explore.Search(t.Context(), spec)
	require.NoError(t, err)
	require.Equal(t, sizes(declared), sizes(seen))
	require.Equal(t, declared.Counterexamples[0].Schedule, seen.Counterexamples[0].Schedule)
	require.NoError(t, explore.Replay(t.Context(), spec, seen.Counterexamples[0], 2))
	followed, err := explore.Follow(t.Context(), spec, seen.Counterexamples[0])
	require.NoError(t, err)
	require.NotNil(t, followed.Counterexample)

	runner, err := explore.StartPieceRunner(t.Context(), spec)
	require.NoError(t, err)
	defer func() { require.NoError(t, runner.Stop()) }()
	spec.Pieces = &explore.Pieces{Workers: 1, Run: runner.Run}
	inPieces, err := explore.Search(t.Context(), spec)
	require.NoError(t, err)
	require.Equal(t, sizes(declared), sizes(inPieces))
}

// If all replicas have acknowledged, whichever is promoted knows the owner.
func TestALockThatWaitsForAllReplicasHolds(t *testing.T) {
	res, err := explore.Search(t.Context(), waitingSpec(2, false))
	require.NoError(t, err)
	require.Empty(t, res.Counterexamples)
	require.Equal(t, harness.Valid, res.Verdict(), res.Stopped)
}
