package external

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness/cluster/clients"
)

// minVersion is the first major version of Redis that is supported.
const minVersion = 7

// discover asks the given nodes or Sentinels, the seeds, for all nodes of the deployment, and names the nodes. r1 is
// the primary. discover returns an error if no seed answers, or if the primary is unfit for a load.
func discover(ctx context.Context, seeds clients.Deployment) (d clients.Deployment, err error) {
	d = seeds
	if len(seeds.Sentinels) > 0 {
		if d, err = askSentinels(ctx, seeds); err != nil {
			return d, err
		}
	}
	l, err := newNodeClients(d.Nodes[:1], d, false)
	if err != nil {
		return d, err
	}
	defer l.close()
	g, err := l.hello(ctx, 0)
	if err != nil {
		return d, fmt.Errorf("external: %w", err)
	}
	return d, g.check()
}

// check returns an error unless the node is a primary of a supported server, and not a node of a Redis Cluster.
func (g helloReply) check() error {
	number := 0
	_, _ = fmt.Sscanf(g.version, "%d.", &number) // 0, which is too old, if there is no number
	switch {
	case g.mode == "sentinel":
		return errors.New("external: the URL leads to a Sentinel: write redis+sentinel://HOST:PORT/MASTER-NAME")
	case g.mode == "cluster":
		return errors.New("external: the URL leads to a node of a Redis Cluster, which is not supported: give one " +
			"primary, or Sentinels")
	case g.server == "redis" && number < minVersion:
		return fmt.Errorf("external: r1 is Redis %.20s, and %d.0 or newer is needed", g.version, minVersion)
	case g.role != "master":
		return fmt.Errorf("external: r1 is a %.10s: give the URL of the primary, or of its Sentinels", g.role)
	}
	return nil
}

// askSentinels returns the deployment as the first Sentinel that answers describes it.
func askSentinels(ctx context.Context, seeds clients.Deployment) (d clients.Deployment, err error) {
	l, err := newNodeClients(seeds.Sentinels, seeds, true)
	if err != nil {
		return seeds, err
	}
	defer l.close()
	var refusals []string
	for i := range seeds.Sentinels {
		if d, err = askSentinel(ctx, l, i, seeds); err == nil {
			return d, nil
		}
		refusals = append(refusals, err.Error())
	}
	return seeds, fmt.Errorf("external: no Sentinel says where the primary is: %s",
		strings.Join(slices.Compact(refusals), "; "))
}

func askSentinel(ctx context.Context, l *nodeClients, i int, seeds clients.Deployment) (clients.Deployment, error) {
	d := seeds
	primary, err := l.primaryAddress(ctx, i, seeds.MasterName)
	if err != nil {
		return d, err
	}
	// Without permission to list the others, nodes get their names when they are first dialed.
	replicas, _ := l.knownPeers(ctx, i, "REPLICAS", seeds.MasterName)
	sentinels, _ := l.knownPeers(ctx, i, "SENTINELS", seeds.MasterName)
	d.Nodes = named("r", nil, append([]string{primary}, replicas...))
	d.Sentinels = named("s", seeds.Sentinels, sentinels)
	return d, nil
}

// named returns the given nodes, followed by a new node for each address that none of them has. The name of a new node
// is the given letter and a number, such as "r3".
func named(letter string, nodes []clients.Node, addresses []string) []clients.Node {
	nodes = slices.Clone(nodes)
	for _, addr := range addresses {
		if !slices.ContainsFunc(nodes, func(n clients.Node) bool { return n.Announced == addr }) {
			nodes = append(nodes, clients.Node{Name: fmt.Sprintf("%s%d", letter, len(nodes)+1), Announced: addr})
		}
	}
	return nodes
}
