package cluster

import (
	"fmt"

	"github.com/doublegrant/doublegrant/harness/cluster/clients"
)

// Expose makes the nodes, which listen on loopback, reachable for clients on other machines. For each node it opens a
// port at host, which is an address of this machine. The ports stay open until Stop. Expose returns the deployment with
// the new addresses.
//
// On these connections, faults on the links of client groups do not act here but in the processes of the clients. Nodes
// have no password, so anyone who can reach that address can use them.
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
