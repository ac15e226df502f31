package nemesis

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/doublegrant/doublegrant/harness"
)

// Killable is what Kill needs of a cluster.
type Killable interface {
	nodes
	Kill(node string) error
	Running(node string) bool
	Restart(ctx context.Context, node string) error
}

// Kill ends nodes with SIGKILL. They stay down for as long as the fault lasts. The bite: the process is gone. The proof
// for a primary with Sentinels: another node is promoted. The proof for replicas: their primary has noticed. The heal
// starts the nodes again, with an empty memory unless there is an append-only file. Inject returns an error for a node
// that another fault has ended already.
func Kill(c Killable, t Target) harness.Nemesis {
	end := func(_ context.Context, node string) error { return c.Kill(node) }
	return ofNodes("kill-"+t.String(), harness.EndsProcess, c, t, takeDown(c, "killed", end))
}

// KillPrimary kills the primary, which comes back as a replica.
func KillPrimary(c Killable) harness.Nemesis { return Kill(c, Primary()) }

// Restartable is what Restart needs of a cluster.
type Restartable interface {
	Killable
	Terminate(ctx context.Context, node string) error
}

// Restart ends nodes in an orderly way with SIGTERM, as an upgrade does. They stay down for as long as the fault lasts.
// A primary first gives its replicas time to catch up. Bite, proof and heal are those of Kill.
func Restart(c Restartable, t Target) harness.Nemesis {
	return ofNodes("restart-"+t.String(), harness.EndsProcess, c, t, takeDown(c, "shut down", c.Terminate))
}

// takeDown returns a strike that ends each node by calling the given function. Its heal starts the nodes again. In the
// bite the parameter done, a word such as "killed", says what happened to the nodes.
func takeDown(c Killable, done string, end func(ctx context.Context, node string) error) strike {
	return func(ctx context.Context, chosen targets) (harness.Injection, error) {
		inj := harness.Injection{
			Targets: chosen.nodes,
			Bite:    fmt.Sprintf("%s %v", done, chosen),
			Prove:   chosen.failover(c),
			Heal:    chosen.restart(c),
		}
		if p, err := c.Primary(ctx); err == nil && onlyReplicas(c, chosen, p) {
			inj.Prove = func(ctx context.Context) (string, error) { return awaitMissing(ctx, c, p, len(chosen.nodes)) }
		}
		return chosen.breakExclusively(ctx, c, inj, checkRunning(c), func(node string) error {
			if err := end(ctx, node); err != nil {
				return err
			}
			if c.Running(node) {
				return fmt.Errorf("%s still runs", node)
			}
			return nil
		})
	}
}

// restart returns the heal that starts all the nodes.
func (chosen targets) restart(c Killable) func(context.Context) error {
	return func(ctx context.Context) error {
		return chosen.eachAtOnce(func(node string) error { return c.Restart(ctx, node) })
	}
}

// onlyReplicas reports whether all the nodes are replicas of the primary.
func onlyReplicas(c nodes, chosen targets, primary string) bool {
	return !slices.ContainsFunc(chosen.nodes, func(node string) bool {
		return node == primary || !slices.Contains(c.RedisNodes(), node)
	})
}

// awaitMissing waits until the primary has lost the given number of replicas. It assumes one primary, to which all
// other replicas are connected. If another fault keeps a further replica away, awaitMissing returns too early.
func awaitMissing(ctx context.Context, c nodes, primary string, count int) (string, error) {
	others := len(c.RedisNodes()) - 1 - count
	err := pollUntil(ctx, func() error {
		value, err := infoField(ctx, c, primary, "replication", "connected_slaves")
		if err != nil {
			return err
		}
		if n, err := strconv.Atoi(value); err != nil || n > others {
			return fmt.Errorf("%s still has %s replicas, not %d", primary, value, others)
		}
		return nil
	})
	return fmt.Sprintf("%s has %d replicas left", primary, others), err
}
