package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// rolePollEvery is the interval between two questions to a node for its role, hence the resolution of "role" events.
const rolePollEvery = 20 * time.Millisecond

// roleWithin is the time after which a node that has not answered counts as down.
const roleWithin = 200 * time.Millisecond

// observe reports the roles of Redis nodes and all messages of Sentinels (observe_sentinels.go) until the cluster
// stops. With Sentinels it also reports which nodes accept writes. It connects past the fabric, so that no fault
// affects it.
func (c *Cluster) observe(clock harness.Clock, events func(harness.Event)) {
	ctx, cancel := context.WithCancel(context.Background())
	c.unobserve = cancel
	for _, n := range c.redis {
		c.observing.Go(func() { n.watchRole(ctx, clock, events) })
	}
	for _, n := range c.sentinels {
		events(harness.Event{At: clock.Now(), Node: n.name, Kind: harness.EventDownAfter,
			Detail: c.opts.DownAfter.String()})
		c.observing.Go(func() { n.watchMessages(ctx, clock, events) })
	}
	if len(c.sentinels) == 0 {
		return // the primary does not move
	}
	for _, n := range c.redis {
		events(harness.Event{At: clock.Now(), Node: n.name, Kind: harness.EventAddress,
			Detail: fmt.Sprintf("%s %d", n.announcedIP, n.port)})
		c.observing.Go(func() { n.watchWrites(ctx, clock, events, c.clients.MarkUnwritable) })
	}
}

// watchRole reports each change of the node's role, and of the primary that a replica follows. It also reports the
// node's offset in the replication stream when the node was promoted, or stopped being a primary. The role of a node
// that does not answer is "down".
func (n *node) watchRole(ctx context.Context, clock harness.Clock, events func(harness.Event)) {
	last, lastFollowed, lastOffset := "", "", int64(0)
	lastAnswered := "" // unlike last never "down": a Sentinel ends all connections with a promotion, ours too
	needsOffset := false
	report := func(at time.Duration, kind, detail string) {
		events(harness.Event{At: at, Node: n.name, Kind: kind, Detail: detail})
	}
	tick := time.NewTicker(rolePollEvery)
	defer tick.Stop()
	for {
		asked := clock.Now() // the answer may be read late, after a later role was reported
		asking, cancel := context.WithTimeout(ctx, roleWithin)
		answer, err := n.askRole(asking)
		if err == nil {
			promoted := answer.role == harness.RolePrimary && lastAnswered == harness.RoleReplica
			needsOffset = promoted || needsOffset && answer.role == harness.RolePrimary
		}
		if needsOffset && err == nil {
			if offset, err := n.promotionOffset(asking); err == nil { // else it is asked again
				report(asked, harness.EventOffset, fmt.Sprint(offset))
				needsOffset = false
			}
		}
		cancel()
		if ctx.Err() != nil {
			return
		}
		role, followed := answer.role, answer.follows
		if err != nil {
			role, followed = harness.RoleDown, lastFollowed
		}
		if role != last {
			if last == harness.RolePrimary {
				report(asked, harness.EventOffset, fmt.Sprint(lastOffset))
			}
			report(asked, harness.EventRole, role)
			last = role
		}
		if lastOffset = answer.offset; err == nil {
			lastAnswered = answer.role
		}
		if followed != lastFollowed && followed != "" {
			report(asked, harness.EventFollows, followed)
		}
		lastFollowed = followed
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
