package harness

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	watchOps     = 1 << 18         // number of operations that may wait for a watcher, unless a single flush wrote more
	watchBatches = 1 << 12         // number of batches that may wait for a watcher, each with one flush's operations
	watchGrace   = 5 * time.Second // time that watchers have for the rest of the record once it is complete
)

// watch shows the record to checkers while it grows, and reports at once what they find.
//
// The verdict does not depend on these findings. It comes from [Judge], which reads the stored history with all faults.
// Watchers see no faults and read the operations once.
//
// The run waits for no watcher. A watcher that falls too far behind is detached, and a note says so. A watcher that
// panics or has seen enough stops as well. The others go on.
type watch struct {
	clock     Clock
	log       *slog.Logger
	onAnomaly func(Anomaly, time.Duration)
	count     atomic.Int64 // number of violations found
	onFirst   func()       // called at the first violation; may be nil

	faults func() []Fault // returns the faults of the record so far

	feeds []*feed
	// One note for each detached watcher. Until finish is called, only the goroutine that writes the record adds notes.
	// After that, only finish does.
	notes []string
	mu    sync.Mutex // held while onAnomaly or onFirst is called
}

// feed carries the record to one watcher.
type feed struct {
	name     string
	batches  chan []Op
	queued   atomic.Int64 // number of operations that wait in batches
	detached atomic.Bool  // whether the watcher is too far behind; if so, it sees no more, and its findings are ignored
	cancel   context.CancelFunc
	done     chan struct{} // closed when its watcher has stopped
}

// newWatch starts spec's watchers. onFirst, if not nil, is called once, at the first violation.
func newWatch(clock Clock, meta Meta, spec Spec, onFirst func(), faults func() []Fault) *watch {
	w := &watch{clock: clock, log: spec.Log, onAnomaly: spec.OnAnomaly, onFirst: onFirst, faults: faults}
	for _, c := range spec.Watchers {
		ctx, cancel := context.WithCancel(context.Background())
		f := &feed{name: c.Name(), batches: make(chan []Op, watchBatches), cancel: cancel, done: make(chan struct{})}
		w.feeds = append(w.feeds, f)
		go func() {
			defer close(f.done)
			defer func() {
				_ = recover() // Judge runs the same checker on the same operations, and reports the panic
				f.each(func(Op) bool { return true })
			}()
			c.Check(ctx, History{Meta: meta, Ops: f.opsOnce()}, func(a Anomaly) { w.report(f, a) })
		}()
	}
	return w
}

// publish sends the watchers the next operations of the record. It copies ops, and never waits.
func (w *watch) publish(ops []Op) {
	if len(w.feeds) == 0 {
		return
	}
	batch := append([]Op(nil), ops...)
	for _, f := range w.feeds {
		switch queued := f.queued.Load(); {
		case f.detached.Load():
		case queued > 0 && queued+int64(len(batch)) > watchOps || len(f.batches) == watchBatches:
			f.detached.Store(true) // before the close, so that the watcher does not take it for the end of the record
			close(f.batches)
			w.detach(f, fmt.Sprintf("was %d operations behind the recording", queued))
		default:
			f.queued.Add(int64(len(batch)))
			f.batches <- batch // there is room: no other goroutine sends
		}
	}
}

// finish closes the feeds, and waits, for at most the given time, until the watchers have seen the whole record. It
// returns a note for each watcher that was detached.
func (w *watch) finish(grace time.Duration) (notes []string) {
	for _, f := range w.feeds {
		if !f.detached.Load() {
			close(f.batches)
		}
	}
	late, stop := context.WithTimeout(context.Background(), grace)
	defer stop()
	for _, f := range w.feeds {
		if f.detached.Load() {
			continue
		}
		select {
		case <-f.done:
			f.cancel()
		case <-late.Done():
			w.detach(f, fmt.Sprintf("had not seen the end of the recording %v after it", grace))
		}
	}
	return w.notes
}

// detach stops f's watcher and notes why. The caller has closed f.batches.
func (w *watch) detach(f *feed, why string) {
	f.detached.Store(true)
	f.cancel()
	for range f.batches { // free the memory
	}
	note := fmt.Sprintf("%s %s at %v and stopped watching: later violations were not reported during the run",
		f.name, why, w.clock.Now().Round(time.Millisecond))
	w.notes = append(w.notes, note)
	w.log.Warn("a watcher could not keep up", "note", note)
}

func (w *watch) report(f *feed, a Anomaly) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.detached.Load() {
		return // a record that ends in the middle may look like a violation
	}
	n := int64(a.Violations())
	before := w.count.Add(n) - n
	if w.onAnomaly != nil {
		w.onAnomaly(w.withFinalClass(a), w.clock.Now())
	}
	if before == 0 && w.onFirst != nil {
		w.onFirst()
	}
}

// withFinalClass returns the anomaly with the class that the verdict will give it, judging by the faults recorded so
// far. If a fault may explain why a lock has two owners, a stolen release is reported as a double grant.
func (w *watch) withFinalClass(a Anomaly) Anomaly {
	explains := func(f Influence) bool { return f.Overlaps(a.From, a.To) }
	if a.Class == StolenRelease && slices.ContainsFunc(Influences(w.faults()), explains) {
		a.Class = DoubleGrant
		a.Note, _, _ = strings.Cut(a.Note, "; ") // the rest names the release
	}
	return a
}

// opsOnce returns a sequence of the operations of the feed. Only the first range has operations: the record of a run
// that is under way cannot be read again.
func (f *feed) opsOnce() iter.Seq2[Op, error] {
	begun := false
	return func(yield func(Op, error) bool) {
		if begun {
			return
		}
		begun = true
		f.each(func(op Op) bool { return yield(op, nil) })
	}
}

// each calls the given function with each operation, until the function returns false or the watcher is detached.
func (f *feed) each(visit func(Op) bool) {
	for batch := range f.batches {
		f.queued.Add(-int64(len(batch)))
		for _, op := range batch {
			if f.detached.Load() || !visit(op) {
				return
			}
		}
	}
}
