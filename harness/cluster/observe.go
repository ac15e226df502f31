package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// rolePollEvery is the time between two questions to a node for its role, hence the resolution of "role" events.
const rolePollEvery = 20 * time.Millisecond

// roleWithin is the time after which a node that has not told its role counts as down.
const roleWithin = 200 * time.Millisecond

// observe reports roles of Redis nodes and everything that Sentinels publish (observe_sentinels.go), until the cluster
// stops. Where there are Sentinels it also reports which nodes take writes, and which node acknowledges those of each
// client group. It looks past the fabric, so that no fault blinds it.
func (c *Cluster) observe(clock harness.Clock, events func(harness.Event)) {
	ctx, cancel := context.WithCancel(context.Background())
	c.unobserve = cancel
	for _, n := range c.redis {
		c.observing.Go(func() { n.watchRole(ctx, clock, events) })
	}
	for _, n := range c.sentinels {
		events(harness.Event{At: clock.Now(), Node: n.name, Kind: harness.EventDownAfter, Detail: c.opts.DownAfter.String()})
		c.observing.Go(func() { n.watchMessages(ctx, clock, events) })
	}
	if len(c.sentinels) == 0 {
		return // nobody moves the primary
	}
	for _, n := range c.redis {
		events(harness.Event{At: clock.Now(), Node: n.name, Kind: harness.EventAddress, Detail: fmt.Sprintf("%s %d", n.announcedIP, n.port)})
		c.observing.Go(func() { n.watchWrites(ctx, clock, events, c.clients.Leave) })
	}
}

// watchRole reports each change of the node's role, whom a replica follows, and how far it was in the replication stream
// when it was promoted or ceased to be a primary. The role of a node that does not answer is "down".
func (n *node) watchRole(ctx context.Context, clock harness.Clock, events func(harness.Event)) {
	last, lastFollowed, lastOffset := "", "", int64(0)
	lastTold := "" // unlike last, not "down": a Sentinel ends all connections with a promotion, ours too
	tick := time.NewTicker(rolePollEvery)
	defer tick.Stop()
	for {
		asked := clock.Now() // the answer may be read late, when another has told of a later role
		asking, cancel := context.WithTimeout(ctx, roleWithin)
		told, err := n.tellsRole(asking)
		promoted := err == nil && told.role == harness.RolePrimary && lastTold == harness.RoleReplica
		offset, noOffset := lastOffset, error(nil)
		if promoted {
			offset, noOffset = n.promotedAt(asking)
		}
		cancel()
		if ctx.Err() != nil {
			return
		}
		role, followed := told.role, told.follows
		if err != nil {
			role, followed = harness.RoleDown, lastFollowed
		}
		if role != last {
			if promoted && noOffset == nil || last == harness.RolePrimary {
				events(harness.Event{At: asked, Node: n.name, Kind: harness.EventOffset, Detail: fmt.Sprint(offset)})
			}
			events(harness.Event{At: asked, Node: n.name, Kind: harness.EventRole, Detail: role})
			last = role
		}
		if lastOffset = told.offset; err == nil {
			lastTold = told.role
		}
		if followed != lastFollowed && followed != "" {
			events(harness.Event{At: asked, Node: n.name, Kind: harness.EventFollows, Detail: followed})
		}
		lastFollowed = followed
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
