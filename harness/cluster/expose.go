package cluster

import (
	"fmt"

	"github.com/doublegrant/doublegrant/harness/cluster/clients"
)

// Expose opens a port of host, an address of this machine, for each node until Stop. By these ports clients on other
// machines can reach the nodes, which listen on loopback. It returns the deployment with the new addresses.
//
// This process puts no faults of client groups' links on these connections: such faults act where the clients are.
// Nodes have no password, so anyone who can reach the host can use them.
func (c *Cluster) Expose(host string) (clients.Deployment, error) {
	d := c.Deployment()
	for _, nodes := range [][]clients.Node{d.Nodes, d.Sentinels} {
		for i := range nodes {
			at, err := c.fabric.Expose(nodes[i].Name, host, nodes[i].Real)
			if err != nil {
				return d, fmt.Errorf("cluster: expose %s on %s: %w: name an address of this machine",
					nodes[i].Name, host, err)
			}
			nodes[i].Real = at
		}
	}
	return d, nil
}
