package nemesis

import (
	"context"
	"errors"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
)

// ClientLinks are the links of clients that run in other processes than the cluster.
type ClientLinks interface {
	Impairable
	Prober
	// Touched returns what faults have touched so far on the link, without the harness's own probes.
	Touched(l harness.Link) harness.Touched
	// Connections returns how many connections the client groups have to the node.
	Connections(node string) int
}

// WithClientsElsewhere returns the cluster as faults see it when its clients run in other processes: what concerns links of client groups
// goes there.
func WithClientsElsewhere(c Cluster, links ClientLinks) Cluster {
	return elsewhere{Cluster: c, links: links}
}

type elsewhere struct {
	Cluster
	links ClientLinks
}

func (e elsewhere) isGroup(host string) bool { return slices.Contains(e.ClientGroups(), host) }

// Impair does the fault to the links of clients first, and then to the others.
func (e elsewhere) Impair(links []harness.Link, f harness.LinkFault) (heal func() error, err error) {
	var theirs, ours []harness.Link
	for _, l := range links {
		switch {
		case !e.isGroup(l.From):
			ours = append(ours, l)
		case !e.isGroup(l.To): // clients accept no connections
			theirs = append(theirs, l)
		}
	}
	var heals []func() error
	heal = func() error {
		var errs []error
		for _, h := range heals {
			errs = append(errs, h())
		}
		return errors.Join(errs...)
	}
	for _, part := range []struct {
		links []harness.Link
		of    Impairable
	}{{theirs, e.links}, {ours, e.Cluster}} {
		if len(part.links) == 0 || err != nil {
			continue
		}
		var h func() error
		h, err = part.of.Impair(part.links, f)
		heals = append(heals, h)
	}
	return heal, err
}

func (e elsewhere) Touched(l harness.Link) harness.Touched {
	if e.isGroup(l.From) {
		return e.links.Touched(l)
	}
	return e.Cluster.Touched(l)
}

func (e elsewhere) Connections(node string) int {
	return e.links.Connections(node) + e.Cluster.Connections(node)
}

// prober returns who looks from a host.
func (e elsewhere) prober(from string) Prober {
	if e.isGroup(from) {
		return e.links
	}
	return e.Cluster
}

func (e elsewhere) Probe(ctx context.Context, from, to string) error {
	return e.prober(from).Probe(ctx, from, to)
}

func (e elsewhere) Echo(ctx context.Context, from, to string, size int) error {
	return e.prober(from).Echo(ctx, from, to, size)
}

func (e elsewhere) Hangup(ctx context.Context, from, to string) error {
	return e.prober(from).Hangup(ctx, from, to)
}
