package nemesis

import (
	"context"
	"fmt"

	"github.com/doublegrant/doublegrant/harness"
)

// Flushable is what ScriptFlush needs of a cluster.
type Flushable interface{ nodes }

// ScriptFlush empties the script cache of Redis nodes, as a failover or a restart does too. EVALSHA answers NOSCRIPT
// until a client loads the script again. The bite: a script that was just loaded is there before, and not after. The
// fault is over at once, and there is nothing to heal.
func ScriptFlush(c Flushable, t Target) harness.Nemesis {
	return ofRedisNodes("script-flush-"+t.String(), harness.DropsScripts, c, t,
		func(ctx context.Context, chosen targets) (harness.Injection, error) {
			return harness.Injection{
				Targets: chosen.nodes,
				Bite:    fmt.Sprintf("%v forgot a script just loaded", chosen),
				Heal:    nothingToHeal,
			}, chosen.each(func(node string) error { return flushScripts(ctx, c, node) })
		})
}

func flushScripts(ctx context.Context, c Flushable, node string) error {
	sha, err := c.Do(ctx, node, "SCRIPT", "LOAD", "return 'harness'")
	if err != nil {
		return err
	}
	if known, err := hasScript(ctx, c, node, sha); err != nil || !known {
		return fmt.Errorf("%s does not know a script just loaded: %w", node, err)
	}
	if _, err := c.Do(ctx, node, "SCRIPT", "FLUSH", "SYNC"); err != nil {
		return err
	}
	if known, err := hasScript(ctx, c, node, sha); err != nil || known {
		return fmt.Errorf("%s knows a script after a flush: %w", node, err)
	}
	return nil
}

func hasScript(ctx context.Context, c Flushable, node string, sha any) (bool, error) {
	reply, err := c.Do(ctx, node, "SCRIPT", "EXISTS", sha)
	return fmt.Sprint(reply) == "[1]", err
}
