package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/doublegrant/doublegrant/harness"
)

// Flushable is what ScriptFlush needs of a cluster.
type Flushable interface{ nodes }

// ScriptFlush empties the script cache of Redis nodes, as a failover or a restart does too. EVALSHA answers NOSCRIPT
// until a client loads the script again. The bite: a script that was just loaded is there before, and not after. The
// fault is over at once, and there is nothing to heal.
func ScriptFlush(c Flushable, t Target) harness.Nemesis { return scriptFlush{c, t} }

type scriptFlush struct {
	c      Flushable
	target Target
}

func (s scriptFlush) Name() string { return "script-flush-" + s.target.String() }

func (s scriptFlush) Inject(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
	chosen, err := chooseRedisTargets(ctx, s.c, s.target, rng)
	if err != nil {
		return harness.Injection{}, err
	}
	return harness.Injection{
		Targets: chosen.nodes,
		Bite:    fmt.Sprintf("%v forgot a script just loaded", chosen),
		Heal:    nothingToHeal,
	}, chosen.each(func(node string) error { return s.flush(ctx, node) })
}

func (s scriptFlush) flush(ctx context.Context, node string) error {
	sha, err := s.c.Do(ctx, node, "SCRIPT", "LOAD", "return 'harness'")
	if err != nil {
		return err
	}
	if known, err := s.hasScript(ctx, node, sha); err != nil || !known {
		return fmt.Errorf("%s does not know a script just loaded: %w", node, err)
	}
	if _, err := s.c.Do(ctx, node, "SCRIPT", "FLUSH", "SYNC"); err != nil {
		return err
	}
	if known, err := s.hasScript(ctx, node, sha); err != nil || known {
		return fmt.Errorf("%s knows a script after a flush: %w", node, err)
	}
	return nil
}

func (s scriptFlush) hasScript(ctx context.Context, node string, sha any) (bool, error) {
	reply, err := s.c.Do(ctx, node, "SCRIPT", "EXISTS", sha)
	return fmt.Sprint(reply) == "[1]", err
}
