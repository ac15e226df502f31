package nemesis

import (
	"context"
	"errors"
	"fmt"

	"github.com/doublegrant/doublegrant/harness"
)

// ClientPausable is what ClientPause and ClientPauseWrites need of a cluster.
type ClientPausable interface {
	nodes
	probed
	// AcceptsWrites makes the node write and remove a key of the harness, a key that no client sees.
	AcceptsWrites(ctx context.Context, node string) error
	// PauseClients makes the node execute nothing but the commands of its replicas, until resume is called. If
	// onlyWrites is true, only commands that may write have to wait.
	PauseClients(ctx context.Context, node string, onlyWrites bool) (resume func(context.Context) error, err error)
}

// ClientPause makes Redis nodes keep every command waiting (CLIENT PAUSE ALL), commands of Sentinels included. A
// primary is replaced if the pause outlasts Sentinels' patience, while its links to its replicas stay up. The node
// expires no key during the pause. A client that asks after the pause finds such keys gone all the same. The bite: a
// PING gets no answer. After the heal everything that waited is executed.
func ClientPause(c ClientPausable, t Target) harness.Nemesis {
	return ofRedisNodes("client-pause-"+t.String(), harness.DefersCommands, c, t, clientPause{c, false}.strike)
}

// ClientPauseWrites does what ClientPause does, but only to commands that may write, scripts included. Reads and PINGs
// are answered. PUBLISH waits too, and holds up what a Sentinel sends after it on the same connection. The Sentinel
// makes a new connection after half of down-after, so it does not miss the primary. The bite: a PING is answered and a
// write is not.
func ClientPauseWrites(c ClientPausable, t Target) harness.Nemesis {
	return ofRedisNodes("client-pause-writes-"+t.String(), harness.DefersWrites, c, t, clientPause{c, true}.strike)
}

type clientPause struct {
	c          ClientPausable
	onlyWrites bool
}

func (p clientPause) strike(ctx context.Context, chosen targets) (harness.Injection, error) {
	if err := chosen.each(func(node string) error { return p.checkUnpaused(ctx, node) }); err != nil {
		return harness.Injection{}, err
	}
	resumes := map[string]func(context.Context) error{}
	inj := harness.Injection{Targets: chosen.nodes, Heal: func(ctx context.Context) error {
		return chosen.eachAtOnce(func(node string) error {
			if resume := resumes[node]; resume != nil {
				return resume(ctx)
			}
			return nil
		})
	}}
	err := chosen.each(func(node string) (err error) {
		resumes[node], err = p.c.PauseClients(ctx, node, p.onlyWrites)
		return err
	})
	if err != nil {
		return inj, err
	}
	inj.Bite, err = p.prove(ctx, chosen)
	return inj, err
}

// checkUnpaused waits until the node answers, and returns an error if its clients are paused already. A node has only
// one pause: a second pause would merge with the first, and the first heal would end both.
func (p clientPause) checkUnpaused(ctx context.Context, node string) error {
	if err := awaitReachable(ctx, p.c, node); err != nil {
		return err
	}
	if err := p.c.AcceptsWrites(ctx, node); isTimeout(err) {
		return fmt.Errorf("%s answers no write before the pause: let the one in force heal first: %w", node, err)
	}
	return nil
}

func (p clientPause) prove(ctx context.Context, chosen targets) (string, error) {
	if !p.onlyWrites {
		return fmt.Sprintf("no answer to PING from %v", chosen), chosen.each(func(node string) error {
			return checkSilent(ctx, p.c, node, "its clients are paused")
		})
	}
	return fmt.Sprintf("%v answers PING and no write", chosen), chosen.each(func(node string) error {
		if err := awaitAnswer(ctx, p.c, p.c.ClientGroups()[0], node); err != nil {
			return fmt.Errorf("%s, whose clients' writes are paused, does not answer a PING: %w", node, err)
		}
		if err := p.c.AcceptsWrites(ctx, node); !isTimeout(err) {
			return fmt.Errorf("%s answers a write although writes are paused: %v", node, err)
		}
		return nil
	})
}

// isTimeout reports whether err says that no answer came in time.
func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
