package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Topology is what a choice of hosts looks at.
type Topology interface {
	// Primary names the node that most Sentinels hold to be primary; of several masters there is none.
	Primary(ctx context.Context) (string, error)
	RedisNodes() []string
	Sentinels() []string
	ClientGroups() []string
}

// Hosts is a choice of hosts, made each time a fault is injected: who is primary changes in a run.
type Hosts struct {
	name string
	pick func(ctx context.Context, c Topology, rng *rand.Rand) ([]string, error)
}

// String is the choice's name, such as "primary" or "r1".
func (h Hosts) String() string { return h.name }

// Pick makes the choice. Choosing nobody is an error.
func (h Hosts) Pick(ctx context.Context, c Topology, rng *rand.Rand) ([]string, error) {
	chosen, err := h.pick(ctx, c, rng)
	if err == nil && len(chosen) == 0 {
		err = fmt.Errorf("there is no %s in this topology", h.name)
	}
	return chosen, err
}

// Primary is the node that most Sentinels hold to be primary.
func Primary() Hosts {
	return Hosts{"primary", func(ctx context.Context, c Topology, _ *rand.Rand) ([]string, error) {
		p, err := c.Primary(ctx)
		return []string{p}, err
	}}
}

// Replicas are all Redis nodes but the primary.
func Replicas() Hosts {
	return Hosts{"replicas", func(ctx context.Context, c Topology, _ *rand.Rand) ([]string, error) {
		p, err := c.Primary(ctx)
		return slices.DeleteFunc(slices.Clone(c.RedisNodes()), func(n string) bool { return n == p }), err
	}}
}

// Replica is one of the replicas.
func Replica() Hosts { return oneOf("replica", Replicas()) }

// Sentinels are all Sentinels.
func Sentinels() Hosts {
	return all("sentinels", func(c Topology) []string { return c.Sentinels() })
}

// Sentinel is one of the Sentinels.
func Sentinel() Hosts { return oneOf("sentinel", Sentinels()) }

// Nodes are all Redis nodes.
func Nodes() Hosts { return all("nodes", func(c Topology) []string { return c.RedisNodes() }) }

// Node is one of the Redis nodes.
func Node() Hosts { return oneOf("node", Nodes()) }

// Minority is as many Redis nodes as leave a majority: two of five.
func Minority() Hosts { return some("minority", func(n int) int { return (n - 1) / 2 }) }

// Majority is the smallest majority of the Redis nodes: three of five.
func Majority() Hosts { return some("majority", func(n int) int { return n/2 + 1 }) }

// Clients are all client groups.
func Clients() Hosts { return all("clients", func(c Topology) []string { return c.ClientGroups() }) }

// Group is one of the client groups.
func Group() Hosts { return oneOf("group", Clients()) }

// Named is the host of that name, such as "r1", "s2" or "g0".
func Named(name string) Hosts {
	return Hosts{name, func(_ context.Context, c Topology, _ *rand.Rand) ([]string, error) {
		known := slices.Concat(c.RedisNodes(), c.Sentinels(), c.ClientGroups())
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no host %q: there are %s", name, strings.Join(known, ", "))
		}
		return []string{name}, nil
	}}
}

// Several are the hosts of all the choices together, each once.
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

// some is a random choice of Redis nodes, in their order; count says how many of n.
func some(name string, count func(n int) int) Hosts {
	return Hosts{name, func(_ context.Context, c Topology, rng *rand.Rand) ([]string, error) {
		nodes := slices.Clone(c.RedisNodes())
		rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		chosen := nodes[:count(len(nodes))]
		slices.Sort(chosen)
		return chosen, nil
	}}
}

// namedHosts are the choices that have a name of their own.
func namedHosts() []Hosts {
	return []Hosts{
		Primary(), Replicas(), Replica(), Sentinels(), Sentinel(), Nodes(), Node(), Minority(), Majority(), Clients(), Group(),
	}
}

// ParseHosts returns the choice of that name: one of the choices of this file, a host's name such as "r1", "s2", "g0", or
// several of them with commas between.
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
