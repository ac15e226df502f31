package attached

import (
	"context"
	"fmt"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster/fabric"
)

// This file has the methods by which nemeses act on links and see that a fault acts.

// FabricLinks acts on the links of a fabric: it has all of harness.LinkControl but Connections. NewFabricLinks makes
// it.
type FabricLinks struct {
	fabric *fabric.Fabric
	owner  string
	prober func(from, to string) (Prober, error)
}

// NewFabricLinks returns what acts on the links of f. Errors begin with owner, such as "cluster". prober returns what
// looks at a link, or an error if there is no such link.
func NewFabricLinks(f *fabric.Fabric, owner string, prober func(from, to string) (Prober, error)) FabricLinks {
	return FabricLinks{f, owner, prober}
}

// Impair does a link fault to the links, as [fabric.Impair] says. heal undoes it, may be called more than once, and is
// never nil. Of several faults on one link each acts until it is undone.
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

// Touched returns what faults have touched so far on the link. The connections of Probe, Echo and Hangup are not
// counted.
func (c FabricLinks) Touched(l harness.Link) harness.Touched {
	return c.fabric.Link(l.From, l.To).Touched()
}

// Probe pings the node to over the fabric, as [Prober.Probe] does, in a new connection that comes from the host from.
func (c FabricLinks) Probe(ctx context.Context, from, to string) error {
	p, err := c.prober(from, to)
	if err != nil {
		return err
	}
	return p.Probe(ctx)
}

// Echo has the node to send size bytes back, as [Prober.Echo] does, in a new connection that comes from the host from.
func (c FabricLinks) Echo(ctx context.Context, from, to string, size int) error {
	p, err := c.prober(from, to)
	if err != nil {
		return err
	}
	return p.Echo(ctx, size)
}

// Hangup closes a new connection of the host from to the node to, as [Prober.Hangup] does.
func (c FabricLinks) Hangup(ctx context.Context, from, to string) error {
	p, err := c.prober(from, to)
	if err != nil {
		return err
	}
	return p.Hangup(ctx)
}

// fabricLinks is embedded under a name that is not exported.
type fabricLinks = FabricLinks

var _ harness.LinkControl = (*Clients)(nil)

// Impair does a link fault to links of client groups, as [FabricLinks.Impair] does. A link that does not lead from a
// client group to a node is an error, and nothing is done: it is not ours.
func (c *Clients) Impair(links []harness.Link, f harness.LinkFault) (heal func() error, err error) {
	for _, l := range links {
		if _, _, err := c.ends(l.From, l.To); err != nil {
			return func() error { return nil }, err
		}
	}
	return c.fabricLinks.Impair(links, f)
}

// proberOf returns what looks at a link of ours.
func (c *Clients) proberOf(from, to string) (Prober, error) {
	group, p, err := c.ends(from, to)
	if err != nil {
		return Prober{}, err
	}
	look := Prober{
		From: from, To: to, Addr: p.announced, Dial: c.lookDialer(group),
		Username: c.deployment.Username, Password: c.deployment.Password,
	}
	if p.sentinel {
		look.Username, look.Password = c.deployment.SentinelUsername, c.deployment.SentinelPassword
	}
	return look, nil
}

// ends returns both ends of a link of ours.
func (c *Clients) ends(from, to string) (group int, p *place, err error) {
	if group = slices.Index(c.ClientGroups(), from); group < 0 {
		return 0, nil, fmt.Errorf("attached: no client group %q: there are %v", from, c.ClientGroups())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.nodes {
		if p.name == to {
			return group, p, nil
		}
	}
	return 0, nil, fmt.Errorf("attached: no node %q is known", to)
}
