package explore

import (
	"context"
	"errors"
	"strings"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
)

// This file detects that clients wait for replicas, so that programs need not declare it. When a search meets its first
// WAIT, it begins again on a Redis that has replicas, also after a failover.

// errAwaitsReplicas ends a search whose clients wait for replicas when its Redis has none.
var errAwaitsReplicas = errors.New("explore: clients wait for the acknowledgement of replicas, and there are none")

// withReplicas calls a function. If clients turn out to wait for replicas, it calls the function again, with replicas.
func withReplicas[T any](spec Spec, do func(Spec) (T, error)) (T, error) {
	out, err := do(spec)
	if !errors.Is(err, errAwaitsReplicas) {
		return out, err
	}
	spec.Program.Replicas = true
	return do(spec)
}

// replace starts a new world for s, stores it in *at, and stops w.
func (w *world) replace(ctx context.Context, s *Spec, at **world) error {
	other, err := newWorld(ctx, s)
	if err != nil {
		return err
	}
	*at = other
	return w.stop()
}

// checkReplicas returns an error if the next command waits for something that the search's Redis does not have.
func (ex *live) checkReplicas(next *command.Command) error {
	switch {
	case next.WantedAcks() > 0 && !ex.spec.Program.Replicas:
		return errAwaitsReplicas
	case command.Name(next.Args) == "waitaof" && ex.w.HasCommand("WAITAOF"):
		return schedule.Stopped("%s waits until writes are on disk, which cannot be explored: run it under load "+
			"instead", strings.ToUpper(string(next.Args[0])))
	}
	return nil
}
