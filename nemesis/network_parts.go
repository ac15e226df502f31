package nemesis

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
)

// hostsByRole holds the hosts by role at the moment when a partition begins.
type hostsByRole struct {
	c                           Partitionable
	rng                         *rand.Rand
	old                         string // the primary
	replicas, sentinels, groups []string
	few, many                   []string // the smaller and the larger share of the client groups
}

// withPrimary makes a shape that depends on which node is primary. The given function chooses, among the hosts, what to
// cut.
func withPrimary(name, doc string, n shapeNeeds, draw func(p hostsByRole) cutHosts) Shape {
	return Shape{name, doc, n, func(ctx context.Context, c Partitionable, rng *rand.Rand) (cutHosts, error) {
		old, err := c.Primary(ctx)
		if err != nil {
			return cutHosts{}, err
		}
		p := hostsByRole{c: c, rng: rng, old: old, sentinels: c.Sentinels(), groups: c.ClientGroups()}
		p.replicas = slices.DeleteFunc(slices.Clone(c.RedisNodes()), func(n string) bool { return n == old })
		p.few, p.many = p.groups[:smallerShare(p.groups)], p.groups[smallerShare(p.groups):]
		return draw(p), nil
	}}
}

// smallerShare returns how many client groups are on the smaller side: two fifths of them, at least one.
func smallerShare(groups []string) int { return max(1, len(groups)*2/5) }

// firstIndexes lists 0 to n-1.
func firstIndexes(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func (p hostsByRole) drawOne(of []string) string { return of[p.rng.IntN(len(of))] }

// primarySide lists the hosts on the primary's side: the primary, the other hosts given, and the smaller share of the
// client groups. The primary is first, since it is the fault's first target.
func (p hostsByRole) primarySide(others ...string) []string {
	return slices.Concat([]string{p.old}, others, p.few)
}

// allBut lists all hosts except the excluded ones.
func (p hostsByRole) allBut(excluded []string) []string {
	all := slices.Concat(p.c.RedisNodes(), p.sentinels, p.groups)
	return slices.DeleteFunc(all, func(h string) bool { return slices.Contains(excluded, h) })
}

// splitBrain cuts the primary's side off from all other hosts. The primary's side includes the hosts in the parameter
// others.
func (p hostsByRole) splitBrain(others ...string) cutHosts {
	side := p.primarySide(others...)
	return cutHosts{
		targets: side, groups: firstIndexes(len(p.few)),
		links: harness.Between(side, p.allBut(side)),
		open:  []harness.Link{{From: p.few[0], To: p.old}},
		prove: func(ctx context.Context) (string, error) { return twoPrimaries(ctx, p.c, p.old) },
	}
}

// cutPrimaryFrom cuts the primary off from the given hosts. All client groups still reach the primary.
func (p hostsByRole) cutPrimaryFrom(hosts []string) cutHosts {
	return cutHosts{
		targets: append([]string{p.old}, hosts...),
		links:   harness.Between([]string{p.old}, hosts),
		open:    []harness.Link{{From: p.groups[0], To: p.old}},
		prove:   func(ctx context.Context) (string, error) { return twoPrimaries(ctx, p.c, p.old) },
	}
}

func (p hostsByRole) fromReplicas(replicas []string) cutHosts {
	one := p.cutPrimaryFrom(replicas)
	one.prove = func(ctx context.Context) (string, error) {
		seen, err := awaitDeaf(ctx, p.c, replicas)
		if err != nil {
			return "", err
		}
		return stillPrimary(ctx, p.c, p.old, seen)
	}
	return one
}

// fromMinority cuts the groups off from a minority of the Redis nodes. The bite checks that the client group in the
// parameter prober still reaches a node of the majority.
func fromMinority(
	ctx context.Context, c Partitionable, rng *rand.Rand, groups []string, prober string,
) (cutHosts, error) {
	nodes, err := Minority().Pick(ctx, c, rng)
	if err != nil {
		return cutHosts{}, err
	}
	kept := slices.DeleteFunc(slices.Clone(c.RedisNodes()), func(n string) bool { return slices.Contains(nodes, n) })
	return cutHosts{
		targets: append(slices.Clone(nodes), groups...),
		links:   harness.Links(groups, nodes),
		open:    []harness.Link{{From: prober, To: kept[0]}},
	}, nil
}
