package results

import (
	"context"
	"errors"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/adapter"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/workloads"
)

// CheckAdapter makes an adapter do each of its operations once, on its own Redis, or on several masters if it needs
// them. It calls the function say after each step, with the step's error or nil. It returns the adapter with its
// description, and the first error. The error wraps plan.ErrUsage if the adapter is at fault.
func CheckAdapter(ctx context.Context, c workloads.Adapter, o Options,
	say func(step string, err error)) (workloads.Adapter, error) {
	return onRedis(ctx, c, o, func(servers adapter.Servers) (workloads.Adapter, error) {
		return adapter.Check(ctx, c, servers, say)
	})
}

// DescribeAdapter starts an adapter on its own Redis and makes it do one operation, so that a broken one is reported
// before a run begins. It returns the adapter with its description. The error wraps plan.ErrUsage if the adapter is at
// fault.
func DescribeAdapter(ctx context.Context, c workloads.Adapter, o Options) (workloads.Adapter, error) {
	return onRedis(ctx, c, o, func(servers adapter.Servers) (workloads.Adapter, error) {
		return adapter.Describe(ctx, c, servers)
	})
}

// onRedis calls the function do with a function that starts servers for the adapter. When that function returns,
// onRedis stops the servers. If all servers started, an error of the function wraps plan.ErrUsage, since the adapter is
// at fault.
func onRedis(ctx context.Context, c workloads.Adapter, o Options,
	do func(adapter.Servers) (workloads.Adapter, error)) (workloads.Adapter, error) {
	if _, err := adapter.Variant(c); err != nil {
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
		err = plan.Usagef("adapter %s: %w", c, err)
	}
	for _, s := range running {
		err = errors.Join(err, s.Stop())
	}
	return c, err
}

// described returns an adapter with its description, or nil if c is nil. It starts the adapter to get a missing
// description. An adapter that announces its operations gets none.
func described(ctx context.Context, c *workloads.Adapter, o Options) (*workloads.Adapter, error) {
	if c == nil || len(c.Can) > 0 || c.Announces {
		return c, nil
	}
	result, err := DescribeAdapter(ctx, *c, o)
	return &result, err
}
