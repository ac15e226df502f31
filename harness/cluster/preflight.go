package cluster

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
)

// Preflight checks that this machine can run a cluster of one master with these options. It starts nothing, but fetches
// a platform's image if that is missing. It returns the name of what nodes would run from: the redis-server binary, or
// something of the platform such as an image. The error wraps ErrNoRedis, ErrLimit with every limit that is too low, or
// an error of the platform.
func (o Options) Preflight() (found string, err error) {
	g, err := o.preflight(context.Background(), 1, slog.New(slog.DiscardHandler))
	if g.site != nil {
		return g.site.String(), err
	}
	return g.binary, err
}

// Preflight does what Options.Preflight does, for the cluster's options and topology. It returns the limits that are
// short but do not prevent a start.
func (c *Cluster) Preflight() (warnings []Check, err error) {
	g, err := c.opts.preflight(context.Background(), c.topology.primaries, slog.New(slog.DiscardHandler))
	return g.warnings, err
}

// nodeHosts holds what preflight finds for nodes to run on.
type nodeHosts struct {
	binary string // redis-server binary, if nodes are processes
	site   Site   // nil: nodes are processes

	warnings []Check // limits that are too low but do not prevent a start
}

func (o Options) preflight(ctx context.Context, masters int, log *slog.Logger) (g nodeHosts, err error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return g, err
	}
	if o.Platform != nil {
		g.site, err = o.Platform.Find(ctx, log)
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
