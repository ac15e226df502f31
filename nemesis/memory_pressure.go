package nemesis

import (
	"context"
	"errors"
	"fmt"

	"github.com/doublegrant/doublegrant/harness"
)

// MemoryLimited is what MemoryPressure needs of a cluster.
type MemoryLimited interface{ nodes }

// MemoryPressure lets Redis nodes run out of memory again and again for as long as it lasts, with the policy
// volatile-random: keys with a TTL are evicted at random, and locks are such keys. The memory is filled with ballast,
// which has a TTL too and is not replicated: at most 32 MB at a time, and at most 50 new pieces of 512 KB a second. On
// average a key with a TTL then lives for a second, however many there are. The memory limit follows the size of the
// node's other data. So no command is refused, unless this data grows by more than 16 MB between two adjustments, 20 ms
// apart.
//
// The bite: keys were evicted. The heal restores the settings and removes the ballast. Replicas evict only what their
// primary does: if a replica is chosen, nothing is done to any node, and the fault is not proved. Inject returns an
// error for a node that is under such pressure already.
func MemoryPressure(c MemoryLimited, t Target) harness.Nemesis {
	return ofRedisNodes("memory-pressure-"+t.String(), harness.DropsKeys, c, t, cramp(c))
}

func cramp(c MemoryLimited) strike {
	return func(ctx context.Context, chosen targets) (harness.Injection, error) {
		err := chosen.each(func(node string) error { return checkPrimary(ctx, c, node) })
		if errors.Is(err, errReplica) {
			return idleInjection(chosen.nodes, err), nil
		}
		if err != nil {
			return harness.Injection{}, err
		}
		cramped := map[string]*memoryBallast{}
		inj := harness.Injection{Targets: chosen.nodes, Heal: func(ctx context.Context) error {
			return chosen.eachAtOnce(func(node string) error {
				if b := cramped[node]; b != nil {
					return b.remove(ctx)
				}
				return nil
			})
		}}
		err = chosen.each(func(node string) error {
			b, err := newBallast(ctx, c, node)
			if err != nil {
				return err
			}
			cramped[node] = b
			return b.awaitEvictions(ctx)
		})
		inj.Bite = fmt.Sprintf("%v evicts keys", chosen)
		return inj, err
	}
}

// checkPrimary returns an error for a replica.
func checkPrimary(ctx context.Context, c MemoryLimited, node string) error {
	role, err := infoField(ctx, c, node, "replication", "role")
	if err == nil && role != harness.RolePrimary {
		err = fmt.Errorf("%s %w", node, errReplica)
	}
	return err
}

var errReplica = errors.New("is a replica, and replicas evict nothing by themselves")
