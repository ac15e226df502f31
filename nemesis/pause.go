package nemesis

import (
	"context"
	"fmt"

	"github.com/doublegrant/doublegrant/harness"
)

// Pausable is what Pause needs of a cluster.
type Pausable interface {
	nodes
	probed
	Pause(ctx context.Context, node string) error
	Resume(node string) error
}

// Pause stops nodes with SIGSTOP, as a frozen virtual machine or a full disk does: connections stay open and fill up.
// The bite: a new PING gets no answer. The proof for a primary with Sentinels: another node is promoted. The heal is
// SIGCONT, after which a node first serves what waited in its sockets. A Sentinel that was stopped for two seconds does
// nothing for another two, since it does not trust its clock (TILT).
func Pause(c Pausable, t Target) harness.Nemesis {
	return ofNodes("pause-"+t.String(), harness.StopsProcess, c, t, stop(c))
}

// PausePrimary pauses the primary.
func PausePrimary(c Pausable) harness.Nemesis { return Pause(c, Primary()) }

func stop(c Pausable) strike {
	return func(ctx context.Context, chosen targets) (harness.Injection, error) {
		inj := harness.Injection{
			Targets: chosen.nodes,
			Bite:    fmt.Sprintf("%v stopped, no answer to PING", chosen),
			Prove:   chosen.failover(c),
			Heal:    func(context.Context) error { return chosen.eachAtOnce(c.Resume) },
		}
		answers := func(node string) error { // otherwise its stop could not be seen
			if _, err := c.Do(ctx, node, "PING"); err != nil {
				return fmt.Errorf("%s is down or stopped already: %w", node, err)
			}
			return nil
		}
		pause := func(node string) error { return c.Pause(ctx, node) }
		inj, err := chosen.breakExclusively(ctx, c, inj, answers, pause)
		if err != nil {
			return inj, err
		}
		return inj, chosen.each(func(node string) error { return checkSilent(ctx, c, node, "it is stopped") })
	}
}
