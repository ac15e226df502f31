package cluster

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
)

// Preflight checks that this machine can carry a cluster of one master with these options. It starts nothing. It
// returns the redis-server binary that would be used or, on a platform, what nodes would run from, such as an image,
// which it fetches if it is not here. The error wraps ErrNoRedis or ErrLimit, which names every limit that is short, or
// is one of the platform.
func (o Options) Preflight() (found string, err error) {
	g, err := o.preflight(context.Background(), 1, slog.New(slog.DiscardHandler))
	if g.site != nil {
		return g.site.String(), err
	}
	return g.binary, err
}

// Preflight does what Options.Preflight does for the cluster's options and topology. It returns the limits that are
// short but do not keep the cluster from starting.
func (c *Cluster) Preflight() (warnings []Check, err error) {
	g, err := c.opts.preflight(context.Background(), c.topology.primaries, slog.New(slog.DiscardHandler))
	return g.warnings, err
}

// nodeHosts holds what preflight finds for the nodes to run on.
type nodeHosts struct {
	binary string // redis-server binary, if nodes are processes
	site   Site   // nil: nodes are processes

	warnings []Check // limits that are short but stop nothing
}

func (o Options) preflight(ctx context.Context, masters int, log *slog.Logger) (g nodeHosts, err error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return g, err
	}
	if o.On != nil {
		g.site, err = o.On.Find(ctx, log)
	} else {
		g.binary, _, err = FindRedis(o.RedisServer)
	}
	if err != nil {
		return g, fmt.Errorf("cluster: %w", err)
	}
	checks := o.checks(thisMachine(), masters)
	g.warnings = shortChecks(checks, false)
	if err := limitError(checks); err != nil {
		return g, err
	}
	return g, cmp.Or(Addresses().Err, TempRoom())
}
