package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/doublegrant/doublegrant/harness"
)

// Killable is the part of a cluster that Kill needs.
type Killable interface {
	nodes
	Kill(node string) error
	Running(node string) bool
	Restart(ctx context.Context, node string) error
}

// Kill ends nodes with SIGKILL, and they stay down for as long as the fault lasts. The bite: the process is gone. The
// proof for a primary with Sentinels: another node is promoted. The proof for replicas: their primary has noticed. The heal
// starts them again, with an empty memory unless there is an append-only file. Inject returns an error for a node that another
// fault has ended already.
func Kill(c Killable, t Target) harness.Nemesis {
	return downNodes{c, t, "kill-" + t.String(), "killed", func(_ context.Context, node string) error { return c.Kill(node) }}
}

// KillPrimary is Kill of the primary. It comes back as a replica.
func KillPrimary(c Killable) harness.Nemesis { return Kill(c, Primary()) }

// downNodes takes nodes down and starts them again.
type downNodes struct {
	c          Killable
	hosts      Target
	name, what string
	end        func(ctx context.Context, node string) error
}

func (d downNodes) Name() string { return d.name }

func (d downNodes) Inject(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
	a, err := chooseTargets(ctx, d.c, d.hosts, rng)
	if err != nil {
		return harness.Injection{}, err
	}
	inj := harness.Injection{
		Targets: a.hosts,
		Bite:    fmt.Sprintf("%s %v", d.what, a),
		Prove:   a.failover(d.c),
		Heal: func(ctx context.Context) error {
			return a.eachAtOnce(func(node string) error { return d.c.Restart(ctx, node) })
		},
	}
	if p, err := d.c.Primary(ctx); err == nil && d.onlyReplicas(a, p) {
		inj.Prove = func(ctx context.Context) (string, error) { return d.awaitMissing(ctx, p, len(a.hosts)) }
	}
	return withoutHealIfUnfit(inj, a.eachExclusively(ctx, d.c, checkRunning(d.c), func(node string) error {
		if err := d.end(ctx, node); err != nil {
			return err
		}
		if d.c.Running(node) {
			return fmt.Errorf("%s still runs", node)
		}
		return nil
	}))
}

// onlyReplicas reports whether all the hosts are replicas of the primary.
func (d downNodes) onlyReplicas(a targets, primary string) bool {
	return !slices.ContainsFunc(a.hosts, func(h string) bool { return h == primary || !slices.Contains(d.c.RedisNodes(), h) })
}

// awaitMissing waits until the primary counts so many replicas fewer than it should have.
func (d downNodes) awaitMissing(ctx context.Context, primary string, fewer int) (string, error) {
	left := len(d.c.RedisNodes()) - 1 - fewer
	err := pollUntil(ctx, func() error {
		value, err := infoField(ctx, d.c, primary, "replication", "connected_slaves")
		if err != nil {
			return err
		}
		if n, err := strconv.Atoi(value); err != nil || n > left {
			return fmt.Errorf("%s still has %s replicas, not %d", primary, value, left)
		}
		return nil
	})
	return fmt.Sprintf("%s has %d replicas left", primary, left), err
}
