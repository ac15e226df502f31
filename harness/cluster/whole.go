package cluster

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// AwaitWhole returns when one node is primary, every replica is online with it, and all Sentinels agree on it and see
// nobody down.
func (c *Cluster) AwaitWhole(ctx context.Context) error {
	return await(ctx, 20*time.Millisecond, func() error { return c.whole(ctx) })
}

func (c *Cluster) whole(ctx context.Context) error {
	var primary *node
	for _, n := range c.redis {
		role, err := n.role(ctx)
		if err != nil {
			return fmt.Errorf("%s does not answer: %w", n.name, err)
		}
		if role != rolePrimary {
			continue
		}
		if primary != nil {
			return fmt.Errorf("both %s and %s are primary", primary.name, n.name)
		}
		primary = n
	}
	if primary == nil {
		return fmt.Errorf("no primary")
	}
	if err := c.replicating(ctx, primary); err != nil {
		return err
	}
	for _, s := range c.guards {
		if err := c.content(ctx, s, primary); err != nil {
			return fmt.Errorf("sentinel %s: %w", s.name, err)
		}
	}
	return nil
}

// replicating checks that every replica is online with the primary.
func (c *Cluster) replicating(ctx context.Context, primary *node) error {
	info, err := primary.admin.Info(ctx, "replication").Result()
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", primary.name, err)
	}
	if n := strings.Count(info, "state=online"); n != c.topology.replicas {
		return fmt.Errorf("%d of %d replicas online with %s", n, c.topology.replicas, primary.name)
	}
	return nil
}

// content checks that the Sentinel s takes primary for the primary and sees everybody up.
func (c *Cluster) content(ctx context.Context, s, primary *node) error {
	m, err := s.guard.Master(ctx, masterName).Result()
	if err != nil {
		return err
	}
	want := map[string]string{
		"ip": primary.announcedIP, "flags": "master",
		"num-slaves": strconv.Itoa(c.topology.replicas), "num-other-sentinels": strconv.Itoa(c.topology.sentinels - 1),
	}
	for field, value := range want {
		if m[field] != value {
			return fmt.Errorf("its primary has %s %q, want %q", field, m[field], value)
		}
	}
	replicas, err := s.guard.Replicas(ctx, masterName).Result()
	if err != nil {
		return err
	}
	for _, r := range replicas {
		if r["flags"] != "slave" || r["master-host"] != primary.announcedIP {
			return fmt.Errorf("its replica %s is %q of %q", r["ip"], r["flags"], r["master-host"])
		}
	}
	return nil
}

const rolePrimary = "master" // Redis's own word

// role asks the node itself, past the fabric.
func (n *node) role(ctx context.Context) (string, error) {
	reply, err := n.admin.Do(ctx, "ROLE").Slice()
	if err != nil {
		return "", err
	}
	if len(reply) == 0 {
		return "", fmt.Errorf("empty reply to ROLE")
	}
	return fmt.Sprint(reply[0]), nil
}
