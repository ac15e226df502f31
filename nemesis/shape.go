package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness"
)

// Shape says which hosts lose each other in a partition. The hosts are chosen anew each time the partition is injected.
// The functions of this file make shapes. The zero value cannot be injected.
type Shape struct {
	name, doc string
	needs     shapeNeeds
	make      func(ctx context.Context, c Partitionable, rng *rand.Rand) (cutHosts, error)
}

// String returns the shape's name, such as "split-brain".
func (s Shape) String() string { return s.name }

// faultName returns the name of a partition of this shape.
func (s Shape) faultName() string {
	if s.name == oneWay {
		return oneWay
	}
	return "partition-" + s.name
}

// oneWay is the name of OneWay's shape, and of its fault.
const oneWay = "one-way"

// Doc returns one line that says which hosts lose each other, and what follows.
func (s Shape) Doc() string { return s.doc }

// shapeNeeds is the smallest topology in which a shape can be made.
type shapeNeeds struct{ nodes, sentinels, groups int }

// Check returns an error that says what the topology lacks for this shape. It uses the numbers of hosts only, so it
// works before a cluster has started. A topology without a single primary fails later, when the fault is injected.
func (s Shape) Check(c Topology) error {
	if s.make == nil {
		return errors.New("no shape given: choose one, such as nemesis.SplitBrain()")
	}
	nodes, sentinels, groups := len(c.RedisNodes()), len(c.Sentinels()), len(c.ClientGroups())
	n := s.needs
	if nodes < n.nodes || sentinels < n.sentinels || groups < n.groups {
		return fmt.Errorf("partition %s needs %v; here are %v", s.name, n, shapeNeeds{nodes, sentinels, groups})
	}
	return nil
}

func (n shapeNeeds) String() string {
	return fmt.Sprintf("%d Redis nodes, %d Sentinels and %d client groups", n.nodes, n.sentinels, n.groups)
}

// SplitBrain cuts the primary, one Sentinel and two fifths of the client groups off from all other hosts. Both sides
// keep a writable primary, until the heal makes one of them drop its writes. The proof: another node is promoted while
// the old one still says that it is primary.
//
// Use Withhold to test min-replicas-to-write. The resets of Refuse make that setting look perfect, since the primary
// drops its replicas at once. Under Drop the primary drops its replicas as soon as the first of these gives up and
// closes its connection. Under DropReplies both nodes stay primaries, but commands pass the cut, and so do the messages
// of the other Sentinels. So the Sentinel beside the old primary names the new primary, and sends clients to a node
// whose answers do not reach them.
func SplitBrain() Shape {
	return withPrimary("split-brain",
		"the primary, one Sentinel and 2/5 of the client groups lose all others: two primaries",
		shapeNeeds{3, 3, 2}, func(p hostsByRole) cutHosts { return p.splitBrain(p.drawOne(p.sentinels)) })
}

// SplitBrainWithReplica is SplitBrain with one replica on the old primary's side. This replica still acknowledges the
// old primary's writes, so WAIT 1 and min-replicas-to-write 1 are satisfied there.
func SplitBrainWithReplica() Shape {
	doc := "as split-brain, with a replica on the old primary's side: WAIT 1 is content there"
	return withPrimary("split-brain-replica", doc, shapeNeeds{3, 3, 2}, func(p hostsByRole) cutHosts {
		return p.splitBrain(p.drawOne(p.replicas), p.drawOne(p.sentinels))
	})
}

// ClientsFromPrimary cuts the primary off from two fifths of the client groups, and from no other host. The proof: the
// other groups still reach the primary, and it stays primary.
func ClientsFromPrimary() Shape {
	return withPrimary("clients-primary", "only 2/5 of the client groups lose the primary: no failover",
		shapeNeeds{1, 0, 2}, func(p hostsByRole) cutHosts {
			other := harness.Link{From: p.many[0], To: p.old}
			return cutHosts{
				targets: append([]string{p.old}, p.few...), groups: firstIndexes(len(p.few)),
				links: harness.Links(p.few, []string{p.old}), open: []harness.Link{other},
				prove: func(ctx context.Context) (string, error) {
					if err := awaitAnswer(ctx, p.c, other.From, other.To); err != nil {
						return "", fmt.Errorf("%s has lost %s, too: %w", other.From, other.To, err)
					}
					return stillPrimary(ctx, p.c, p.old, fmt.Sprintf("%s goes on with %s", other.From, other.To))
				},
			}
		})
}

// PrimaryFromReplicas cuts the primary off from all replicas. The proof: the replicas hear nothing from the primary,
// and it stays primary. Under Withhold or Drop it takes seconds until the replicas notice.
func PrimaryFromReplicas() Shape {
	return withPrimary("primary-replicas", "the primary loses all its replicas: no failover, and nothing is replicated",
		shapeNeeds{2, 0, 1}, func(p hostsByRole) cutHosts { return p.fromReplicas(p.replicas) })
}

// PrimaryFromReplica cuts the primary off from one replica. The proof is that of PrimaryFromReplicas.
func PrimaryFromReplica() Shape {
	return withPrimary("primary-replica", "the primary loses one replica: no failover",
		shapeNeeds{2, 0, 1}, func(p hostsByRole) cutHosts { return p.fromReplicas([]string{p.drawOne(p.replicas)}) })
}

// PrimaryFromSentinels cuts the primary off from all Sentinels. The Sentinels fail over although every client reaches
// the primary. The proof: two primaries, as in SplitBrain.
func PrimaryFromSentinels() Shape {
	return withPrimary("primary-sentinels", "the primary loses all Sentinels, clients lose no host: two primaries",
		shapeNeeds{2, 1, 1}, func(p hostsByRole) cutHosts { return p.cutPrimaryFrom(p.sentinels) })
}

