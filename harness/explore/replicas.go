package explore

import (
	"context"
	"errors"
	"strings"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
)

// This file sees whether clients wait for replicas. Nobody has to declare it: a search that meets its first WAIT begins
// again, on a Redis that has replicas, and has some after a failover as well.

// errAwaitsReplicas ends a search whose clients wait for replicas, and whose Redis has none.
var errAwaitsReplicas = errors.New("explore: clients wait for the acknowledgement of replicas, and there are none")

// withReplicas does something with a spec, and once more with replicas if its clients turn out to wait for some.
func withReplicas[T any](spec Spec, do func(Spec) (T, error)) (T, error) {
	out, err := do(spec)
	if !errors.Is(err, errAwaitsReplicas) {
		return out, err
	}
	spec.Program.Replicas = true
	return do(spec)
}

// replace puts a new world in the place of w, for a spec that says of its program what was seen.
func (w *world) replace(ctx context.Context, s *Spec, at **world) error {
	other, err := newWorld(ctx, s)
	if err != nil {
		return err
	}
	*at = other
	return w.stop()
}

// checkReplicas returns an error if a command that is about to be sent waits for what the search's Redis does not have.
func (ex *live) checkReplicas(next *command.Command) error {
	switch {
	case next.WantedAcks() > 0 && !ex.spec.Program.Replicas:
		return errAwaitsReplicas
	case command.Name(next.Args) == "waitaof" && ex.w.Knows("WAITAOF"):
		return schedule.Stopped("%s waits until a disk has what was written, which cannot be explored: put it under "+
			"load instead", strings.ToUpper(string(next.Args[0])))
	}
	return nil
}
