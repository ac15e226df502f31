package external

import (
	"context"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// rolesEvery is the time between two questions to a node for its role. It is longer than in a cluster of our own: others use the nodes.
const rolesEvery = 250 * time.Millisecond

// watchRoles reports each change of a node's role. The role of a node that does not answer is "down"; one that does not tell is left out.
func (s *System) watchRoles(ctx context.Context, clock harness.Clock, events func(harness.Event)) {
	last := make([]string, len(s.nodes.nodes))
	tick := time.NewTicker(rolesEvery)
	defer tick.Stop()
	for {
		for i, n := range s.nodes.nodes {
			role := s.roleOf(ctx, i)
			if ctx.Err() != nil {
				return
			}
			if role != last[i] {
				events(harness.Event{At: clock.Now(), Node: n.Name, Kind: harness.EventRole, Detail: role})
				last[i] = role
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// roleOf returns the role of the Redis node of that number, in the words of harness.
func (s *System) roleOf(ctx context.Context, node int) string {
	g, err := s.nodes.hello(ctx, node)
	switch {
	case err != nil:
		return harness.RoleDown
	case g.role == "replica":
		return harness.RoleReplica
	}
	return g.role
}