// PrimaryFromSentinel cuts the primary off from one Sentinel. The proof: this Sentinel believes that the primary is
// down, the others do not, and no failover takes place.
func PrimaryFromSentinel() Shape {
	return withPrimary("primary-sentinel", "the primary loses one Sentinel: no quorum, so no failover",
		shapeNeeds{1, 3, 1}, func(p hostsByRole) cutHosts {
			one := p.drawOne(p.sentinels)
			rest := slices.DeleteFunc(slices.Clone(p.sentinels), func(s string) bool { return s == one })
			return cutHosts{
				targets: []string{p.old, one},
				links:   harness.Between([]string{p.old}, []string{one}),
				open:    []harness.Link{{From: rest[0], To: p.old}, {From: p.groups[0], To: p.old}},
				prove: func(ctx context.Context) (string, error) {
					seen, err := aloneSuspects(ctx, p.c, one)
					if err != nil {
						return "", err
					}
					return stillPrimary(ctx, p.c, p.old, seen)
				},
			}
		})
}

// IsolatePrimary cuts the primary off from all replicas and all Sentinels. Every client still reaches every node. The
// proof: two primaries, as in SplitBrain.
func IsolatePrimary() Shape {
	return withPrimary("isolate-primary",
		"the primary loses replicas and Sentinels, clients lose no host: two primaries", shapeNeeds{2, 1, 1},
		func(p hostsByRole) cutHosts { return p.cutPrimaryFrom(slices.Concat(p.replicas, p.sentinels)) })
}

// Bridge makes two halves that do not see each other, and one replica, the bridge, that both see. One half is the
// primary, one Sentinel and two fifths of the client groups. The other half is all other hosts. The proof: a failover.
// The Sentinels' decisions cross the bridge, so two primaries do not last.
func Bridge() Shape {
	return withPrimary("bridge", "two halves lose each other, one replica is seen by both: a failover",
		shapeNeeds{3, 3, 2}, func(p hostsByRole) cutHosts {
			bridge := p.drawOne(p.replicas)
			half := p.primarySide(p.drawOne(p.sentinels))
			return cutHosts{
				targets: append(slices.Clone(half), bridge), groups: firstIndexes(len(p.few)),
				links: harness.Between(half, p.allBut(append(slices.Clone(half), bridge))),
				open:  []harness.Link{{From: p.few[0], To: bridge}, {From: p.many[0], To: bridge}},
				prove: func(ctx context.Context) (string, error) { return awaitPromoted(ctx, p.c, p.old) },
			}
		})
}

// OneWay cuts the connections that the hosts of its first choice open to the hosts of its second. Connections that are
// opened in the other direction go on.
func OneWay(from, to Target) Shape {
	doc := fmt.Sprintf("the connections that %s opens to %s are cut, those the other way are not", from, to)
	return Shape{oneWay, doc, shapeNeeds{},
		func(ctx context.Context, c Partitionable, rng *rand.Rand) (cutHosts, error) {
			a, err := from.Pick(ctx, c, rng)
			if err != nil {
				return cutHosts{}, err
			}
			b, err := to.Pick(ctx, c, rng)
			if err != nil {
				return cutHosts{}, err
			}
			one := cutHosts{targets: union(a, b), links: harness.Links(a, b)}
			back := harness.Links(b, a)
			if len(back) > 0 && !slices.Contains(c.ClientGroups(), back[0].To) && !slices.Contains(one.links, back[0]) {
				one.open = back[:1]
			}
			return one, nil
		}}
}

// MinorityOfNodes cuts all clients off from a minority of the Redis nodes. It is for topologies of several masters.
func MinorityOfNodes() Shape {
	return Shape{"minority", "all clients lose a minority of the Redis nodes", shapeNeeds{3, 0, 1},
		func(ctx context.Context, c Partitionable, rng *rand.Rand) (cutHosts, error) {
			groups := c.ClientGroups()
			return fromMinority(ctx, c, rng, groups, groups[0])
		}}
}

// ClientsFromMinority cuts the first two fifths of the client groups off from a minority of the Redis nodes.
func ClientsFromMinority() Shape {
	return Shape{"clients-minority", "2/5 of the client groups lose a minority of the Redis nodes", shapeNeeds{3, 0, 2},
		func(ctx context.Context, c Partitionable, rng *rand.Rand) (cutHosts, error) {
			groups := c.ClientGroups()
			n := smallerShare(groups)
			one, err := fromMinority(ctx, c, rng, groups[:n], groups[0])
			if err == nil {
				one.groups = firstIndexes(n)
				one.open = append(one.open, harness.Link{From: groups[n], To: one.targets[0]})
			}
			return one, err
		}}
}

// AllShapes lists the shapes that take no choice of hosts: all but OneWay.
func AllShapes() []Shape {
	return []Shape{
		SplitBrain(), SplitBrainWithReplica(), ClientsFromPrimary(), PrimaryFromReplicas(), PrimaryFromReplica(),
		PrimaryFromSentinels(), PrimaryFromSentinel(), IsolatePrimary(), Bridge(), MinorityOfNodes(),
		ClientsFromMinority(),
	}
}

// ParseShape returns the shape called name. For a name that AllShapes does not have, the error lists those that it has.
func ParseShape(name string) (Shape, error) {
	var known []string
	for _, s := range AllShapes() {
		if s.name == name {
			return s, nil
		}
		known = append(known, s.name)
	}
	return Shape{}, fmt.Errorf("unknown sides %q: choose %s", name, strings.Join(known, ", "))
}
