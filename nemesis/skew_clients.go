package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// SkewClients sets the clocks of the chosen client groups ahead by offset, or behind if offset is negative. Only what
// clients read with harness.Now is wrong, so only locks that keep leases by their clients' clocks can suffer. The bite:
// the clocks differ from the machine's clock. The heal sets them right.
//
// f has to be the run's Spec.Fleet as well. t chooses from the client groups of c: Clients(), Group() or a group's
// name. Choose some groups, not all: clocks that are all wrong by the same amount agree.
func SkewClients(f *harness.Fleet, c Topology, t Target, offset time.Duration) harness.Nemesis {
	return ofClients("skew-clients-"+t.String(), harness.ShiftsClock, f, c, t,
		func(_ context.Context, s struckGroups, _ *rand.Rand) (harness.Injection, error) {
			return skew(s, offset)
		})
}

func skew(s struckGroups, ahead time.Duration) (harness.Injection, error) {
	if ahead == 0 {
		return harness.Injection{}, errors.New(
			"a clock that is ahead by 0 is right: say by how much, such as 1m or -1m")
	}
	inj := harness.Injection{
		Targets: s.names, Heal: s.each(func(g int) func() { return s.fleet.Skew(g, ahead) }),
	}
	for i, g := range s.groups {
		if s.fleet.Ahead(g) == 0 {
			return inj, fmt.Errorf("the clocks of %s are right: another skew is in force that makes up for %v",
				s.names[i], ahead)
		}
	}
	wrong := "fast"
	if ahead < 0 {
		wrong = "slow"
	}
	inj.Bite = fmt.Sprintf("the clocks of %d clients of %s are %v %s", s.clients(), s, ahead.Abs(), wrong)
	return inj, nil
}
