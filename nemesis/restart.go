package nemesis

import (
	"context"

	"github.com/doublegrant/doublegrant/harness"
)

// Restartable is the part of a cluster that Restart needs.
type Restartable interface {
	Killable
	Terminate(ctx context.Context, node string) error
}

// Restart ends nodes in good order with SIGTERM, as an upgrade does, and they stay down for as long as the fault lasts. A
// primary first gives its replicas the time to catch up. Bite, proof and heal are those of Kill.
func Restart(c Restartable, t Target) harness.Nemesis {
	return downNodes{c, t, "restart-" + t.String(), "shut down", c.Terminate}
}
