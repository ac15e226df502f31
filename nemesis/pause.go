package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/doublegrant/doublegrant/harness"
)

// Pausable is what Pause needs of a cluster.
type Pausable interface {
	nodes
	Pause(ctx context.Context, node string) error
	Resume(node string) error
	Probe(ctx context.Context, from, to string) error
}

// Pause stops nodes with SIGSTOP, as a frozen virtual machine or a full disk does: connections stay open and fill up.
// The bite: a new PING gets no answer. The proof for a primary with Sentinels: another node is promoted. The heal is
// SIGCONT, after which a node first serves what waited in its sockets. A Sentinel that was stopped for two seconds does
// nothing for another two, since it does not trust its clock (TILT).
func Pause(c Pausable, t Target) harness.Nemesis { return pause{c, t} }

// PausePrimary pauses the primary.
func PausePrimary(c Pausable) harness.Nemesis { return Pause(c, Primary()) }

type pause struct {
	c      Pausable
	target Target
}

func (p pause) Name() string { return "pause-" + p.target.String() }

func (p pause) Inject(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
	chosen, err := chooseTargets(ctx, p.c, p.target, rng)
	if err != nil {
		return harness.Injection{}, err
	}
	inj := harness.Injection{
		Targets: chosen.nodes,
		Bite:    fmt.Sprintf("%v stopped, no answer to PING", chosen),
		Prove:   chosen.failover(p.c),
		Heal:    func(context.Context) error { return chosen.eachAtOnce(p.c.Resume) },
	}
	stop := func(node string) error { return p.c.Pause(ctx, node) }
	if inj, err = chosen.breakExclusively(ctx, p.c, inj, p.answers(ctx), stop); err != nil {
		return inj, err
	}
	return inj, chosen.each(func(node string) error {
		if p.c.Probe(ctx, p.c.ClientGroups()[0], node) == nil {
			return fmt.Errorf("%s answers although it is stopped", node)
		}
		return nil
	})
}

// answers returns the check that a node answers, so that its stop can be seen.
func (p pause) answers(ctx context.Context) func(node string) error {
	return func(node string) error {
		if _, err := p.c.Do(ctx, node, "PING"); err != nil {
			return fmt.Errorf("%s is down or stopped already: %w", node, err)
		}
		return nil
	}
}
