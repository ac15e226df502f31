package coordinate

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// If a share ends or is given up before its run begins, it is offered again. Otherwise the run would wait for its last
// generator for ever.
func TestAShareThatIsFreeAgainIsOffered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		memory := workqueue.NewMemory(time.Second)
		defer cancel()
		require.NoError(t, OfferShares(ctx, memory.As("coordinator"), "v1", 1))
		w, seen := memory.As("w"), map[string]bool{}
		take := func() workqueue.Job {
			job, err := w.Take(ctx)
			require.NoError(t, err)
			return job
		}
		for range 3 {
			job := take()
			require.False(t, seen[job.Unit().ID()], "it is another share")
			seen[job.Unit().ID()] = true
			require.NoError(t, job.Done(ctx, workqueue.Result{Claim: KindShare})) // it is over

			given := ""
			for range workqueue.Tries { // it is given up
				job := take()
				require.Contains(t, []string{"", job.Unit().ID()}, given)
				given = job.Unit().ID()
				require.NoError(t, job.Fail(ctx, "lost"))
			}
			require.False(t, seen[given])
			seen[given] = true
		}
	})
}
