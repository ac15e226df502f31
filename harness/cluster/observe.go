package cluster

import (
	"context"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// rolePollEvery is how often a node is asked for its role: the resolution of "role" events.
const rolePollEvery = 50 * time.Millisecond

// observe reports role changes of Redis nodes and everything that Sentinels publish, until the cluster stops. It looks
// past the fabric, so that no fault blinds it.
func (c *Cluster) observe(clock harness.Clock, events func(harness.Event)) {
	ctx, cancel := context.WithCancel(context.Background())
	c.unobserve = cancel
	for _, n := range c.redis {
		c.observing.Go(func() { n.watchRole(ctx, clock, events) })
	}
	for _, n := range c.guards {
		c.observing.Go(func() { n.watchMessages(ctx, clock, events) })
	}
}

// watchRole reports each change of the node's role; "down" when it does not answer.
func (n *node) watchRole(ctx context.Context, clock harness.Clock, events func(harness.Event)) {
	last := ""
	tick := time.NewTicker(rolePollEvery)
	defer tick.Stop()
	for {
		asking, cancel := context.WithTimeout(ctx, 4*rolePollEvery)
		role, err := n.role(asking)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			role = "down"
		}
		if role != last {
			events(harness.Event{At: clock.Now(), Node: n.name, Kind: "role", Detail: role})
			last = role
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// watchMessages reports what the Sentinel publishes.
func (n *node) watchMessages(ctx context.Context, clock harness.Clock, events func(harness.Event)) {
	sub := n.guard.PSubscribe(ctx, "*")
	defer sub.Close()
	messages := sub.Channel()
	for {
		select {
		case m := <-messages:
			if m != nil {
				events(harness.Event{At: clock.Now(), Node: n.name, Kind: m.Channel, Detail: m.Payload})
			}
		case <-ctx.Done():
			return
		}
	}
}
