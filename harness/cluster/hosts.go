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

// This file makes and removes the hosts of a cluster, and removes what dead clusters have left behind.

func (c *Cluster) newHost(n *node) Host {
	o := HostOptions{
		Name: n.name, Args: n.arguments(), Env: n.env, Log: n.logPath, Files: c.opts.redisFiles(thisMachine()),
		Owner: Owner{Folder: c.dir, Subnet: c.subnet.label(), Process: processMark(os.Getpid())},
	}
	if c.site == nil {
		return &process{HostOptions: o, binary: c.binary}
	}
	return c.site.NewHost(o)
}

// makeHosts makes the hosts of all nodes at once, to save time.
func (c *Cluster) makeHosts(ctx context.Context) error {
	nodes := c.nodes()
	// One error is enough: the others are of the same kind.
	return cmp.Or(await.All(len(nodes), func(i int) error { return nodes[i].host.Make(ctx) })...)
}

// removeHosts removes the hosts of all nodes concurrently, so that a platform that does not answer costs its timeout
// only once.
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
	return c.removeUnfinishedHosts(errs)
}

// removeUnfinishedHosts removes all hosts that remain: those whose removal failed, and those that were still being made
// when a start gave up. The errors of the removals so far, errs, do not matter if no host remains in the end.
func (c *Cluster) removeUnfinishedHosts(errs []error) error {
	err := c.site.RemoveAll(context.Background(), c.dir)
	if err == nil { // all are gone, so errs do not matter
		if c.unwatch != nil {
			c.unwatch()
		}
		return nil
	}
	return fmt.Errorf("%w (containers may be left: once %s is back, doublegrant doctor --clean removes them)",
		cmp.Or(append(errs, err)...), c.opts.Platform)
}

// removeOrphans removes what was left behind by harnesses that were killed together with their watchdogs. Orphaned
// containers could occupy this cluster's addresses. Errors are only logged: the command doctor reports what remains.
func (c *Cluster) removeOrphans(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, removeWithin)
	defer cancel()
	began := time.Now()
	removed, err := removeOrphans(ctx, c.sites(), c.subnet)
	if len(removed) > 0 || err != nil {
		c.log.Info("orphans of earlier runs removed", "removed", len(removed), "took", time.Since(began), "error", err)
	}
}

// sites returns the cluster's site, where orphans may occupy the cluster's addresses. It is empty if nodes are
// processes.
func (c *Cluster) sites() []Site {
	if c.site == nil {
		return nil
	}
	return []Site{c.site}
}
