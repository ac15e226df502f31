package plan

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
)

// beat is a workload whose clients show that they are alive: each adds numbers, and notes the time of its own clock.
type beat struct {
	on     *cluster.Cluster
	groups [clientGroups]pulse
}

// pulse holds what is seen of a client group.
type pulse struct {
	opened atomic.Int64 // clients opened so far
	steps  atomic.Int64
	ahead  atomic.Int64 // by how much the group's clock was last seen ahead of the machine's
}

func (b *beat) Name() string          { return "beat" }
func (b *beat) Kinds() []harness.Kind { return []harness.Kind{harness.Add} }

func (b *beat) Open(_ context.Context, group int) (harness.Client, error) {
	b.groups[group].opened.Add(1)
	all, err := b.on.ConnectAll(group)
	return &beater{all, &b.groups[group]}, err
}

type beater struct {
	masters []redis.UniversalClient
	pulse   *pulse
}

func (c *beater) Step(ctx context.Context, s *harness.Session) {
	key := fmt.Sprintf("beat:%d", s.Rand.IntN(100))
	s.Invoke(harness.Op{Kind: harness.Add, Key: "beat", Arg: key}, func(op *harness.Op) {
		for _, m := range c.masters {
			if harness.Checkpoint(ctx) != nil {
				return
			}
			if m.Set(ctx, key, "v", time.Minute).Err() == nil {
				op.Outcome = harness.OK
			}
			if harness.Checkpoint(ctx) != nil {
				return
			}
		}
	})
	c.pulse.ahead.Store(int64(time.Until(harness.Now(ctx))))
	c.pulse.steps.Add(1)
}
