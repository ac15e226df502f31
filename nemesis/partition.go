package nemesis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/await"
)

// Partitionable is what Partition needs of a cluster.
type Partitionable interface {
	primary
	Linked
	Role(ctx context.Context, node string) (string, error)
	// Suspects reports whether the Sentinel believes that the primary is down.
	Suspects(ctx context.Context, sentinel string) (bool, error)
	// HasPrimaryLink reports whether the replica has heard of its primary lately.
	HasPrimaryLink(ctx context.Context, replica string) (bool, error)
}

// Partition cuts the network as the shape says. f is one of the link faults that Cuts lists. Inject returns an error
// for any other, and for a shape that the topology is too small for.
//
// Withhold is the hardest on the system, since each side can learn of it only by waiting. The resets of Refuse tell
// both sides at once. They make min-replicas-to-write look perfect: the primary drops its replicas, and with them its
// right to write, in the same moment. Drop and DropReplies let the ends of connections pass, and reset the connections
// when they heal.
//
// The bite: probes in new connections from either side get no answer through the cut, and a probe beside the cut gets
// an answer. The proof has two parts: what the Shape says, and traffic of the system itself over the cut.
//
// After the heal a cluster was whole within half a second without a failover, and within 5 s with one (20 trials of
// each Shape under Withhold, and of SplitBrain under each of the Cuts, on two busy cores).
func Partition(c Partitionable, shape Shape, f harness.LinkFault) harness.Nemesis {
	return partition{c, shape, f}.named(shape.faultName())
}

// PartitionPrimary is Partition(c, SplitBrain(), harness.Withhold()) under its old name.
func PartitionPrimary(c Partitionable) harness.Nemesis {
	return partition{c, SplitBrain(), harness.Withhold()}.named("partition-primary")
}

type partition struct {
	c     Partitionable
	shape Shape
	fault harness.LinkFault
}

func (p partition) named(name string) fault { return fault{name, p.fault.Effects(), p.inject} }

// inject cuts the links of the shape. The bite and the proof are those of Partition.
func (p partition) inject(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
	if err := cmp.Or(p.fault.Validate(), p.shape.Check(p.c)); err != nil {
		return harness.Injection{}, err
	}
	if !cutsLink(p.fault) {
		return harness.Injection{}, fmt.Errorf(
			"%v is not a partition: choose one of hold, drop, drop-replies or refuse", p.fault)
	}
	cut, err := p.shape.make(ctx, p.c, rng)
	if err != nil {
		return harness.Injection{}, err
	}
	if len(cut.links) == 0 { // both sides chose one host, as may happen while who is primary changes
		return idleInjection(cut.targets, fmt.Errorf("no links to cut: %w", errNoLink)), nil
	}
	counting := newMeter(p.c, p.fault, cut.links)
	heal, err := p.c.Impair(cut.links, p.fault)
	inj := harness.Injection{
		Targets: cut.targets, Groups: cut.groups, Prove: cut.prove, Touched: counting.touched,
		Heal: func(context.Context) error { return heal() },
	}
	if err != nil {
		return inj, err
	}
	inj.Bite, err = cut.probe(ctx, p.c)
	inj.Bite = string(p.fault.Kind) + ": " + inj.Bite
	return inj, err
}

// cutHosts is what a Shape cuts in a topology at one moment.
type cutHosts struct {
	targets []string
	groups  []int // client groups on the smaller side
	links   []harness.Link
	open    []harness.Link // links beside the cut that must still pass
	prove   func(ctx context.Context) (string, error)
}

