package cluster

import (
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster/clients"
)

const firstClient = 1 // host number of client group 0

// GroupName returns the fabric's name of a client group, counted from 0.
func GroupName(group int) string { return clients.GroupName(group) }

// Connect returns the client of a group, as [clients.Set.Connect] does. It fails if the cluster is not running, or if
// there is no such group.
func (c *Cluster) Connect(group int) (redis.UniversalClient, error) {
	running, err := c.running()
	if err != nil {
		return nil, err
	}
	return running.Connect(group)
}

// ConnectAll returns a group's clients, one for each of several masters, in the order of RedisNodes. In any other
// topology it returns only the client of Connect.
func (c *Cluster) ConnectAll(group int) ([]redis.UniversalClient, error) {
	running, err := c.running()
	if err != nil {
		return nil, err
	}
	return running.ConnectAll(group)
}

// running returns the cluster's clients, or an error if the cluster is not running.
func (c *Cluster) running() (*clients.Set, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped || c.clients == nil {
		return nil, errors.New("cluster: no client connects: the cluster is not running")
	}
	return c.clients, nil
}

// DirectAddress returns the real address of the node to which r leads, for connections that bypass the fabric. Programs
// that connect by themselves use the address while no fault acts on links. r is a client of Connect or ConnectAll. The
// result is empty if r does not belong to this cluster, or if r may switch to another node, as with Sentinels.
func (c *Cluster) DirectAddress(r redis.UniversalClient) string {
	running, err := c.running()
	if err != nil {
		return ""
	}
	return running.DirectAddress(r)
}

// Deployment says where the nodes are, so that another process can make clients of its own with package clients. The
// connections of these clients do not pass through this cluster's fabric. Call Deployment while the cluster runs:
// at other times the nodes are not known.
func (c *Cluster) Deployment() clients.Deployment {
	d := clients.Deployment{Masters: c.topology.primaries}
	for _, n := range c.redis {
		d.Nodes = append(d.Nodes, clients.Node{Name: n.name, Announced: n.announced(), Real: n.real()})
	}
	for _, n := range c.sentinels {
		d.Sentinels = append(d.Sentinels, clients.Node{Name: n.name, Announced: n.announced(), Real: n.real()})
		d.MasterName = masterName
	}
	return d
}

// GroupIP returns the source address of a group's connections.
func (c *Cluster) GroupIP(group int) string { return c.subnet.ip(clientPlane, firstClient+group) }

// LookIP returns the source address from which the harness probes a group's links.
func (c *Cluster) LookIP(group int) string { return c.subnet.ip(lookPlane, firstClient+group) }

// openClients makes the clients of the nodes. With Sentinels, it also reports an event when another node begins to
// answer a group, and when another node begins to acknowledge the group's writes.
func (c *Cluster) openClients(clock harness.Clock, events func(harness.Event)) error {
	ours := c.opts.Clients
	if c.opts.RemoteClients {
		ours = c.Groups()
	}
	o := clients.Options{
		Groups: c.Groups(), Clients: ours, OpTimeout: c.opts.OpTimeout, Retries: c.opts.Retries,
		OwnSentinel: c.opts.OwnSentinel,
		GroupIP:     c.GroupIP, LookIP: c.LookIP,
	}
	if len(c.sentinels) > 0 {
		o.OnServes = func(kind string, group int, node string) {
			events(harness.Event{At: clock.Now(), Node: node, Kind: kind, Detail: GroupName(group)})
		}
	}
	opened, err := clients.OpenOver(c.fabric, c.Deployment(), o)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clients = opened
	return err
}
