package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/doublegrant/doublegrant/harness"
)

// Pausable is what PausePrimary needs.
type Pausable interface {
	primary
	Sentinels() []string
	ClientGroups() []string
	Pause(ctx context.Context, node string) error
	Resume(node string) error
	Probe(ctx context.Context, from, to string) error
}

// PausePrimary stops the primary with SIGSTOP, as a long garbage collection, a frozen virtual machine or a full disk
// does: connections stay open and fill up. The bite: a new PING gets no answer. The proof, where there are Sentinels:
// another node is promoted. The heal: SIGCONT, after which the old primary first serves what waited in its sockets.
func PausePrimary(c Pausable) harness.Nemesis { return pausePrimary{c} }

type pausePrimary struct{ c Pausable }

func (pausePrimary) Name() string { return "pause-primary" }

func (p pausePrimary) Inject(ctx context.Context, _ *rand.Rand) (harness.Injection, error) {
	old, err := p.c.Primary(ctx)
	if err != nil {
		return harness.Injection{}, err
	}
	inj := harness.Injection{
		Targets: []string{old},
		Bite:    fmt.Sprintf("%s is stopped and answers no PING", old),
		Heal:    func(context.Context) error { return p.c.Resume(old) },
	}
	if len(p.c.Sentinels()) > 0 {
		inj.Prove = func(ctx context.Context) (string, error) { return promoted(ctx, p.c, old) }
	}
	if err := p.c.Pause(ctx, old); err != nil {
		return inj, err
	}
	if p.c.Probe(ctx, p.c.ClientGroups()[0], old) == nil {
		return inj, fmt.Errorf("%s answers although it is stopped", old)
	}
	return inj, nil
}
