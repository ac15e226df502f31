package cluster

import (
	"fmt"

	"github.com/doublegrant/doublegrant/harness/cluster/clients"
)

// Expose opens a port of host, an address of this machine, for each node until Stop. Nodes listen on loopback, and
// through these ports clients on other machines reach them. Expose returns the deployment with the new addresses.
//
// Faults on the links of client groups do not act on these connections here. They act in the processes of the clients.
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
