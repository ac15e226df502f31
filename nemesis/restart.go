package nemesis

import (
	"context"

	"github.com/doublegrant/doublegrant/harness"
)

// Restartable is what Restart needs of a cluster.
type Restartable interface {
	Killable
	Terminate(ctx context.Context, node string) error
}

// Restart ends nodes in an orderly way with SIGTERM, as an upgrade does. They stay down for as long as the fault lasts.
// A primary first gives its replicas time to catch up. Bite, proof and heal are those of Kill.
func Restart(c Restartable, t Target) harness.Nemesis {
	return downNodes{c: c, target: t, name: "restart-" + t.String(), done: "shut down", end: c.Terminate}
}
