package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/doublegrant/doublegrant/harness"
)

// Killable is what KillPrimary needs.
type Killable interface {
	primary
	Kill(node string) error
	Running(node string) bool
	Restart(ctx context.Context, node string) error
}

// KillPrimary ends the primary with SIGKILL. The bite: its process is gone. The proof: another node is promoted. The
// heal: the old primary starts again, with an empty memory, and has to become a replica.
func KillPrimary(c Killable) harness.Nemesis { return killPrimary{c} }

type killPrimary struct{ c Killable }

func (killPrimary) Name() string { return "kill-primary" }

func (k killPrimary) Inject(ctx context.Context, _ *rand.Rand) (harness.Injection, error) {
	old, err := k.c.Primary(ctx)
	if err != nil {
		return harness.Injection{}, err
	}
	inj := harness.Injection{
		Targets: []string{old},
		Bite:    fmt.Sprintf("%s was killed", old),
		Prove:   func(ctx context.Context) (string, error) { return promoted(ctx, k.c, old) },
		Heal:    func(ctx context.Context) error { return k.c.Restart(ctx, old) },
	}
	if err := k.c.Kill(old); err != nil {
		return inj, err
	}
	if k.c.Running(old) {
		return inj, fmt.Errorf("%s survived SIGKILL", old)
	}
	return inj, nil
}
