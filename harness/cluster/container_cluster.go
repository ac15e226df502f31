package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// This file is what a cluster does with all of its hosts at once, and with what other clusters left.

// makeContainers makes the containers of all nodes at once, which saves some time.
func (c *Cluster) makeContainers(ctx context.Context) error {
	errs := make([]error, len(c.nodes()))
	var making sync.WaitGroup
	for i, n := range c.nodes() {
		if h, ok := n.host.(*contained); ok {
			making.Go(func() { errs[i] = h.create(ctx) })
		}
	}
	making.Wait()
	for _, err := range errs {
		if err != nil {
			return err // one says it: the others are of the same kind
		}
	}
	return nil
}

// removeHosts removes all that nodes run on. A daemon that is gone takes no more time for many containers than for one.
func (c *Cluster) removeHosts() error {
	errs := make([]error, len(c.nodes()))
	var removing sync.WaitGroup
	for i, n := range c.nodes() {
		if n.host != nil {
			removing.Go(func() { errs[i] = n.host.remove() })
		}
	}
	removing.Wait()
	if c.opts.On != OnDocker || c.folder == nil {
		return errors.Join(errs...)
	}
	return c.removeContainers(errs)
}

// removeContainers removes containers that were still being made when a start gave up. errs are those of the hosts.
func (c *Cluster) removeContainers(errs []error) error {
	ctx, cancel := context.WithTimeout(context.Background(), findWithin)
	defer cancel()
	err := c.daemon.removeContainers(ctx, c.dir, 0)
	if err == nil {
		return nil // whatever was in the way of single ones
	}
	for _, one := range errs {
		if one != nil {
			err = one
			break
		}
	}
	return fmt.Errorf("%w (containers may be left: once Docker is back, doublegrant doctor --clean removes them)", err)
}

// removeFolder removes the cluster's folder. Unless its containers are gone as well, the watchdog tries them again when
// this process ends.
func (c *Cluster) removeFolder(containersGone bool) error {
	if c.folder == nil {
		return nil
	}
	err := c.folder.remove(context.Background())
	if containersGone && err == nil {
		theWatchdog.forget(c.folder.path)
	}
	return err
}

// watched is what the watchdog has to know of the cluster.
func (c *Cluster) watched() string {
	if c.opts.On == OnDocker {
		return watchContainers
	}
	return watchProcesses
}

// removeOrphans removes what harnesses left that were killed together with their watchdog. Addresses of orphaned
// containers would be in this cluster's way. What cannot be removed is for doctor to say.
func (c *Cluster) removeOrphans(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, findWithin)
	defer cancel()
	began := time.Now()
	removed, err := removeOrphans(ctx, c.daemon, c.subnet)
	if len(removed) > 0 || err != nil {
		c.log.Info("orphans of earlier runs removed", "removed", len(removed), "took", time.Since(began), "error", err)
	}
}
