package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
)

// Partitionable is what PartitionPrimary needs.
type Partitionable interface {
	primary
	RedisNodes() []string
	Sentinels() []string
	ClientGroups() []string
	Role(ctx context.Context, node string) (string, error)
	// Cut holds every link between hosts of a and hosts of b, both ways, until heal.
	Cut(a, b []string) (heal func())
	// Probe asks to for an answer over the network, from the host from.
	Probe(ctx context.Context, from, to string) error
}

// PartitionPrimary cuts the primary, one Sentinel and two fifths of the client groups off from everybody else: a split
// brain. Both sides keep a writable primary, until the heal makes one of them forget.
//
// The bite: a client group of the majority no longer reaches the primary, and one of the minority does. The proof:
// another node is promoted while the old one still says that it is primary. Links are held, not reset: bytes wait, and
// flow on after the heal.
func PartitionPrimary(c Partitionable) harness.Nemesis { return partitionPrimary{c} }

type partitionPrimary struct{ c Partitionable }

func (partitionPrimary) Name() string { return "partition-primary" }

func (p partitionPrimary) Inject(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
	old, err := p.c.Primary(ctx)
	if err != nil {
		return harness.Injection{}, err
	}
	s, err := p.split(old, rng)
	if err != nil {
		return harness.Injection{}, err
	}
	heal := p.c.Cut(s.minority, s.majority)
	inj := harness.Injection{
		Targets: s.minority,
		Groups:  s.groups,
		Bite:    fmt.Sprintf("%s reaches %s and %s does not", s.inside, old, s.outside),
		Prove:   func(ctx context.Context) (string, error) { return p.twoPrimaries(ctx, old) },
		Heal:    func(context.Context) error { heal(); return nil },
	}
	if err := p.c.Probe(ctx, s.inside, old); err != nil {
		return inj, fmt.Errorf("%s, on its side of the partition, does not reach %s: %w", s.inside, old, err)
	}
	if p.c.Probe(ctx, s.outside, old) == nil {
		return inj, fmt.Errorf("%s reaches %s through the partition", s.outside, old)
	}
	return inj, nil
}

// sides are the two halves of a split brain.
type sides struct {
	minority, majority []string
	groups             []int  // client groups of the minority
	inside, outside    string // a client group of each
}

// split puts the primary first on its side: it is the fault's first target.
func (p partitionPrimary) split(old string, rng *rand.Rand) (s sides, err error) {
	groups, sentinels := p.c.ClientGroups(), p.c.Sentinels()
	if len(groups) < 2 || len(sentinels) < 3 {
		return s, errors.New("a split brain needs two client groups and three Sentinels")
	}
	cut := max(1, len(groups)*2/5)
	guard := sentinels[rng.IntN(len(sentinels))]
	s.minority = append([]string{old, guard}, groups[:cut]...)
	for g := range cut {
		s.groups = append(s.groups, g)
	}
	s.inside, s.outside = groups[0], groups[cut]
	for _, host := range slices.Concat(p.c.RedisNodes(), sentinels, groups) {
		if !slices.Contains(s.minority, host) {
			s.majority = append(s.majority, host)
		}
	}
	return s, nil
}

func (p partitionPrimary) twoPrimaries(ctx context.Context, old string) (string, error) {
	seen, err := promoted(ctx, p.c, old)
	if err != nil {
		return "", err
	}
	role, err := p.c.Role(ctx, old)
	if err != nil {
		return "", fmt.Errorf("%s, but %s does not say what it is: %w", seen, old, err)
	}
	if role != "master" {
		return "", fmt.Errorf("%s, but %s is %q: no split brain", seen, old, role)
	}
	return seen + " while " + old + " was still primary", nil
}
