package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/doublegrant/doublegrant/harness/await"
)

// This file is what a cluster does with all of its hosts at once, and with what other clusters left.

// newHost makes what the node runs on.
func (c *Cluster) newHost(n *node) Host {
	if c.site == nil {
		return c.newProcess(n, n.env)
	}
	return c.site.NewHost(HostOptions{
		Name: n.name, Args: n.arguments(), Env: n.env, Log: n.logPath, Files: c.opts.redisFiles(thisMachine()),
		Owner: Owner{Folder: c.dir, Subnet: c.subnet.label(), Process: processMark(os.Getpid())},
	})
}

// makeHosts makes the hosts of all nodes at once, which saves some time.
func (c *Cluster) makeHosts(ctx context.Context) error {
	nodes := c.nodes()
	return cmp.Or(await.All(len(nodes), func(i int) error { return nodes[i].host.Make(ctx) })...) // one says it: the others are of the same kind
}

// removeHosts removes all that nodes run on. A platform that is gone takes no more time for many hosts than for one.
func (c *Cluster) removeHosts() error {
	nodes := c.nodes()
	errs := await.All(len(nodes), func(i int) error {
		if nodes[i].host == nil {
			return nil
		}
		return nodes[i].host.Remove()
	})
	if c.site == nil || c.folder == nil {
		return errors.Join(errs...)
	}
	return c.removeRest(errs)
}

// removeRest removes hosts that were still being made when a start gave up. errs are those of the hosts.
func (c *Cluster) removeRest(errs []error) error {
	err := c.site.RemoveAll(context.Background(), c.dir)
	if err == nil { // whatever was in the way of single ones
		if c.forget != nil {
			c.forget()
		}
		return nil
	}
	for _, one := range errs {
		if one != nil {
			err = one
			break
		}
	}
	return fmt.Errorf("%w (containers may be left: once %s is back, doublegrant doctor --clean removes them)", err, c.opts.On)
}

// removeOrphans removes what harnesses left that were killed together with their watchdogs. Addresses of orphaned
// containers would be in this cluster's way. What cannot be removed is for doctor to say.
func (c *Cluster) removeOrphans(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, removeWithin)
	defer cancel()
	began := time.Now()
	removed, err := removeOrphans(ctx, c.sites(), c.subnet)
	if len(removed) > 0 || err != nil {
		c.log.Info("orphans of earlier runs removed", "removed", len(removed), "took", time.Since(began), "error", err)
	}
}

// sites are those of which orphans may be in the cluster's way.
func (c *Cluster) sites() []Site {
	if c.site == nil {
		return nil
	}
	return []Site{c.site}
}
