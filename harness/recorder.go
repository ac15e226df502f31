package harness

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	flushEvery = 20 * time.Millisecond
	flushAt    = 128  // operations of one worker that wake the writer early
	slotLimit  = 4096 // operations of one worker that may wait for the writer before the worker does
)

// recorder takes operations from many workers and hands them to a Store in order of Return.
//
// A worker's cost is one uncontended lock and an append. The order is restored by a watermark: before a worker takes
// the Return of an operation it marks its slot as completing, with a time not after that Return, and clears the mark
// once the operation is in the slot. The writer reads the clock first and the marks second. An operation that it has
// not seen by then either carries a mark or will return after the reading, so everything before the smaller of the two
// is complete and can be written in order.
type recorder struct {
	clock Clock
	slots []*slot
	wake  chan struct{}
	fail  func(error) // told the store's first error
	show  func([]Op)  // shown what was written, in order

	mu      sync.Mutex // guards what follows
	store   Store
	pending []Op // taken from slots, above the watermark
	broken  bool // the store failed: discard from here on
	counts  [3]int64
}

type slot struct {
	completing atomic.Int64 // 1 + a time not after the Return being taken; 0: none
	mu         sync.Mutex
	drained    *sync.Cond
	ops        []Op
}

func newRecorder(clock Clock, workers int, store Store, show func([]Op), fail func(error)) *recorder {
	r := &recorder{clock: clock, store: store, show: show, fail: fail, wake: make(chan struct{}, 1), slots: make([]*slot, workers)}
	for i := range r.slots {
		r.slots[i] = &slot{}
		r.slots[i].drained = sync.NewCond(&r.slots[i].mu)
	}
	return r
}

// finish stamps op with its Return and queues it.
func (r *recorder) finish(s *slot, op *Op) {
	s.completing.Store(int64(op.Call) + 1)
	op.Return = r.clock.Now()
	s.mu.Lock()
	for len(s.ops) >= slotLimit {
		s.drained.Wait()
	}
	s.ops = append(s.ops, *op)
	full := len(s.ops) == flushAt
	s.mu.Unlock()
	s.completing.Store(0)
	if full {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// run writes until ctx ends, then writes the rest.
func (r *recorder) run(ctx context.Context) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-r.wake:
		case <-ctx.Done():
			r.flush()
			return
		}
		r.flush()
	}
}

// flush writes what lies below the watermark.
func (r *recorder) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	mark := r.watermark()
	for _, s := range r.slots {
		s.mu.Lock()
		if len(s.ops) > 0 {
			r.pending = append(r.pending, s.ops...)
			s.ops = s.ops[:0]
			s.drained.Broadcast()
		}
		s.mu.Unlock()
	}
	slices.SortStableFunc(r.pending, func(a, b Op) int { return cmp.Compare(a.Return, b.Return) })
	n, _ := slices.BinarySearchFunc(r.pending, mark, func(op Op, t time.Duration) int { return cmp.Compare(op.Return, t) })
	if n == 0 {
		return
	}
	for _, op := range r.pending[:n] {
		r.counts[op.Outcome]++
	}
	r.write(func() error { return r.store.WriteOps(r.pending[:n]) })
	r.show(r.pending[:n])
	r.pending = slices.Delete(r.pending, 0, n)
}

func (r *recorder) watermark() time.Duration {
	mark := r.clock.Now()
	for _, s := range r.slots {
		if c := s.completing.Load(); c > 0 {
			mark = min(mark, time.Duration(c-1))
		}
	}
	return mark
}

// write runs f, which writes to the store, unless the store has failed before. The caller holds r.mu.
func (r *recorder) write(f func() error) {
	if r.broken {
		return
	}
	if err := f(); err != nil {
		r.broken = true
		r.fail(err)
	}
}

func (r *recorder) event(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.write(func() error { return r.store.WriteEvent(e) })
}

func (r *recorder) fault(f Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.write(func() error { return r.store.WriteFault(f) })
}

// totals counts the operations written so far, by outcome.
func (r *recorder) totals() [3]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}
