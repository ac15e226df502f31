package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/doublegrant/doublegrant/harness"
)

// ClientKillable is what ClientKill needs.
type ClientKillable interface {
	nodes
	// Connections is how many connections the client groups have to the node.
	Connections(node string) int
}

// ClientKill makes Redis nodes close every connection of clients, of Sentinels and of the harness, as an operator or a
// failover does; those of replicas stay. A command on its way is lost, or its answer is. The bite: how many were closed,
// clients' among them. It is over in a moment: everybody dials again, and there is nothing to heal.
func ClientKill(c ClientKillable, h Hosts) harness.Nemesis { return clientKill{c, h} }

type clientKill struct {
	c     ClientKillable
	hosts Hosts
}

func (clientKill) Name() string { return "client-kill" }

func (k clientKill) Inject(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
	a, err := aimRedis(ctx, k.c, k.hosts, rng)
	if err != nil {
		return harness.Injection{}, err
	}
	inj := harness.Injection{Targets: a.hosts, Heal: nothingToHeal}
	var seen []string
	clients := 0
	err = a.each(func(node string) error {
		of := k.c.Connections(node)
		killed, err := k.c.Do(ctx, node, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		seen = append(seen, fmt.Sprintf("%s closed %v connections, %d of clients", node, killed, of))
		clients += of
		return err
	})
	inj.Bite = strings.Join(seen, "; ")
	if err == nil && clients == 0 {
		err = errors.New("no client had a connection: " + inj.Bite)
	}
	return inj, err
}
