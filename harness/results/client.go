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

// CheckClient asks an adapter for everything once, on its own Redis, or on as many masters as it needs. It calls say
// for each step, with the error or nil. It returns the client with the adapter's description, and the first error. The
// error wraps plan.ErrUsage if the adapter is at fault.
func CheckClient(ctx context.Context, c workloads.Client, o Options,
	say func(step string, wrong error)) (workloads.Client, error) {
	return onRedis(ctx, c, o, func(servers outside.Servers) (workloads.Client,
		error) {
		return outside.Check(ctx, c, servers, say)
	})
}

// DescribeClient starts an adapter on its own Redis and makes it do one operation, so that a broken one is reported
// before a run begins. It returns the client with the adapter's description. The error wraps plan.ErrUsage if the
// adapter is at fault.
func DescribeClient(ctx context.Context, c workloads.Client, o Options) (workloads.Client, error) {
	return onRedis(ctx, c, o, func(servers outside.Servers) (workloads.Client,
		error) {
		return outside.Describe(ctx, c, servers)
	})
}

// onRedis starts the servers that do asks for, runs do with an adapter, and stops the servers.
func onRedis(ctx context.Context, c workloads.Client, o Options,
	do func(outside.Servers) (workloads.Client, error)) (workloads.Client, error) {
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
		if failed = s.Start(ctx, harness.NewClock(), func(harness.Event) {},
			slog.New(slog.DiscardHandler)); failed != nil {
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

// described returns a client with its adapter's description. It asks the adapter unless it has been asked before.
// Without a client it returns nil.
func described(ctx context.Context, c *workloads.Client, o Options) (*workloads.Client, error) {
	if c == nil || len(c.Can) > 0 || c.Announces {
		return c, nil
	}
	result, err := DescribeClient(ctx, *c, o)
	return &result, err
}
