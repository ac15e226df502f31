package workloads

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
)

// realRedis starts a Redis for the test and returns a client of it.
func realRedis(t *testing.T) (*cluster.Cluster, redis.UniversalClient) {
	t.Helper()
	c := clustertest.Start(t, cluster.Standalone(cluster.Options{}))
	r, err := c.Connect(0)
	require.NoError(t, err)
	return c, r
}

// spy is a hook that is called before a command or a pipeline is sent. If it returns an error, nothing is sent.
type spy func(ctx context.Context, cmds ...redis.Cmder) error

func (spy) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s spy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := s(ctx, cmd); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (s spy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if err := s(ctx, cmds...); err != nil {
			return err
		}
		return next(ctx, cmds)
	}
}

// before returns a hook that calls f ahead of every command of that name. f does what other clients do at that moment,
// or returns an error for a crash.
func before(name string, f func() error) spy {
	return func(_ context.Context, cmds ...redis.Cmder) error {
		if slices.ContainsFunc(cmds, func(c redis.Cmder) bool { return c.Name() == name }) {
			return f()
		}
		return nil
	}
}

// other returns a second client of the same Redis, without the hooks of the first.
func other(t *testing.T, c *cluster.Cluster) redis.UniversalClient {
	t.Helper()
	r, err := c.Connect(1)
	require.NoError(t, err)
	return r
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }
