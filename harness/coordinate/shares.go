package coordinate

import (
	"context"
	"crypto/rand"

	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// PutShares puts n shares of a run's clients, for as many workers. version is that of this program.
func PutShares(ctx context.Context, q workqueue.Queue, version string, n int) error {
	run := rand.Text()
	for i := range n {
		u, err := newUnit(KindShare, version, "", shareUnit{run, i + 1})
		if err != nil {
			return err
		}
		if err := q.Put(ctx, u); err != nil {
			return err
		}
	}
	return nil
}
