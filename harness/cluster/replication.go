package cluster

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/await"
)

// This file has the methods for failovers by hand, on a Replicated cluster. Their effect on a node ends with its
// process: after Restart the node has its first role again. Redis sometimes calls a replica slave and a primary master.

// Socket returns the path of the Unix socket on which a Redis node listens. It leads straight to the node, past the
// fabric. The error wraps ErrLimit if the temporary folder's path is too long for a socket.
func (c *Cluster) Socket(name string) (string, error) {
	n, err := c.node(name)
	if err != nil {
		return "", err
	}
	if err := CheckSocket(n.socket()); err != nil {
		return "", err
	}
	return n.socket(), nil
}

// CheckSocket returns an error that wraps ErrLimit if a path is too long for a Unix socket.
func CheckSocket(path string) error {
	if len(path) > maxSocketPath {
		return fmt.Errorf("cluster: %w: %s is longer than the %d bytes of a Unix socket: set TMPDIR to a shorter path",
			ErrLimit, path, maxSocketPath)
	}
	return nil
}

// Promote makes the node a primary, even if it has not received everything from its old primary. From then on Primary
// returns it. The old primary stays a primary as well until it follows another node.
func (c *Cluster) Promote(ctx context.Context, name string) error {
	n, err := c.replicaOf(ctx, name, "NO", "ONE")
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.promoted = n
	return nil
}

// Follow makes the node a replica of another. If Primary returned the node until now, it returns the other node from
// then on.
func (c *Cluster) Follow(ctx context.Context, name, primary string) error {
	p, err := c.node(primary)
	if err != nil {
		return err
	}
	n, err := c.replicaOf(ctx, name, p.announcedIP, strconv.Itoa(p.port))
	if err != nil {
		return err
	}
	c.noteDemotion(n, p)
	return nil
}

// noteDemotion records that a node now follows another.
func (c *Cluster) noteDemotion(n, primary *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.promoted == n {
		c.promoted = primary
	}
}

func (c *Cluster) replicaOf(ctx context.Context, name, host, port string) (*node, error) {
	n, err := c.node(name)
	if err != nil {
		return nil, err
	}
	if err := n.admin.Do(ctx, "REPLICAOF", host, port).Err(); err != nil {
		return nil, fmt.Errorf("cluster: make %s a replica of %s %s: %w", name, host, port, err)
	}
	return n, nil
}

// AwaitReplicas waits until the named replicas follow the primary and no other replica is online with it.
func (c *Cluster) AwaitReplicas(ctx context.Context, primary string, replicas ...string) error {
	p, err := c.node(primary)
	if err != nil {
		return err
	}
	return await.Until(ctx, time.Millisecond, func() error {
		for _, name := range replicas {
			if err := c.followsPrimary(ctx, name, p); err != nil {
				return err
			}
		}
		info, err := p.admin.Info(ctx, "replication").Result()
		if n := strings.Count(info, "state=online"); err == nil && n != len(replicas) {
			err = fmt.Errorf("cluster: %d replicas online with %s, want %v", n, primary, replicas)
		}
		return err
	})
}

// followsPrimary returns nil if the replica itself reports its link to the primary as up. The primary's view is not
// enough: it may not have noticed yet that a replica has left.
func (c *Cluster) followsPrimary(ctx context.Context, name string, primary *node) error {
	n, err := c.node(name)
	if err != nil {
		return fmt.Errorf("%w: %w", await.ErrGaveUp, err)
	}
	info, err := n.admin.Info(ctx, "replication").Result()
	if err != nil {
		return err
	}
	for _, want := range []string{"role:slave", "master_host:" + primary.announcedIP, "master_link_status:up"} {
		if !strings.Contains(info, want+"\r\n") {
			return fmt.Errorf("cluster: %s does not say %s", name, want)
		}
	}
	return nil
}
