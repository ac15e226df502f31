package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// SkewClients sets the clocks of the chosen client groups' machines fast by ahead, or slow where it is negative. Only
// what clients read with harness.Now is wrong, so only locks that keep leases by their clients' clocks can suffer. The
// bite: the clocks differ from the machine's. The heal sets them right.
//
// f has to be the run's Spec.Fleet as well. t chooses from the client groups of c: Clients(), Group() or a group's
// name. Choose some groups, not all: clocks that are all wrong by the same amount agree.
func SkewClients(f *harness.Fleet, c Topology, t Target, ahead time.Duration) harness.Nemesis {
	return skewClients{f, c, t, ahead}
}

type skewClients struct {
	fleet  *harness.Fleet
	c      Topology
	groups Target
	ahead  time.Duration
}

func (n skewClients) Name() string { return "skew-clients-" + n.groups.String() }

func (n skewClients) Inject(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
	if n.ahead == 0 {
		return harness.Injection{}, errors.New(
			"a clock that is ahead by 0 is right: say by how much, such as 1m or -1m")
	}
	s, err := chooseGroups(ctx, n.fleet, n.c, n.groups, rng)
	if err != nil {
		return harness.Injection{}, err
	}
	var right []func()
	for _, g := range s.groups {
		right = append(right, n.fleet.Skew(g, n.ahead))
	}
	inj := harness.Injection{Targets: s.names, Heal: callAll(right)}
	for i, g := range s.groups {
		if n.fleet.Ahead(g) == 0 {
			return inj, fmt.Errorf("the clocks of %s are right: another skew is in force that makes up for %v",
				s.names[i], n.ahead)
		}
	}
	inj.Bite = fmt.Sprintf("the clocks of %d clients of %s are %v", s.clients(), s, fastOrSlow(n.ahead))
	return inj, nil
}

// fastOrSlow says how a clock is wrong.
func fastOrSlow(ahead time.Duration) string {
	if ahead < 0 {
		return fmt.Sprintf("%v slow", -ahead)
	}
	return fmt.Sprintf("%v fast", ahead)
}
