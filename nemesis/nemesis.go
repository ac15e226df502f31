// Package nemesis breaks systems, one fault a file.
//
// A fault acts through a small interface that names just what it needs; harness/cluster implements them all. Inject
// returns once a probe has shown that the fault bites; Prove waits for its consequence; Heal undoes it. Schedules,
// records, time limits and the wait for a whole system after the heal belong to harness.Run.
package nemesis

import (
	"context"
	"fmt"
)

// A primary knows who is primary.
type primary interface {
	// Primary names the node that most Sentinels hold to be primary.
	Primary(ctx context.Context) (string, error)
	// AwaitPromotion returns the name of a node other than old once that node says that it is primary.
	AwaitPromotion(ctx context.Context, old string) (string, error)
}

// promoted waits for a failover away from old.
func promoted(ctx context.Context, c primary, old string) (string, error) {
	name, err := c.AwaitPromotion(ctx, old)
	if err != nil {
		return "", fmt.Errorf("no failover: %w", err)
	}
	return name + " was promoted", nil
}
