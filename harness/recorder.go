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
	flushAt    = 128     // number of waiting operations of one worker at which the writer is woken early
	slotLimit  = 4096    // number of operations of one worker that may wait for the writer; with more, the worker waits
	totalLimit = 1 << 20 // rough limit on the waiting operations of all workers together
	maxReused  = 1 << 16 // largest capacity, in operations, with which a buffer is kept for reuse
)

// recorder takes operations from many workers and passes them to a Store in order of Return.
//
// A worker's cost is one uncontended lock and an append. The writer passes on the operations that returned before the
// watermark: the earliest possible Return of an operation that is not in a slot yet. To find it, the writer reads the
// clock, and then the field completing of every slot. A worker sets this field to the current time before it takes the
// Return of an operation, and clears it when the operation is in the slot. The watermark is the earliest of these
// times.
//
// A slow store slows the workers down: a worker waits while too many of its operations wait for the writer.
type recorder struct {
	clock      Clock
	slots      []slot
	limit      int // number of operations that may wait in a slot
	wake       chan struct{}
	fail       func(error) // called with the store's first error
	afterWrite func([]Op)  // called with the operations that were written, in order

	// forward gets the operations if there is no store. After each call it has got all operations with a Return before
	// mark. nil: there is a store.
	forward func(ops []Op, mark time.Duration) error

	pending []Op // operations taken from slots, not yet written; only the writer uses this and the next three fields
	spare   []Op // buffer that becomes the next pending
	order   []returnedAt
	ready   []Op

	mu     sync.Mutex // protects the fields below
	store  Store
	broken bool // whether the store has failed; if so, all further records are discarded
	counts [3]int64
	faults []Fault // the latest record of each fault
}

// slot holds the operations that one worker has queued for the writer. The writer looks at the first two fields of
// every slot at each flush.
type slot struct {
	completing atomic.Int64 // 1 + a time up to the Return that the worker will take next; 0: it takes none now
	filled     atomic.Bool  // whether the slot has operations
	mu         sync.Mutex
	drained    sync.Cond
	ops        []Op
}

// returnedAt says when an operation returned. The field i is its index in recorder.pending.
type returnedAt struct {
	at time.Duration
	i  int
}

func newRecorder(clock Clock, workers int, store Store, afterWrite func([]Op), fail func(error)) *recorder {
	r := &recorder{
		clock: clock, store: store, afterWrite: afterWrite, fail: fail, wake: make(chan struct{}, 1),
		slots: make([]slot, workers),
		limit: min(slotLimit, max(flushAt/2, totalLimit/workers)),
	}
	for i := range r.slots {
		r.slots[i].drained.L = &r.slots[i].mu
	}
	return r
}

// finish sets op's Return and queues op.
func (r *recorder) finish(s *slot, op *Op) {
	s.completing.Store(int64(r.clock.Now()) + 1)
	op.Return = r.clock.Now()
	s.mu.Lock()
	for len(s.ops) >= r.limit {
		s.drained.Wait()
	}
	s.ops = append(s.ops, *op)
	full := len(s.ops) == min(flushAt, r.limit)
	s.filled.Store(true)
	s.mu.Unlock()
	s.completing.Store(0)
	if full {
		r.wakeWriter()
	}
}

// enqueue queues operations that already have their Return.
func (r *recorder) enqueue(s *slot, ops []Op) {
	s.mu.Lock()
	for len(s.ops) >= r.limit {
		s.drained.Wait()
	}
	s.ops = append(s.ops, ops...)
	s.filled.Store(true)
	s.mu.Unlock()
	r.wakeWriter()
}

func (r *recorder) wakeWriter() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run writes until ctx ends, and then writes the rest.
func (r *recorder) run(ctx context.Context) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-r.wake:
		case <-ctx.Done():
			r.flush(true)
			return
		}
		r.flush(false)
	}
}

// flush writes the operations that returned before the watermark. Only the writer calls it. The last flush comes when
// all workers have ended, and writes every operation. Some of them may have a Return later than now, since the clocks
// of generators are uncertain.
func (r *recorder) flush(last bool) {
	mark := r.watermark(r.clock.Now())
	for i := range r.slots {
		r.slots[i].drain(&r.pending)
	}
	if last {
		latest := r.clock.Now()
		for i := range r.pending {
			latest = max(latest, r.pending[i].Return)
		}
		mark = r.watermark(latest + 1)
	}
	ready := r.takeBefore(mark)
	if len(ready) == 0 && r.forward == nil {
		return
	}
	if r.writeOps(ready, mark) {
		r.afterWrite(ready)
	}
}

// writeOps counts operations and passes them to the store. Operations of later calls have no Return before mark.
// writeOps returns false if the store has failed.
func (r *recorder) writeOps(ops []Op, mark time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range ops {
		r.counts[ops[i].Outcome]++
	}
	r.write(func() error {
		if r.forward != nil {
			return r.forward(ops, mark)
		}
		return r.store.WriteOps(ops)
	})
	return !r.broken
}

// drain moves the slot's operations to the end of the given list.
func (s *slot) drain(to *[]Op) {
	if !s.filled.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	*to = append(*to, s.ops...)
	s.ops = s.ops[:0]
	s.filled.Store(false)
	s.drained.Broadcast()
}

// takeBefore removes the pending operations that returned before mark, and returns them in order of Return. The result
// is valid until the next call.
//
// It sorts indexes, so that each operation is copied once. If none returned before mark, it copies nothing.
func (r *recorder) takeBefore(mark time.Duration) []Op {
	r.order = r.order[:0]
	for i := range r.pending {
		if at := r.pending[i].Return; at < mark {
			r.order = append(r.order, returnedAt{at, i})
		}
	}
	if len(r.order) == 0 {
		return nil
	}
	slices.SortFunc(r.order, func(a, b returnedAt) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.i, b.i))
	})
	ready := r.ready[:0]
	for _, p := range r.order {
		ready = append(ready, r.pending[p.i])
	}
	rest := r.spare[:0]
	for i := range r.pending {
		if r.pending[i].Return >= mark {
			rest = append(rest, r.pending[i])
		}
	}
	r.pending, r.spare, r.ready = rest, reusable(r.pending), reusable(ready)
	return ready
}

// reusable returns ops as a buffer for reuse, or nil if a rare burst has made it too large to keep.
func reusable(ops []Op) []Op {
	if cap(ops) > maxReused {
		return nil
	}
	return ops
}

// watermark returns a time before which all operations are complete: the earliest time in any slot's field completing,
// or limit if that is earlier.
func (r *recorder) watermark(limit time.Duration) time.Duration {
	mark := limit
	for i := range r.slots {
		if c := r.slots[i].completing.Load(); c > 0 {
			mark = min(mark, time.Duration(c-1))
		}
	}
	return mark
}

// write runs f, a function that writes to the store. If the store has failed before, it does not run f. The caller
// holds r.mu.
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
	r.faults = WithFault(r.faults, f)
	r.write(func() error { return r.store.WriteFault(f) })
}

// faultsSoFar returns the latest record of each fault.
func (r *recorder) faultsSoFar() []Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.faults)
}

// totals counts the operations written so far, by outcome.
func (r *recorder) totals() [3]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}
