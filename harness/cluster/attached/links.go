package attached

import (
	"context"
	"fmt"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster/fabric"
)

// This file has the methods by which nemeses act on links and see that a fault acts.

// Impair does a link fault to links of client groups, as [fabric.Impair] says. heal undoes it, may be called more than once, and is
// never nil. Of several faults on one link each acts until it is undone. A link that does not lead from a client group to a node is
// an error, and nothing is done: it is not ours.
func (c *Clients) Impair(links []harness.Link, f harness.LinkFault) (heal func() error, err error) {
	on := make([]*fabric.Link, len(links))
	for i, l := range links {
		if _, _, err := c.ends(l.From, l.To); err != nil {
			return func() error { return nil }, err
		}
		on[i] = c.fabric.Link(l.From, l.To)
	}
	if heal, err = fabric.Impair(on, f); err != nil {
		err = fmt.Errorf("attached: %w", err)
	}
	return heal, err
}

// Touched returns what faults have touched so far on the link. Connections by which we look at a link (Probe, Echo, Hangup) are not
// counted.
func (c *Clients) Touched(l harness.Link) harness.Touched {
	return c.fabric.Link(l.From, l.To).Touched()
}

// Probe pings the node over the fabric, as [Prober.Probe] does, on a new connection of the client group from.
func (c *Clients) Probe(ctx context.Context, from, to string) error {
	p, err := c.prober(from, to)
	if err != nil {
		return err
	}
	return p.Probe(ctx)
}

// Echo sends bytes to the node and back, as [Prober.Echo] does, on a new connection of the client group from.
func (c *Clients) Echo(ctx context.Context, from, to string, size int) error {
	p, err := c.prober(from, to)
	if err != nil {
		return err
	}
	return p.Echo(ctx, size)
}

// Hangup closes a connection from its near end, as [Prober.Hangup] does, a new one of the client group from.
func (c *Clients) Hangup(ctx context.Context, from, to string) error {
	p, err := c.prober(from, to)
	if err != nil {
		return err
	}
	return p.Hangup(ctx)
}

// prober returns what looks at a link of ours.
func (c *Clients) prober(from, to string) (Prober, error) {
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
