package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/doublegrant/doublegrant/harness"
)

// Watched is the part of a cluster that SentinelFailover needs.
type Watched interface {
	nodes
	// MasterName returns the name by which Sentinels know the primary.
	MasterName() string
}

// SentinelFailover tells one of the Sentinels to fail over although nothing is wrong (SENTINEL FAILOVER), as an operator
// does. It asks no other Sentinel. What the old primary acknowledges between the promotion and its own demotion is lost.
// The bite: the Sentinel agrees. The proof: another node is promoted. There is nothing to heal.
func SentinelFailover(c Watched) harness.Nemesis { return sentinelFailover{c} }

type sentinelFailover struct{ c Watched }

func (sentinelFailover) Name() string { return "sentinel-failover" }

func (f sentinelFailover) Inject(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
	s, err := chooseSentinel(ctx, f.c, rng)
	if err != nil {
		return harness.Injection{}, err
	}
	old, err := f.c.Primary(ctx)
	if err != nil {
		return harness.Injection{}, err
	}
	return harness.Injection{
		Targets: []string{s},
		Bite:    fmt.Sprintf("%s began a failover from %s", s, old),
		Prove:   func(ctx context.Context) (string, error) { return awaitPromoted(ctx, f.c, old) },
		Heal:    nothingToHeal,
	}, beginFailover(ctx, f.c, s)
}

// beginFailover sends SENTINEL FAILOVER, and again while another failover is under way or no replica is good enough.
func beginFailover(ctx context.Context, c Watched, sentinel string) error {
	return poll(ctx, func() (again bool, err error) {
		_, err = c.Do(ctx, sentinel, "SENTINEL", "FAILOVER", c.MasterName())
		return err != nil && (repliesWith(err, "INPROG") || repliesWith(err, "NOGOODSLAVE")), err
	})
}

// repliesWith reports whether an error in err's chain is a reply of Redis that begins with code.
func repliesWith(err error, code string) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if strings.HasPrefix(err.Error(), code+" ") {
			return true
		}
	}
	return false
}
