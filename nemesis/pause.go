package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/doublegrant/doublegrant/harness"
)

// Pausable is the part of a cluster that Pause needs.
type Pausable interface {
	nodes
	Pause(ctx context.Context, node string) error
	Resume(node string) error
	Probe(ctx context.Context, from, to string) error
}

// Pause stops nodes with SIGSTOP, as a frozen virtual machine or a full disk does: connections stay open and fill up. The
// bite: a new PING gets no answer. The proof, of a primary with Sentinels: another node is promoted. The heal: SIGCONT,
// after which a node first serves what waited in its sockets. A Sentinel that was stopped for two seconds does nothing
// for another two, since it no longer trusts its clock (TILT).
func Pause(c Pausable, t Target) harness.Nemesis { return pause{c, t} }

// PausePrimary is Pause of the primary.
func PausePrimary(c Pausable) harness.Nemesis { return Pause(c, Primary()) }

type pause struct {
	c     Pausable
	hosts Target
}

func (p pause) Name() string { return "pause-" + p.hosts.String() }

func (p pause) Inject(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
	a, err := chooseTargets(ctx, p.c, p.hosts, rng)
	if err != nil {
		return harness.Injection{}, err
	}
	inj := harness.Injection{
		Targets: a.hosts,
		Bite:    fmt.Sprintf("%v stopped, no answer to PING", a),
		Prove:   a.failover(p.c),
		Heal:    func(context.Context) error { return a.eachAtOnce(p.c.Resume) },
	}
	if err := a.eachExclusively(ctx, p.c, p.answers(ctx), func(node string) error { return p.c.Pause(ctx, node) }); err != nil {
		return withoutHealIfUnfit(inj, err)
	}
	return inj, a.each(func(node string) error {
		if p.c.Probe(ctx, p.c.ClientGroups()[0], node) == nil {
			return fmt.Errorf("%s answers although it is stopped", node)
		}
		return nil
	})
}

// answers returns the check that a node answers, so that stopping it can be seen.
func (p pause) answers(ctx context.Context) func(node string) error {
	return func(node string) error {
		if _, err := p.c.Do(ctx, node, "PING"); err != nil {
			return fmt.Errorf("%s is down or stopped already: %w", node, err)
		}
		return nil
	}
}
