package workloads

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
)

func TestWatchMultiIsRefusedWhenTheKeyIsTouchedBeforeEXEC(t *testing.T) {
	c, r := realRedis(t)
	o := other(t, c)
	r.AddHook(before("exec", func() error { return o.Set(t.Context(), "k", "b", time.Minute).Err() }))
	require.False(t, acquired(t, newWatchMulti(r), "k", "a"))
	require.Equal(t, "b", r.Get(t.Context(), "k").Val())
}

// traced returns a Redis client with the hook that workloads install to trace commands.
func traced(t *testing.T, c *cluster.Cluster) redis.UniversalClient {
	t.Helper()
	r, err := newPool(c).client(0)
	require.NoError(t, err)
	return r
}

func TestEveryCommandOfATransactionIsTraced(t *testing.T) {
	c, _ := realRedis(t)
	r := traced(t, c)
	var seen []string
	r.AddHook(spy(func(ctx context.Context, cmds ...redis.Cmder) error {
		require.NotNil(t, ctx.Value(attemptKey{}), "%s is not traced", cmds)
		for _, c := range cmds {
			seen = append(seen, c.Name())
		}
		return nil
	}))
	ctx, _ := withCall(t.Context())
	l := newWatchMulti(r)
	require.True(t, acquiredAt(t, ctx, l, "k", "a"))
	require.False(t, acquiredAt(t, ctx, l, "k", "b"))
	require.Equal(t, []string{"watch", "get", "multi", "set", "exec", "watch", "get", "unwatch"},
		slices.DeleteFunc(seen, func(name string) bool { return name == "hello" }))
}

func TestAWatchThatCannotHaveRunIsAFailAndAnEXECThatMayHaveIsUnknown(t *testing.T) {
	c, _ := realRedis(t)
	r := traced(t, c)
	acquire := func(key string) harness.Op {
		return settled(t.Context(), r, func(ctx context.Context) error {
			_, err := newWatchMulti(r).Acquire(ctx, key, "a", lockTTL)
			return err
		})
	}
	r.AddHook(before("exec", func() error { return c.Pause(t.Context(), "r1") }))
	op := acquire("k")
	require.Equal(t, harness.Info, op.Outcome, "EXEC waits in the server's socket: %s", op.Err)
	require.NoError(t, c.Resume("r1"))
	require.NoError(t, c.Kill("r1"))
	require.Equal(t, harness.Fail, acquire("k").Outcome)
}
