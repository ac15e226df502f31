package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Topology lists the hosts of a system, for a choice of them.
type Topology interface {
	// Primary names the node that most Sentinels hold to be primary. With several masters there is none, and it returns an error.
	Primary(ctx context.Context) (string, error)
	RedisNodes() []string
	Sentinels() []string
	ClientGroups() []string
}

// Hosts is a choice of hosts. It is made each time a fault is injected, since another node may be primary by then.
type Hosts struct {
	name string
	pick func(ctx context.Context, c Topology, rng *rand.Rand) ([]string, error)
}

// String returns the choice's name, such as "primary" or "r1".
func (h Hosts) String() string { return h.name }

// Pick makes the choice. It returns an error if that is empty.
func (h Hosts) Pick(ctx context.Context, c Topology, rng *rand.Rand) ([]string, error) {
	chosen, err := h.pick(ctx, c, rng)
	if err == nil && len(chosen) == 0 {
		err = fmt.Errorf("there is no %s in this topology", h.name)
	}
	return chosen, err
}

// Primary chooses the node that most Sentinels hold to be primary.
func Primary() Hosts {
	return Hosts{"primary", func(ctx context.Context, c Topology, _ *rand.Rand) ([]string, error) {
		p, err := c.Primary(ctx)
		return []string{p}, err
	}}
}

// Replicas chooses all Redis nodes but the primary.
func Replicas() Hosts {
	return Hosts{"replicas", func(ctx context.Context, c Topology, _ *rand.Rand) ([]string, error) {
		p, err := c.Primary(ctx)
		return slices.DeleteFunc(slices.Clone(c.RedisNodes()), func(n string) bool { return n == p }), err
	}}
}

// Replica chooses one of the replicas.
func Replica() Hosts { return oneOf("replica", Replicas()) }

// Sentinels chooses all Sentinels.
func Sentinels() Hosts {
	return all("sentinels", func(c Topology) []string { return c.Sentinels() })
}

// Sentinel chooses one of the Sentinels.
func Sentinel() Hosts { return oneOf("sentinel", Sentinels()) }

// Nodes chooses all Redis nodes.
func Nodes() Hosts { return all("nodes", func(c Topology) []string { return c.RedisNodes() }) }

// Node chooses one of the Redis nodes.
func Node() Hosts { return oneOf("node", Nodes()) }

// Minority chooses the largest minority of the Redis nodes: two of five.
func Minority() Hosts { return some("minority", func(n int) int { return (n - 1) / 2 }) }

// Majority chooses the smallest majority of the Redis nodes: three of five.
func Majority() Hosts { return some("majority", func(n int) int { return n/2 + 1 }) }

// Clients chooses all client groups.
func Clients() Hosts { return all("clients", func(c Topology) []string { return c.ClientGroups() }) }

// Group chooses one of the client groups.
func Group() Hosts { return oneOf("group", Clients()) }

// Named chooses the host of that name, such as "r1", "s2" or "g0".
func Named(name string) Hosts {
	return Hosts{name, func(_ context.Context, c Topology, _ *rand.Rand) ([]string, error) {
		known := slices.Concat(c.RedisNodes(), c.Sentinels(), c.ClientGroups())
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no host %q: there are %s", name, strings.Join(known, ", "))
		}
		return []string{name}, nil
	}}
}

// Several chooses the hosts of all the choices together, each once.
func Several(choices ...Hosts) Hosts {
	var names []string
	for _, h := range choices {
		names = append(names, h.name)
	}
	return Hosts{strings.Join(names, ","), func(ctx context.Context, c Topology, rng *rand.Rand) ([]string, error) {
		var all []string
		for _, h := range choices {
			chosen, err := h.Pick(ctx, c, rng)
			if err != nil {
				return nil, err
			}
			all = append(all, slices.DeleteFunc(slices.Clone(chosen), func(n string) bool { return slices.Contains(all, n) })...)
		}
		return all, nil
	}}
}

func all(name string, list func(Topology) []string) Hosts {
	return Hosts{name, func(_ context.Context, c Topology, _ *rand.Rand) ([]string, error) { return list(c), nil }}
}

func oneOf(name string, of Hosts) Hosts {
	return Hosts{name, func(ctx context.Context, c Topology, rng *rand.Rand) ([]string, error) {
		from, err := of.pick(ctx, c, rng)
		if err != nil || len(from) == 0 {
			return nil, err
		}
		return []string{from[rng.IntN(len(from))]}, nil
	}}
}

// some chooses Redis nodes at random, in their order; count says how many of n.
func some(name string, count func(n int) int) Hosts {
	return Hosts{name, func(_ context.Context, c Topology, rng *rand.Rand) ([]string, error) {
		nodes := slices.Clone(c.RedisNodes())
		rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		chosen := nodes[:count(len(nodes))]
		slices.Sort(chosen)
		return chosen, nil
	}}
}

// namedHosts lists the choices that have a fixed name.
func namedHosts() []Hosts {
	return []Hosts{
		Primary(), Replicas(), Replica(), Sentinels(), Sentinel(), Nodes(), Node(), Minority(), Majority(), Clients(), Group(),
	}
}

// ParseHosts returns the choice of that name: one of the choices of this file such as "primary", a host's name such as "r1",
// "s2" or "g0", or several of them with commas between.
func ParseHosts(name string) (Hosts, error) {
	if parts := strings.Split(name, ","); len(parts) > 1 {
		var choices []Hosts
		for _, part := range parts {
			h, err := ParseHosts(strings.TrimSpace(part))
			if err != nil {
				return Hosts{}, err
			}
			choices = append(choices, h)
		}
		return Several(choices...), nil
	}
	var known []string
	for _, h := range namedHosts() {
		if h.name == name {
			return h, nil
		}
		known = append(known, h.name)
	}
	if len(name) > 1 && strings.Contains("rsg", name[:1]) && strings.Trim(name[1:], "0123456789") == "" {
		return Named(name), nil
	}
	return Hosts{}, fmt.Errorf("unknown host %q: choose %s, or a name such as r1, s2, g0", name, strings.Join(known, ", "))
}
