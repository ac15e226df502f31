package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// RestartAtOnce kills nodes with SIGKILL and starts them again before any Sentinel takes them for down, as a supervisor
// does. Sentinels see a new run id and log +reboot, and do nothing about it.
//
// A primary without an append-only file comes back empty. Its replicas drop their data and follow it, and all
// acknowledged writes are lost without any failover. With such a file nothing is lost, unless appendfsync is everysec:
// during an fsync Redis acknowledges commands that have not left the process.
//
// The bite: another process answers. It also says how many keys the node had before and has after. The proof for a
// primary with Sentinels: no other node is promoted for 1.5 s. A restart that takes a second or more, so that Sentinels
// act, is not proved. There is nothing to heal.
func RestartAtOnce(c Killable, t Target) harness.Nemesis {
	return ofNodes("restart-"+t.String()+"-at-once", harness.EndsProcess|harness.StartsProcess, c, t,
		restartAtOnce{c}.strike)
}

type restartAtOnce struct{ c Killable }

// noFailoverFor is how long a restarted primary is watched. Sentinels that took it for down would have replaced it by
// then.
const noFailoverFor = 1500 * time.Millisecond

func (r restartAtOnce) strike(ctx context.Context, chosen targets) (harness.Injection, error) {
	inj := harness.Injection{Targets: chosen.nodes, Heal: chosen.restart(r.c)}
	if chosen.old != "" {
		inj.Prove = func(ctx context.Context) (string, error) { return r.checkUnnoticed(ctx, chosen.old) }
	}
	var seen []string
	inj, err := chosen.breakExclusively(ctx, r.c, inj, checkRunning(r.c), func(node string) error {
		what, err := r.restart(ctx, node)
		seen = append(seen, what)
		return err
	})
	inj.Bite = strings.Join(seen, "; ")
	return inj, err
}

// restart replaces the node's process by another, and says what became of its keys.
func (r restartAtOnce) restart(ctx context.Context, node string) (string, error) {
	before, err := r.inspect(ctx, node)
	if err != nil {
		return "", err
	}
	began := time.Now()
	if err := r.c.Kill(node); err != nil {
		return "", err
	}
	if err := r.c.Restart(ctx, node); err != nil {
		return "", err
	}
	took := time.Since(began)
	after, err := r.inspect(ctx, node)
	if err != nil {
		return "", err
	}
	if after.runID == before.runID {
		return "", fmt.Errorf("%s is still the same process", node)
	}
	what := fmt.Sprintf("%s is another process after %v", node, took.Round(time.Millisecond))
	if after.keys != nil {
		what += fmt.Sprintf(", with %d keys where there were %d", after.keys, before.keys)
	}
	return what, nil
}

// nodeState holds what a node says of itself.
type nodeState struct {
	runID string
	keys  any // number of keys; nil for a Sentinel
}

func (r restartAtOnce) inspect(ctx context.Context, node string) (p nodeState, err error) {
	if p.runID, err = infoField(ctx, r.c, node, "server", "run_id"); err != nil {
		return p, err
	}
	if slices.Contains(r.c.RedisNodes(), node) {
		p.keys, err = r.c.Do(ctx, node, "DBSIZE")
	}
	return p, err
}

// checkUnnoticed checks that no node other than the old primary is promoted within noFailoverFor.
func (r restartAtOnce) checkUnnoticed(ctx context.Context, old string) (string, error) {
	watching, cancel := context.WithTimeout(ctx, noFailoverFor)
	defer cancel()
	name, err := r.c.AwaitPromotion(watching, old)
	switch {
	case err == nil:
		return "", fmt.Errorf("%s was promoted: the restart of %s was too slow to go unnoticed", name, old)
	case ctx.Err() != nil:
		return "", errors.New("the fault ended too soon to tell that no Sentinel noticed: let it last 2s or more")
	default:
		return fmt.Sprintf("no failover: %s is still primary", old), nil
	}
}
