package results

import (
	"context"
	"errors"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/outside"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/workloads"
)

// CheckClient asks a program outside for everything once, on a Redis of its own, or on as many masters as it asks. It calls say for each
// step, with what is wrong or nil. It returns the client with what its program can do, and the first thing that was wrong. The error wraps
// plan.ErrUsage if the program is at fault.
func CheckClient(ctx context.Context, c workloads.Client, o Options, say func(step string, wrong error)) (workloads.Client, error) {
	return onRedis(ctx, c, o, func(servers outside.Servers) (workloads.Client, error) { return outside.Check(ctx, c, servers, say) })
}

// DescribeClient starts a program outside where CheckClient does and lets it do one operation, so that a broken one is reported before a run
// begins. It returns the client with what its program can do. The error wraps plan.ErrUsage if the program is at fault.
func DescribeClient(ctx context.Context, c workloads.Client, o Options) (workloads.Client, error) {
	return onRedis(ctx, c, o, func(servers outside.Servers) (workloads.Client, error) { return outside.Describe(ctx, c, servers) })
}

// onRedis starts what is asked for something that is done with a client's program, and stops it in the end.
func onRedis(ctx context.Context, c workloads.Client, o Options, do func(outside.Servers) (workloads.Client, error)) (workloads.Client, error) {
	if _, err := outside.Variant(c); err != nil {
		return c, plan.Usagef("%w", err)
	}
	var running []*cluster.Cluster
	var failed error // why a Redis did not start
	c, err := do(func(count int, replicated bool) ([]redis.UniversalClient, error) {
		s := cluster.Masters(count, cluster.Options{RedisServer: o.Redis})
		if replicated && count == 1 {
			s = cluster.Replicated(cluster.Options{RedisServer: o.Redis})
		}
		if failed = s.Start(ctx, harness.NewClock(), func(harness.Event) {}, slog.New(slog.DiscardHandler)); failed != nil {
			return nil, failed
		}
		running = append(running, s)
		return s.ConnectAll(0)
	})
	if err != nil && failed == nil {
		err = plan.Usagef("client %s: %w", c, err)
	}
	for _, s := range running {
		err = errors.Join(err, s.Stop())
	}
	return c, err
}

// described returns a client with what its program can do. It asks a program that was not asked yet. Of no client it returns nil.
func described(ctx context.Context, c *workloads.Client, o Options) (*workloads.Client, error) {
	if c == nil || len(c.Can) > 0 || c.Announces {
		return c, nil
	}
	known, err := DescribeClient(ctx, *c, o)
	return &known, err
}
