package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness/suggest"
)

// Topology lists the hosts of a system, so that a fault can choose among them.
type Topology interface {
	// Primary returns the node that a majority of the Sentinels name as primary. With several masters it returns an
	// error.
	Primary(ctx context.Context) (string, error)
	RedisNodes() []string
	Sentinels() []string
	ClientGroups() []string
}

// Target is a choice of hosts. It is made each time a fault is injected, since another node may be primary by then.
type Target struct {
	name   string
	choose func(ctx context.Context, c Topology, rng *rand.Rand) ([]string, error)
}

// String returns the choice's name, such as "primary" or "r1".
func (t Target) String() string { return t.name }

// Pick makes the choice. It returns an error if it finds no host.
func (t Target) Pick(ctx context.Context, c Topology, rng *rand.Rand) ([]string, error) {
	chosen, err := t.choose(ctx, c, rng)
	if err == nil && len(chosen) == 0 {
		err = fmt.Errorf("there is no %s in this topology", t.name)
	}
	return chosen, err
}

// Primary chooses the node that a majority of the Sentinels name as primary.
func Primary() Target {
	return Target{"primary", func(ctx context.Context, c Topology, _ *rand.Rand) ([]string, error) {
		p, err := c.Primary(ctx)
		return []string{p}, err
	}}
}

// Replicas chooses all Redis nodes except the primary.
func Replicas() Target {
	return Target{"replicas", func(ctx context.Context, c Topology, _ *rand.Rand) ([]string, error) {
		p, err := c.Primary(ctx)
		return slices.DeleteFunc(slices.Clone(c.RedisNodes()), func(n string) bool { return n == p }), err
	}}
}

// Replica chooses one of the replicas.
func Replica() Target { return oneOf("replica", Replicas()) }

// Sentinels chooses all Sentinels.
func Sentinels() Target {
	return allOf("sentinels", func(c Topology) []string { return c.Sentinels() })
}

// Sentinel chooses one of the Sentinels.
func Sentinel() Target { return oneOf("sentinel", Sentinels()) }

// Nodes chooses all Redis nodes.
func Nodes() Target { return allOf("nodes", func(c Topology) []string { return c.RedisNodes() }) }

// Node chooses one of the Redis nodes.
func Node() Target { return oneOf("node", Nodes()) }

// Minority chooses the largest minority of the Redis nodes: two of five.
func Minority() Target { return randomShare("minority", func(n int) int { return (n - 1) / 2 }) }

// Majority chooses the smallest majority of the Redis nodes: three of five.
func Majority() Target { return randomShare("majority", func(n int) int { return n/2 + 1 }) }

// Clients chooses all client groups.
func Clients() Target { return allOf("clients", func(c Topology) []string { return c.ClientGroups() }) }

// Group chooses one of the client groups.
func Group() Target { return oneOf("group", Clients()) }

// Named chooses the host called name, such as "r1", "s2" or "g0".
func Named(name string) Target {
	return Target{name, func(_ context.Context, c Topology, _ *rand.Rand) ([]string, error) {
		known := slices.Concat(c.RedisNodes(), c.Sentinels(), c.ClientGroups())
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no host %q: there are %s", name, strings.Join(known, ", "))
		}
		return []string{name}, nil
	}}
}

// Several chooses the hosts of all the choices together, each once.
func Several(choices ...Target) Target {
	var names []string
	for _, t := range choices {
		names = append(names, t.name)
	}
	return Target{strings.Join(names, ","), func(ctx context.Context, c Topology, rng *rand.Rand) ([]string, error) {
		var all []string
		for _, t := range choices {
			chosen, err := t.Pick(ctx, c, rng)
			if err != nil {
				return nil, err
			}
			all = append(all,
				slices.DeleteFunc(slices.Clone(chosen), func(n string) bool { return slices.Contains(all, n) })...)
		}
		return all, nil
	}}
}

func allOf(name string, list func(Topology) []string) Target {
	return Target{name, func(_ context.Context, c Topology, _ *rand.Rand) ([]string, error) { return list(c), nil }}
}

func oneOf(name string, of Target) Target {
	return Target{name, func(ctx context.Context, c Topology, rng *rand.Rand) ([]string, error) {
		from, err := of.choose(ctx, c, rng)
		if err != nil || len(from) == 0 {
			return nil, err
		}
		return []string{from[rng.IntN(len(from))]}, nil
	}}
}

// randomShare chooses Redis nodes at random and returns them in order. The function count returns how many of n nodes
// to choose.
func randomShare(name string, count func(n int) int) Target {
	return Target{name, func(_ context.Context, c Topology, rng *rand.Rand) ([]string, error) {
		nodes := slices.Clone(c.RedisNodes())
		rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		chosen := nodes[:count(len(nodes))]
		slices.Sort(chosen)
		return chosen, nil
	}}
}

// namedTargets lists the choices that have a fixed name.
func namedTargets() []Target {
	return []Target{
		Primary(), Replicas(), Replica(), Sentinels(), Sentinel(), Nodes(), Node(), Minority(), Majority(), Clients(),
		Group(),
	}
}

// ParseTarget returns the choice called name: one of the choices of this file such as "primary", a host's name such as
// "r1", "s2" or "g0", or several of them with commas between.
func ParseTarget(name string) (Target, error) {
	if parts := strings.Split(name, ","); len(parts) > 1 {
		var choices []Target
		for _, part := range parts {
			t, err := ParseTarget(strings.TrimSpace(part))
			if err != nil {
				return Target{}, err
			}
			choices = append(choices, t)
		}
		return Several(choices...), nil
	}
	var known []string
	for _, t := range namedTargets() {
		if t.name == name {
			return t, nil
		}
		known = append(known, t.name)
	}
	if len(name) > 1 && strings.Contains("rsg", name[:1]) && strings.Trim(name[1:], "0123456789") == "" {
		return Named(name), nil
	}
	meant := suggest.Question("", name, known)
	if meant != "" {
		meant += " "
	}
	return Target{}, fmt.Errorf("unknown host %q: %schoose %s, or a name such as r1, s2, g0", name, meant,
		strings.Join(known, ", "))
}
