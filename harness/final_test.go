package harness_test

import (
	"context"
	"testing"
	"testing/synctest"
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
	synctest.Test(t, func(t *testing.T) {
		for given, want := range map[time.Duration]time.Duration{0: 30 * time.Second, time.Minute: time.Minute} {
			f := &finisher{fake: &fake{}}
			_, err := harness.Run(t.Context(), harness.Spec{
				System: f, Workload: f, Checkers: []harness.Checker{anything{}}, Clients: 1, Duration: time.Millisecond, Final: given,
			})
			require.NoError(t, err)
			require.Equal(t, want, f.within)
		}
		_, err := harness.Run(t.Context(), harness.Spec{System: &fake{}, Workload: &fake{}, Checkers: []harness.Checker{anything{}}, Final: -1})
		require.ErrorIs(t, err, harness.ErrSpec)
	})
}

// patient is a fake whose final read waits for an hour.
type patient struct {
	*fake
	waits func()
}

func (f *patient) Finish(_ context.Context, s *harness.Session) error {
	f.waits()
	s.Sleep(time.Hour)
	s.Invoke(harness.Op{Kind: harness.Read}, func(op *harness.Op) { op.Outcome = harness.OK })
	return nil
}

// A run that is interrupted while its final reads wait does not wait to the end, and reads all the same.
func TestAnInterruptEndsTheWaitOfTheFinalReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		f := &patient{&fake{}, interrupt}
		began := time.Now()
		res, err := harness.Run(ctx, harness.Spec{
			System: f, Workload: f, Checkers: []harness.Checker{anything{}}, Clients: 1, Duration: time.Millisecond, Final: 2 * time.Hour,
		})
		require.NoError(t, err)
		require.Less(t, time.Since(began), time.Minute)
		require.NotNil(t, res.Judgements)
	})
}

// anything is a checker that finds nothing wrong.
type anything struct{}

func (anything) Name() string { return "anything" }
func (anything) Check(context.Context, harness.History, func(harness.Anomaly)) harness.Judgement {
	return harness.Judgement{Verdict: harness.Valid}
}
