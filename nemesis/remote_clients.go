package nemesis

import (
	"context"
	"errors"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
)

// WithRemoteClients returns the cluster as faults see it when its clients run in other processes. Links on which client
// groups open connections are controlled by the parameter links, and all other links by c.
func WithRemoteClients(c Cluster, links harness.LinkControl) Cluster {
	return remoteClients{Cluster: c, links: links}
}

type remoteClients struct {
	Cluster
	links harness.LinkControl // controls the links on which client groups open connections
}

func (e remoteClients) isGroup(host string) bool { return slices.Contains(e.ClientGroups(), host) }

// Impair applies the fault to the links of client groups first, and then to all other links.
func (e remoteClients) Impair(links []harness.Link, f harness.LinkFault) (heal func() error, err error) {
	var theirs, ours []harness.Link
	for _, l := range links {
		switch {
		case !e.isGroup(l.From):
			ours = append(ours, l)
		case !e.isGroup(l.To): // clients accept no connections
			theirs = append(theirs, l)
		}
	}
	healTheirs, healOurs := func() error { return nil }, func() error { return nil }
	if len(theirs) > 0 {
		healTheirs, err = e.links.Impair(theirs, f)
	}
	if len(ours) > 0 && err == nil {
		healOurs, err = e.Cluster.Impair(ours, f)
	}
	return func() error { return errors.Join(healTheirs(), healOurs()) }, err
}

func (e remoteClients) Connections(node string) int {
	return e.links.Connections(node) + e.Cluster.Connections(node)
}

// linksFrom returns the LinkControl of the links on which a host opens connections.
func (e remoteClients) linksFrom(host string) harness.LinkControl {
	if e.isGroup(host) {
		return e.links
	}
	return e.Cluster
}

func (e remoteClients) Touched(l harness.Link) harness.Touched { return e.linksFrom(l.From).Touched(l) }

func (e remoteClients) Probe(ctx context.Context, from, to string) error {
	return e.linksFrom(from).Probe(ctx, from, to)
}

func (e remoteClients) Echo(ctx context.Context, from, to string, size int) error {
	return e.linksFrom(from).Echo(ctx, from, to, size)
}

func (e remoteClients) Hangup(ctx context.Context, from, to string) error {
	return e.linksFrom(from).Hangup(ctx, from, to)
}
