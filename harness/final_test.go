package harness_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// finisher is a fake with final reads.
type finisher struct {
	*fake
	first func(context.Context, *harness.Session)
}

func (f finisher) Finish(ctx context.Context, s *harness.Session) error {
	f.first(ctx, s)
	s.Invoke(harness.Op{Kind: harness.Read}, func(op *harness.Op) { op.Outcome = harness.OK })
	return nil
}

// finishing runs a fake whose final reads may take the given time.
func finishing(ctx context.Context, t *testing.T, final time.Duration,
	first func(context.Context, *harness.Session)) harness.Result {
	t.Helper()
	s := spec(&fake{}, &counter{})
	s.Workload, s.FinalTimeout = finisher{&fake{}, first}, final
	res, err := harness.Run(ctx, s)
	require.NoError(t, err)
	return res
}

func TestFinalReadsHaveTheTimeThatTheyAreGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for given, want := range map[time.Duration]time.Duration{0: 30 * time.Second, time.Minute: time.Minute} {
			var within time.Duration
			finishing(t.Context(), t, given, func(ctx context.Context, _ *harness.Session) {
				by, _ := ctx.Deadline()
				within = time.Until(by)
			})
			require.Equal(t, want, within)
		}
	})
}

// The final reads of an interrupted run stop waiting, but still read.
func TestAnInterruptEndsTheWaitOfTheFinalReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		began := time.Now()
		res := finishing(ctx, t, 2*time.Hour,
			func(_ context.Context, s *harness.Session) { interrupt(); s.Sleep(time.Hour) })
		require.Less(t, time.Since(began), time.Minute)
		require.NotNil(t, res.Judgements)
		all := opsOf(t, res.History)
		require.Equal(t, harness.Read, all[len(all)-1].Kind)
	})
}
