package harness_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// finisher is a fake that notes how long its final read may take.
type finisher struct {
	*fake
	within time.Duration
}

func (f *finisher) Finish(ctx context.Context, s *harness.Session) error {
	by, _ := ctx.Deadline()
	f.within = time.Until(by)
	s.Invoke(harness.Op{Kind: harness.Read}, func(op *harness.Op) { op.Outcome = harness.OK })
	return nil
}

func TestFinalReadsHaveTheTimeThatTheyAreGiven(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{0: 30 * time.Second, time.Minute: time.Minute} {
		f := &finisher{fake: &fake{}}
		_, err := harness.Run(t.Context(), harness.Spec{
			System: f, Workload: f, Checkers: []harness.Checker{anything{}}, Clients: 1, Duration: time.Millisecond, Final: given,
		})
		require.NoError(t, err)
		require.InDelta(t, want, f.within, float64(10*time.Second))
	}
	_, err := harness.Run(t.Context(), harness.Spec{System: &fake{}, Workload: &fake{}, Checkers: []harness.Checker{anything{}}, Final: -1})
	require.ErrorIs(t, err, harness.ErrSpec)
}

// anything is a checker that finds nothing wrong.
type anything struct{}

func (anything) Name() string { return "anything" }
func (anything) Check(context.Context, harness.History, func(harness.Anomaly)) harness.Judgement {
	return harness.Judgement{Verdict: harness.Valid}
}
