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

// spy is a hook that is called with the names of all commands that are sent at once, before they are. They are not sent
// if it returns an error.
type spy func(ctx context.Context, names ...string) error

func (spy) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s spy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := s(ctx, cmd.Name()); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (s spy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		var names []string
		for _, c := range cmds {
			names = append(names, c.Name())
		}
		if err := s(ctx, names...); err != nil {
			return err
		}
		return next(ctx, cmds)
	}
}

// beforeEXEC runs f ahead of every transaction.
func beforeEXEC(f func()) spy {
	return func(_ context.Context, names ...string) error {
		if slices.Contains(names, "exec") {
			f()
		}
		return nil
	}
}

func TestWatchMultiIsRefusedWhenTheKeyIsTouchedBeforeEXEC(t *testing.T) {
	c, r := realRedis(t)
	o := other(t, c)
	r.AddHook(beforeEXEC(func() { require.NoError(t, o.Set(t.Context(), "k", "b", time.Minute).Err()) }))
	require.False(t, acquired(t, newWatchMulti(r), "k", "a"))
	require.Equal(t, "b", r.Get(t.Context(), "k").Val())
}

// traced makes the client of a workload, whose commands are traced.
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
	r.AddHook(spy(func(ctx context.Context, names ...string) error {
		require.NotNil(t, ctx.Value(attemptKey{}), "%s is not traced", names)
		seen = append(seen, names...)
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
	r.AddHook(beforeEXEC(func() { require.NoError(t, c.Pause(t.Context(), "r1")) }))
	op := acquire("k")
	require.Equal(t, harness.Info, op.Outcome, "EXEC waits in the server's socket: %s", op.Err)
	require.NoError(t, c.Resume("r1"))
	require.NoError(t, c.Kill("r1"))
	require.Equal(t, harness.Fail, acquire("k").Outcome)
}
