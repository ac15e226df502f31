package workloads

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
)

// realRedis starts a Redis for the test and returns a client of it.
func realRedis(t *testing.T) (*cluster.Cluster, redis.UniversalClient) {
	t.Helper()
	c := cluster.Standalone(cluster.Options{})
	clustertest.Start(t, c)
	r, err := c.Connect(0)
	require.NoError(t, err)
	return c, r
}

// before runs f ahead of every command of that name: what other clients do just then, or a crash when it returns an
// error.
type before struct {
	name string
	f    func() error
}

func (before) DialHook(next redis.DialHook) redis.DialHook { return next }
func (before) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (b before) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == b.name {
			if err := b.f(); err != nil {
				cmd.SetErr(err)
				return err
			}
		}
		return next(ctx, cmd)
	}
}

// other returns a second client of the same Redis, without the hooks of the first.
func other(t *testing.T, c *cluster.Cluster) redis.UniversalClient {
	t.Helper()
	r, err := c.Connect(1)
	require.NoError(t, err)
	return r
}
