package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
)

// fault implements harness.Nemesis and harness.Effective for all faults of this package.
type fault struct {
	name    string
	effects harness.Effects
	inject  func(ctx context.Context, rng *rand.Rand) (harness.Injection, error)
}

func (f fault) Name() string { return f.name }

func (f fault) Effects() harness.Effects { return f.effects }

func (f fault) Inject(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
	return f.inject(ctx, rng)
}

// strike does a fault to the nodes that have been chosen for it.
type strike = func(ctx context.Context, chosen targets) (harness.Injection, error)

// ofNodes returns a fault that chooses nodes, Redis nodes or Sentinels, and strikes them.
func ofNodes(name string, e harness.Effects, c nodes, t Target, strike strike) fault {
	return fault{name, e, func(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
		chosen, err := chooseTargets(ctx, c, t, rng)
		if err != nil {
			return harness.Injection{}, err
		}
		return strike(ctx, chosen)
	}}
}

// ofRedisNodes returns a fault that chooses Redis nodes and strikes them. It refuses Sentinels.
func ofRedisNodes(name string, e harness.Effects, c nodes, t Target, strike strike) fault {
	return ofNodes(name, e, c, t, func(ctx context.Context, chosen targets) (harness.Injection, error) {
		for _, host := range chosen.nodes {
			if !slices.Contains(c.RedisNodes(), host) {
				return harness.Injection{}, fmt.Errorf("%s is a Sentinel, and this is a fault of Redis nodes", host)
			}
		}
		return strike(ctx, chosen)
	})
}
