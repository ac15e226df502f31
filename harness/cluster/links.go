package cluster

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster/clients"
	"github.com/doublegrant/doublegrant/harness/cluster/fabric"
)

// This file has the methods by which nemeses act on links and see that a fault acts.

// fabricLinks lets Cluster embed FabricLinks without an exported field.
type fabricLinks = clients.FabricLinks

var _ harness.LinkControl = (*Cluster)(nil)

// prober returns the Prober of the link from a node or client group to a node.
func (c *Cluster) prober(from, to string) (clients.Prober, error) {
	target, err := c.node(to)
	if err != nil {
		return clients.Prober{}, err
	}
	dial, err := c.dialer(from)
	if err != nil {
		return clients.Prober{}, err
	}
	return clients.Prober{From: from, To: to, Addr: target.announced(), Dial: dial}, nil
}

// dialer returns the dialer for probes of the links of a node or client group, named by the parameter from. It dials as
// that node or group does: a node through the kernel, a client group through [fabric.Fabric.DialFrom]. The source
// address is one of the harness, so that probes do not count as traffic of the node or group.
func (c *Cluster) dialer(from string) (clients.Dialer, error) {
	for g := range c.Groups() {
		if GroupName(g) == from {
			return func(ctx context.Context, _, addr string) (net.Conn, error) {
				return c.fabric.DialFrom(ctx, fabric.Source{Host: from, IP: c.LookIP(g), Uncounted: true}, addr)
			}, nil
		}
	}
	n, err := c.node(from)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(n.probeIP)}}
	return d.DialContext, nil
}

// Suspects reports whether the Sentinel itself, asked past the fabric, believes that the primary is down.
func (c *Cluster) Suspects(ctx context.Context, sentinel string) (bool, error) {
	n, err := c.node(sentinel)
	if err != nil {
		return false, err
	}
	if n.sentinelClient == nil {
		return false, fmt.Errorf("cluster: %s is not a Sentinel", sentinel)
	}
	m, err := n.sentinelClient.Master(ctx, masterName).Result()
	return strings.Contains(m["flags"], "s_down"), err
}

// HasPrimaryLink reports whether the replica has heard of its primary in the last two seconds. A primary sends
// something each second. The replica is asked directly, not over the links on which faults act. The result is false for
// a node that is not a replica.
func (c *Cluster) HasPrimaryLink(ctx context.Context, replica string) (bool, error) {
	n, err := c.node(replica)
	if err != nil {
		return false, err
	}
	info, err := n.admin.Info(ctx, "replication").Result()
	for _, ago := range []string{"0", "1", "2"} {
		if strings.Contains(info, "master_last_io_seconds_ago:"+ago+"\r\n") {
			return true, err
		}
	}
	return false, err // -1 while its link is down
}
