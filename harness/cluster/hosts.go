package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
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
	errs := make([]error, len(c.nodes()))
	var making sync.WaitGroup
	for i, n := range c.nodes() {
		making.Go(func() { errs[i] = n.host.Make(ctx) })
	}
	making.Wait()
	for _, err := range errs {
		if err != nil {
			return err // one says it: the others are of the same kind
		}
	}
	return nil
}

// removeHosts removes all that nodes run on. A platform that is gone takes no more time for many hosts than for one.
func (c *Cluster) removeHosts() error {
	errs := make([]error, len(c.nodes()))
	var removing sync.WaitGroup
	for i, n := range c.nodes() {
		if n.host != nil {
			removing.Go(func() { errs[i] = n.host.Remove() })
		}
	}
	removing.Wait()
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
