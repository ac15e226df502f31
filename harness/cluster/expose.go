package cluster

import (
	"fmt"

	"github.com/doublegrant/doublegrant/harness/cluster/attached"
)

// Expose opens an address of this machine, host with a port of its own, for each node, until Stop: nodes listen on
// loopback, where clients on other machines do not reach them. It returns the deployment as those do. No fault of a
// client group's links strikes what they send here: faults of their links act where they are. Nodes have no password,
// so whoever reaches the host can use them meanwhile.
func (c *Cluster) Expose(host string) (attached.Deployment, error) {
	d := c.Deployment()
	for _, nodes := range [][]attached.Node{d.Nodes, d.Sentinels} {
		for i := range nodes {
			at, err := c.fabric.Door(nodes[i].Name, host, nodes[i].Real)
			if err != nil {
				return d, fmt.Errorf("cluster: expose %s on %s: %w: name an address of this machine", nodes[i].Name,
					host, err)
			}
			nodes[i].Real = at
		}
	}
	return d, nil
}
