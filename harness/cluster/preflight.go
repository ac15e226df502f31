package cluster

import (
	"cmp"
	"context"
	"fmt"
)

// Preflight starts nothing; it fails when this machine cannot carry what a cluster of one master with these options needs:
// ErrNoRedis, ErrNoDocker or ErrLimit, which names every limit that is short. It returns the redis-server binary that would be
// used or, OnDocker, the image, which it fetches if it is not here.
func (o Options) Preflight() (found string, err error) {
	g, err := o.preflight(context.Background(), 1)
	return cmp.Or(g.binary, g.image), err
}

// Preflight is that of the cluster's options and topology. It returns the limits that are short and stop nothing.
func (c *Cluster) Preflight() (warnings []Check, err error) {
	g, err := c.opts.preflight(context.Background(), c.topology.primaries)
	return g.warnings, err
}

// ground is what nodes stand on.
type ground struct {
	binary string  // OnProcess
	daemon *daemon // OnDocker
	image  string  // OnDocker

	warnings []Check // limits that are short
}

func (o Options) preflight(ctx context.Context, masters int) (g ground, err error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return g, err
	}
	if o.On == OnDocker {
		if g.daemon, err = findDaemon(ctx); err == nil {
			g.image, err = g.daemon.findImage(ctx, o.Image)
		}
	} else {
		g.binary, _, err = FindRedis(o.RedisServer)
	}
	if err != nil {
		return g, fmt.Errorf("cluster: %w", err)
	}
	checks := o.checks(thisMachine(), masters)
	g.warnings = short(checks, false)
	if err := limitError(checks); err != nil {
		return g, err
	}
	return g, cmp.Or(Addresses().Err, TempRoom())
}
