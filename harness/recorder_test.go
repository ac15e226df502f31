package harness

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// orderedStore fails the test if operations are out of order or lost.
type orderedStore struct {
	Store
	t    *testing.T
	slow time.Duration
	last time.Duration
	n    int
}

func (s *orderedStore) WriteOps(ops []Op) error {
	for _, op := range ops {
		require.GreaterOrEqual(s.t, op.Return, s.last)
		s.last = op.Return
		s.n++
	}
	time.Sleep(s.slow) // a slow disk
	return nil
}

// record makes workers record n operations each, in a store that takes the time slow for each batch.
func record(t *testing.T, slow time.Duration, workers, n int) {
	t.Helper()
	store := &orderedStore{t: t, slow: slow}
	clock := NewClock()
	rec := newRecorder(clock, workers, store, func([]Op) {}, func(err error) { t.Error(err) })
	ctx, stop := context.WithCancel(t.Context())
	var writer, recording sync.WaitGroup
	writer.Go(func() { rec.run(ctx) })
	for w := range workers {
		recording.Go(func() {
			s := writing(rec, w)
			rng := rand.New(rand.NewPCG(1, uint64(w)))
			for range n {
				s.Invoke(Op{Kind: Next}, func(op *Op) {
					op.Outcome = OK
					for range rng.IntN(200) { // some work, so that operations overlap in many ways
						_ = rng.Uint64()
					}
				})
			}
		})
	}
	recording.Wait()
	stop()
	writer.Wait()
	require.Equal(t, workers*n, store.n)
}

func TestOperationsAreWrittenInOrderOfReturn(t *testing.T) {
	record(t, 0, 16, 5000)
}

// The last operation is written even if the clock has not advanced since it returned.
func TestTheLastInstantIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { record(t, 0, 3, 2) })
}

func TestASlowStoreSlowsTheWorkersAndLosesNothing(t *testing.T) {
	record(t, 5*time.Millisecond, 2, 4*slotLimit)
}

// writing returns the session of worker w of rec.
func writing(rec *recorder, w int) *Session {
	return NewSession(&workerTimeline{rec: rec, slot: &rec.slots[w]}, w, len(rec.slots), 0, nil)
}

func TestAnUnknownOutcomeRetiresTheClient(t *testing.T) {
	store := NewMemory()
	rec := newRecorder(NewClock(), 4, store, func([]Op) {}, func(err error) { t.Error(err) })
	s := writing(rec, 3)
	require.Equal(t, 3, s.Invoke(Op{}, func(op *Op) { op.Outcome = OK }).Client)
	require.Equal(t, 3, s.Invoke(Op{}, func(*Op) {}).Client)
	require.Equal(t, 7, s.Invoke(Op{}, func(*Op) {}).Client)
	require.Equal(t, 11, s.Client())
	require.Equal(t, 3, Meta{Workers: 4}.Worker(s.Client()))
}
