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

// CheckClient asks a program outside for everything once, on a Redis of its own. It calls say for each step, with what is wrong or nil.
// It returns the client with what its program can do, and the first thing that was wrong. The error wraps plan.ErrUsage if the program
// is at fault.
func CheckClient(ctx context.Context, c workloads.Client, o Options, say func(step string, wrong error)) (workloads.Client, error) {
	return onRedis(ctx, c, o, func(r redis.UniversalClient) (workloads.Client, error) { return outside.Check(ctx, c, r, say) })
}

// DescribeClient starts a program outside on a Redis of its own and lets it do one operation, so that a broken one is reported before a run
// begins. It returns the client with what its program can do. The error wraps plan.ErrUsage if the program is at fault.
func DescribeClient(ctx context.Context, c workloads.Client, o Options) (workloads.Client, error) {
	return onRedis(ctx, c, o, func(r redis.UniversalClient) (workloads.Client, error) { return outside.Describe(ctx, c, r) })
}

// onRedis starts a Redis for something that is done with a client's program.
func onRedis(ctx context.Context, c workloads.Client, o Options, do func(redis.UniversalClient) (workloads.Client, error)) (workloads.Client, error) {
	if _, err := outside.Variant(c); err != nil {
		return c, plan.Usagef("%w", err)
	}
	s := cluster.Standalone(cluster.Options{RedisServer: o.Redis})
	if err := s.Start(ctx, harness.NewClock(), func(harness.Event) {}, slog.New(slog.DiscardHandler)); err != nil {
		return c, err
	}
	r, err := s.Connect(0)
	if err == nil {
		if c, err = do(r); err != nil {
			err = plan.Usagef("client %s: %w", c, err)
		}
	}
	return c, errors.Join(err, s.Stop())
}

// described returns a client with what its program can do. It asks a program that was not asked yet. Of no client it returns nil.
func described(ctx context.Context, c *workloads.Client, o Options) (*workloads.Client, error) {
	if c == nil || len(c.Can) > 0 || c.Announces {
		return c, nil
	}
	known, err := DescribeClient(ctx, *c, o)
	return &known, err
}