// probe checks the cut from both sides, and what should still pass beside it.
func (cut cutHosts) probe(ctx context.Context, c Partitionable) (string, error) {
	shut := cut.linksToProbe(c.ClientGroups())
	if len(shut) == 0 {
		return "", errors.New("no host connects to another across this partition")
	}
	errs := await.All(len(shut)+len(cut.open), func(i int) error {
		if i < len(shut) {
			return c.Probe(ctx, shut[i].From, shut[i].To)
		}
		open := cut.open[i-len(shut)]
		return awaitAnswer(ctx, c, open.From, open.To)
	})
	across, beside := errs[:len(shut)], errs[len(shut):]
	if i := slices.Index(across, nil); i >= 0 {
		return "", fmt.Errorf("%s reaches %s through the partition", shut[i].From, shut[i].To)
	}
	for i, err := range beside {
		if err != nil {
			open := cut.open[i]
			return "", fmt.Errorf("%s, beside the partition, does not reach %s: %w", open.From, open.To, err)
		}
	}
	return cut.describe(shut), nil
}

// linksToProbe lists the cut links to probe. It leaves out links that lead to clients. Of the links that client groups
// open, it takes only those of the first group and the last group.
func (cut cutHosts) linksToProbe(groups []string) []harness.Link {
	var clients []string
	for _, l := range cut.links {
		if slices.Contains(groups, l.From) {
			clients = append(clients, l.From)
		}
	}
	return slices.DeleteFunc(slices.Clone(cut.links), func(l harness.Link) bool {
		isProbed := len(clients) == 0 || l.From == clients[0] || l.From == clients[len(clients)-1]
		return slices.Contains(groups, l.To) || slices.Contains(groups, l.From) && !isProbed
	})
}

// describe says what probes of the given cut links have seen.
func (cut cutHosts) describe(shut []harness.Link) string {
	last := shut[len(shut)-1]
	s := fmt.Sprintf("%s does not reach %s", last.From, last.To)
	if len(shut) > 1 {
		s = fmt.Sprintf("none of %d pairs gets through, such as %s to %s", len(shut), last.From, last.To)
	}
	for _, l := range cut.open {
		s += fmt.Sprintf("; %s reaches %s", l.From, l.To)
	}
	return s
}

// twoPrimaries waits until a node other than the old primary is primary, and checks that the old one still is primary
// too.
func twoPrimaries(ctx context.Context, c Partitionable, old string) (string, error) {
	seen, err := awaitPromoted(ctx, c, old)
	if err != nil {
		return "", err
	}
	role, err := c.Role(ctx, old)
	if err != nil {
		return "", fmt.Errorf("%s, but %s does not say what it is: %w", seen, old, err)
	}
	if role != harness.RolePrimary {
		return "", fmt.Errorf("%s, but %s is %q: no split brain", seen, old, role)
	}
	return seen + " while " + old + " was still primary", nil
}

// stillPrimary checks that no failover has taken place.
func stillPrimary(ctx context.Context, c Partitionable, old, seen string) (string, error) {
	now, err := c.Primary(ctx)
	if err != nil {
		return "", fmt.Errorf("%s, but the primary is unknown: %w", seen, err)
	}
	if now != old {
		return "", fmt.Errorf("%s, but %s is primary now: a failover", seen, now)
	}
	return seen + "; " + old + " is still primary", nil
}

// awaitDeaf waits until none of the replicas hears from its primary.
func awaitDeaf(ctx context.Context, c Partitionable, replicas []string) (string, error) {
	err := pollUntil(ctx, func() error {
		for _, r := range replicas {
			if hears, err := c.HasPrimaryLink(ctx, r); err != nil || hears {
				return errors.Join(err, fmt.Errorf("%s still hears its primary", r))
			}
		}
		return nil
	})
	return "no word of the primary reaches " + strings.Join(replicas, ", "), err
}

// aloneSuspects waits until the Sentinel believes that the primary is down, and checks that the other Sentinels do not.
func aloneSuspects(ctx context.Context, c Partitionable, sentinel string) (string, error) {
	suspects := func(s string, want bool) error {
		if is, err := c.Suspects(ctx, s); err != nil || is != want {
			return errors.Join(err, fmt.Errorf("%s holds the primary to be down: %v", s, is))
		}
		return nil
	}
	err := pollUntil(ctx, func() error { return suspects(sentinel, true) })
	for _, s := range c.Sentinels() {
		if s != sentinel && err == nil {
			err = suspects(s, false)
		}
	}
	return sentinel + " alone holds the primary to be down", err
}
