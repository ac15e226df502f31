package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
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
	return downNodes{
		c: c, target: t, name: "kill-" + t.String(), done: "killed",
		end: func(_ context.Context, node string) error { return c.Kill(node) },
	}
}

// KillPrimary kills the primary, which comes back as a replica.
func KillPrimary(c Killable) harness.Nemesis { return Kill(c, Primary()) }

// downNodes takes nodes down and starts them again.
type downNodes struct {
	c      Killable
	target Target
	name   string
	done   string // says in the bite what was done to the nodes
	end    func(ctx context.Context, node string) error
}

func (d downNodes) Name() string { return d.name }

func (d downNodes) Inject(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
	chosen, err := chooseTargets(ctx, d.c, d.target, rng)
	if err != nil {
		return harness.Injection{}, err
	}
	inj := harness.Injection{
		Targets: chosen.nodes,
		Bite:    fmt.Sprintf("%s %v", d.done, chosen),
		Prove:   chosen.failover(d.c),
		Heal: func(ctx context.Context) error {
			return chosen.eachAtOnce(func(node string) error { return d.c.Restart(ctx, node) })
		},
	}
	if p, err := d.c.Primary(ctx); err == nil && d.onlyReplicas(chosen, p) {
		inj.Prove = func(ctx context.Context) (string, error) { return d.awaitMissing(ctx, p, len(chosen.nodes)) }
	}
	return chosen.breakExclusively(ctx, d.c, inj, checkRunning(d.c), func(node string) error {
		if err := d.end(ctx, node); err != nil {
			return err
		}
		if d.c.Running(node) {
			return fmt.Errorf("%s still runs", node)
		}
		return nil
	})
}

// onlyReplicas reports whether all the nodes are replicas of the primary.
func (d downNodes) onlyReplicas(chosen targets, primary string) bool {
	return !slices.ContainsFunc(chosen.nodes, func(node string) bool {
		return node == primary || !slices.Contains(d.c.RedisNodes(), node)
	})
}

// awaitMissing waits until the primary has lost as many replicas as fewer says. It assumes one primary, to which all
// other replicas are connected: if another fault keeps one of those away, it returns too early.
func (d downNodes) awaitMissing(ctx context.Context, primary string, fewer int) (string, error) {
	others := len(d.c.RedisNodes()) - 1 - fewer
	err := pollUntil(ctx, func() error {
		value, err := infoField(ctx, d.c, primary, "replication", "connected_slaves")
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
