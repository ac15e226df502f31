package external

import (
	"context"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// rolesEvery is the time between two requests for a node's role. It is longer than in the harness's own clusters
// because other programs use these nodes.
const rolesEvery = 250 * time.Millisecond

// watchRoles reports each change of the role of s.nodes.nodes[node]. The role of a node that does not answer is "down".
func (s *System) watchRoles(ctx context.Context, node int, clock harness.Clock, events func(harness.Event)) {
	last, name := "", s.nodes.nodes[node].Name
	tick := time.NewTicker(rolesEvery)
	defer tick.Stop()
	events(harness.Event{At: clock.Now(), Node: name, Kind: harness.EventRolesEvery, Detail: rolesEvery.String()})
	for {
		asked := clock.Now()
		role := s.roleOf(ctx, node)
		if ctx.Err() != nil {
			return
		}
		if role != last {
			events(harness.Event{At: asked, Node: name, Kind: harness.EventRole, Detail: role})
			last = role
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// roleOf returns the role of s.nodes.nodes[node], as package harness names it.
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
