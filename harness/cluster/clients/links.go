package clients

import (
	"context"
	"fmt"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster/fabric"
)

// This file has the methods with which nemeses act on links and check that a fault acts.

// FabricLinks acts on the links of a fabric. It implements all methods of harness.LinkControl except Connections.
// NewFabricLinks makes it.
type FabricLinks struct {
	fabric *fabric.Fabric
	owner  string
	prober func(from, to string) (Prober, error)
}

// NewFabricLinks returns the FabricLinks of f. The text of errors begins with the parameter owner, such as "cluster".
// The function prober returns a Prober for a link, or an error if there is no such link.
func NewFabricLinks(f *fabric.Fabric, owner string, prober func(from, to string) (Prober, error)) FabricLinks {
	return FabricLinks{f, owner, prober}
}

// Impair applies a link fault to the links, as [fabric.Impair] does. heal removes the fault, may be called more than
// once, and is never nil. Several faults on one link all act until each is healed.
func (c FabricLinks) Impair(links []harness.Link, f harness.LinkFault) (heal func() error, err error) {
	on := make([]*fabric.Link, len(links))
	for i, l := range links {
		on[i] = c.fabric.Link(l.From, l.To)
	}
	if heal, err = fabric.Impair(on, f); err != nil {
		err = fmt.Errorf("%s: %w", c.owner, err)
	}
	return heal, err
}

// Touched returns how much traffic on the link faults have affected so far. Connections of Probe, Echo and Hangup do
// not count.
func (c FabricLinks) Touched(l harness.Link) harness.Touched {
	return c.fabric.Link(l.From, l.To).Touched()
}

// Probe pings a node over the fabric, in a new connection from another host: see [Prober.Probe].
func (c FabricLinks) Probe(ctx context.Context, from, to string) error {
	return c.onLink(from, to, func(p Prober) error { return p.Probe(ctx) })
}

// Echo makes a node send the given number of bytes back, in a new connection from another host: see [Prober.Echo].
func (c FabricLinks) Echo(ctx context.Context, from, to string, size int) error {
	return c.onLink(from, to, func(p Prober) error { return p.Echo(ctx, size) })
}

// Hangup opens a connection from a host to a node and closes it: see [Prober.Hangup].
func (c FabricLinks) Hangup(ctx context.Context, from, to string) error {
	return c.onLink(from, to, func(p Prober) error { return p.Hangup(ctx) })
}

func (c FabricLinks) onLink(from, to string, do func(Prober) error) error {
	p, err := c.prober(from, to)
	if err != nil {
		return err
	}
	return do(p)
}

// fabricLinks lets Set embed FabricLinks without an exported field.
type fabricLinks = FabricLinks

var _ harness.LinkControl = (*Set)(nil)

// Impair applies a link fault to links of client groups, as [FabricLinks.Impair] does. If any link does not lead from a
// client group to a node, it does nothing and returns an error.
func (c *Set) Impair(links []harness.Link, f harness.LinkFault) (heal func() error, err error) {
	for _, l := range links {
		if _, _, err := c.resolve(l.From, l.To); err != nil {
			return func() error { return nil }, err
		}
	}
	return c.fabricLinks.Impair(links, f)
}

// proberOf returns the Prober of a link from a client group to a node.
func (c *Set) proberOf(from, to string) (Prober, error) {
	group, p, err := c.resolve(from, to)
	if err != nil {
		return Prober{}, err
	}
	prober := Prober{
		From: from, To: to, Addr: p.addr, Dial: c.probeDialer(group),
		Username: c.deployment.Username, Password: c.deployment.Password,
	}
	if p.sentinel {
		prober.Username, prober.Password = c.deployment.SentinelUsername, c.deployment.SentinelPassword
	}
	return prober, nil
}

// resolve returns the client group and the node of a link.
func (c *Set) resolve(from, to string) (group int, p *knownNode, err error) {
	if group = slices.Index(c.ClientGroups(), from); group < 0 {
		return 0, nil, fmt.Errorf("clients: no client group %q: there are %v", from, c.ClientGroups())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.nodes {
		if p.name == to {
			return group, p, nil
		}
	}
	return 0, nil, fmt.Errorf("clients: no node %q is known", to)
}
