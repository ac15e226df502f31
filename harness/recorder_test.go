package harness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// orderedStore fails the test when operations come out of order or are lost.
type orderedStore struct {
	Store
	t    *testing.T
	last time.Duration
	n    int
	slow time.Duration
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

// record lets workers record n operations each.
func record(t *testing.T, store Store, workers, n int) {
	t.Helper()
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
}

func TestOperationsAreWrittenInOrderOfReturn(t *testing.T) {
	store := &orderedStore{t: t}
	record(t, store, 16, 5000)
	require.Equal(t, 16*5000, store.n)
}

// The clock may stand where it stood when the last operation returned: it tells no two instants apart that are close enough.
func TestTheLastInstantIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &orderedStore{t: t}
		record(t, store, 3, 2)
		require.Equal(t, 3*2, store.n)
	})
}

func TestASlowStoreSlowsTheWorkersAndLosesNothing(t *testing.T) {
	store := &orderedStore{t: t, slow: 5 * time.Millisecond}
	record(t, store, 2, 4*slotLimit)
	require.Equal(t, 2*4*slotLimit, store.n)
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

// discard is a store that keeps nothing.
type discard struct{ Store }

func (discard) WriteOps([]Op) error { return nil }

// BenchmarkFlush measures one flush of the writer, which flushes fifty times a second. At 40,000 operations a second that is 800
// of them, however many workers share them.
func BenchmarkFlush(b *testing.B) {
	const batch = 800
	for _, workers := range []int{50, 1000, 4000, 10_000} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			rec := newRecorder(NewClock(), workers, discard{}, func([]Op) {}, func(err error) { b.Error(err) })
			rng := rand.New(rand.NewPCG(1, 1))
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				for range batch {
					writing(rec, rng.IntN(workers)).Invoke(Op{Kind: Next, Key: "seq-0"}, func(op *Op) { op.Outcome = OK })
				}
				b.StartTimer()
				rec.flush(false)
			}
		})
	}
}
