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
)

// twoLeases returns a program whose clients take two locks, of leases of a second and of ten.
func twoLeases(acquireLong func(ctx context.Context, r redis.UniversalClient, owner string) (bool, error)) interleave.Program {
	return interleave.Program{
		Name: "two-leases", Lease: 10 * time.Second, Kinds: []harness.Kind{harness.Acquire, harness.Release},
		Open: func(i int, r redis.UniversalClient) harness.Client {
			owner := []string{"client-1", "client-12", "CLIENT-1", "my-client-1"}[i]
			return clientFunc(func(ctx context.Context, s *harness.Session) {
				invoke := func(op harness.Op, f func() (bool, error)) bool {
					got := s.Invoke(op, func(op *harness.Op) {
						ok, err := f()
						if op.Outcome = harness.OK; err != nil {
							op.Outcome = harness.Info
						} else if !ok {
							op.Outcome, op.Err = harness.Fail, harness.Held
						}
					})
					return got.Outcome == harness.OK
				}
				take := func(key string, lease time.Duration, f func() (bool, error)) bool {
					return invoke(harness.Op{Kind: harness.Acquire, Key: key, Arg: owner, TTL: lease}, f)
				}
				give := func(key string) {
					invoke(harness.Op{Kind: harness.Release, Key: key, Arg: owner}, func() (bool, error) {
						return scripted(r, releaseGet)(ctx, key, owner, 0)
					})
				}
				if !take("short", time.Second, func() (bool, error) { return r.SetNX(ctx, "short", owner, time.Second).Result() }) {
					return
				}
				if take("long", 10*time.Second, func() (bool, error) { return acquireLong(ctx, r, owner) }) {
					give("long")
				}
				give("short")
			})
		},
	}
}

type clientFunc func(ctx context.Context, s *harness.Session)

func (f clientFunc) Step(ctx context.Context, s *harness.Session) { f(ctx, s) }

// Of two locks in one program the one with the shorter lease ends first, and the other lives.
func TestTheShorterOfTwoLeasesEndsFirst(t *testing.T) {
	t.Parallel()
	explored := func(acquireLong func(context.Context, redis.UniversalClient, string) (bool, error)) interleave.Result {
		res, err := explore.Search(t.Context(), explore.Spec{
			Program: twoLeases(acquireLong), Checkers: []harness.Checker{checkers.Met(), checkers.Mutex()}, Clients: 2, For: time.Minute,
		})
		require.NoError(t, err)
		return res
	}
	right := explored(func(ctx context.Context, r redis.UniversalClient, owner string) (bool, error) {
		return r.SetNX(ctx, "long", owner, 10*time.Second).Result()
	})
	require.Equal(t, harness.Valid, right.Verdict(), right.Summary())

	// It believes that who has the short one may have the long one, too.
	wrong := explored(func(ctx context.Context, r redis.UniversalClient, owner string) (bool, error) {
		return true, r.Set(ctx, "long", owner, 10*time.Second).Err()
	})
	require.Equal(t, harness.Invalid, wrong.Verdict(), wrong.Summary())
	text := wrong.Found[0].Text()
	require.Equal(t, "long", wrong.Found[0].Anomaly.Key)
	require.LessOrEqual(t, wrong.Found[0].Length(), 5, text)
	require.Contains(t, text, "1.001s pass: short expires", text)
	t.Log(text)
}
