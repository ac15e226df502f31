package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/doublegrant/doublegrant/harness"
)

// MemoryLimited is the part of a cluster that MemoryPressure needs.
type MemoryLimited interface{ nodes }

// MemoryPressure lets Redis nodes run out of memory again and again for as long as it lasts, with the policy
// volatile-random: keys with a TTL are evicted at random, and locks are such keys. What fills the memory is ballast, also
// with a TTL and not replicated: at most 32 MB at a time, and at most 50 new pieces of 512 KB a second. A key with a TTL
// then lives for a second on average, however many there are. The limit follows what else the node has to keep: no command is
// refused, unless that grows by more than 16 MB between two looks, 20 ms apart. The bite: keys were evicted. The heal puts the
// settings back and removes the ballast. Replicas evict only what their primary does: where one is chosen nothing is done to
// any node, and the fault is not proved. A node that is under such pressure already is an error.
func MemoryPressure(c MemoryLimited, t Target) harness.Nemesis { return memoryPressure{c, t} }

type memoryPressure struct {
	c     MemoryLimited
	hosts Target
}

func (m memoryPressure) Name() string { return "memory-pressure-" + m.hosts.String() }

func (m memoryPressure) Inject(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
	a, err := chooseRedisTargets(ctx, m.c, m.hosts, rng)
	if err != nil {
		return harness.Injection{}, err
	}
	if err := a.each(func(node string) error { return m.evicts(ctx, node) }); errors.Is(err, errReplica) {
		return idleInjection(a.hosts, err), nil
	} else if err != nil {
		return harness.Injection{}, err
	}
	cramped := map[string]*memoryBallast{}
	inj := harness.Injection{Targets: a.hosts, Heal: func(ctx context.Context) error {
		return a.eachAtOnce(func(node string) error {
			if b := cramped[node]; b != nil {
				return b.remove(ctx)
			}
			return nil
		})
	}}
	err = a.each(func(node string) error {
		b, err := newBallast(ctx, m.c, node)
		if err != nil {
			return err
		}
		cramped[node] = b
		return b.awaitEvictions(ctx)
	})
	inj.Bite = fmt.Sprintf("%v evicts keys", a)
	return inj, err
}

// evicts returns an error for a replica.
func (m memoryPressure) evicts(ctx context.Context, node string) error {
	role, err := infoField(ctx, m.c, node, "replication", "role")
	if err == nil && role != harness.RolePrimary {
		err = fmt.Errorf("%s %w", node, errReplica)
	}
	return err
}

var errReplica = errors.New("is a replica, and replicas evict nothing by themselves")
