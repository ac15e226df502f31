package nemesis

import (
	"context"
	"fmt"
	"strings"

	"github.com/doublegrant/doublegrant/harness"
)

// ClientKillable is what ClientKill needs of a cluster.
type ClientKillable interface {
	nodes
	// Connections returns how many connections the client groups have to the node.
	Connections(node string) int
}

// ClientKill makes Redis nodes close every connection for commands (CLIENT KILL TYPE normal), as an operator does:
// those of clients, of the harness, and each Sentinel's connection for commands. Links to replicas and subscriptions
// stay open. A Sentinel's own subscription stays open too, so no Sentinel misses the node. A command that is on its way
// is lost, or its answer is lost.
//
// The bite says how many connections were closed, and how many of these were clients'. If no client's connection was
// closed, the fault is not proved. The fault is over at once: clients dial again, and there is nothing to heal.
func ClientKill(c ClientKillable, t Target) harness.Nemesis {
	return ofRedisNodes("client-kill-"+t.String(), harness.EndsConnections, c, t, killClients(c))
}

func killClients(c ClientKillable) strike {
	return func(ctx context.Context, chosen targets) (harness.Injection, error) {
		inj := harness.Injection{Targets: chosen.nodes, Heal: nothingToHeal}
		var seen []string
		clients := 0
		err := chosen.each(func(node string) error {
			of := c.Connections(node)
			killed, err := c.Do(ctx, node, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
			seen = append(seen, fmt.Sprintf("%s closed %v connections, %d of clients", node, killed, of))
			clients += of
			return err
		})
		inj.Bite = strings.Join(seen, "; ")
		inj.Touched = func() (string, error) {
			if clients == 0 {
				return "", fmt.Errorf("idle: no client had a connection to %v", chosen)
			}
			return fmt.Sprintf("touched: closed %d connections of clients", clients), nil
		}
		return inj, err
	}
}
