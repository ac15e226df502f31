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
	watchOps     = 1 << 18         // operations that may wait for a watcher, unless a single flush wrote more
	watchBatches = 1 << 12         // batches that may wait for a watcher, each with the operations of one flush
	watchGrace   = 5 * time.Second // time that watchers have to see the rest when the record is over
)

// watch shows the record to checkers while it grows, and reports what they find at once.
//
// The verdict does not depend on what is found here: watchers see no faults and have no second pass. What is told of a violation has
// the class that it will have in the end, as far as faults decide that. The verdict is that of [Judge] over the stored history. So the run waits for no watcher. One that
// falls too far behind watches no longer, and that is noted. One that panics or has seen enough watches no longer either.
// The others go on.
type watch struct {
	clock Clock
	log   *slog.Logger
	tell  func(Anomaly, time.Duration)
	count atomic.Int64 // violations found
	first func()       // called at the first of them

	faults func() []Fault // those of the record so far

	feeds []*feed
	notes []string   // about watchers that were left behind; only the recorder's writer uses it, and from end on the run
	mu    sync.Mutex // held around tell and first
}

// feed carries the record to one watcher.
type feed struct {
	name    string
	batches chan []Op
	behind  atomic.Int64 // number of operations that wait in batches
	left    atomic.Bool  // the watcher was left behind: it sees no more, and its findings are ignored
	cancel  context.CancelFunc
	done    chan struct{} // closed when it watches no longer
}

// newWatch starts spec's watchers. first, if not nil, is called once, when a violation has been found.
func newWatch(clock Clock, meta Meta, spec Spec, first func(), faults func() []Fault) *watch {
	w := &watch{clock: clock, log: spec.Log, tell: spec.OnAnomaly, first: first, faults: faults}
	for _, c := range spec.Watchers {
		ctx, cancel := context.WithCancel(context.Background())
		f := &feed{name: c.Name(), batches: make(chan []Op, watchBatches), cancel: cancel, done: make(chan struct{})}
		w.feeds = append(w.feeds, f)
		go func() {
			defer close(f.done)
			defer func() {
				_ = recover() // Judge runs the same checker on the same operations, and says what it panics with
				f.pass(func(Op) bool { return true })
			}()
			c.Check(ctx, History{Meta: meta, Ops: f.opsOnce()}, func(a Anomaly) { w.found(f, a) })
		}()
	}
	return w
}

// handOn hands the watchers the operations that come next in the record. It copies ops, and never waits.
func (w *watch) handOn(ops []Op) {
	if len(w.feeds) == 0 {
		return
	}
	batch := append([]Op(nil), ops...)
	for _, f := range w.feeds {
		switch behind := f.behind.Load(); {
		case f.left.Load():
		case behind > 0 && behind+int64(len(batch)) > watchOps || len(f.batches) == watchBatches:
			f.left.Store(true) // before it can take the end of what it gets for the record's
			close(f.batches)
			w.leave(f, fmt.Sprintf("was %d operations behind the record", behind))
		default:
			f.behind.Add(int64(len(batch)))
			f.batches <- batch // there is room: nobody else sends
		}
	}
}

// end tells the watchers that the record is over, and waits until they have seen all of it, for as long as grace. It
// returns a note for each watcher that was left behind.
func (w *watch) end(grace time.Duration) (notes []string) {
	for _, f := range w.feeds {
		if !f.left.Load() {
			close(f.batches)
		}
	}
	late, stop := context.WithTimeout(context.Background(), grace)
	defer stop()
	for _, f := range w.feeds {
		if f.left.Load() {
			continue
		}
		select {
		case <-f.done:
			f.cancel()
		case <-late.Done():
			w.leave(f, fmt.Sprintf("had not seen the end of the record %v after it", grace))
		}
	}
	return w.notes
}

// leave stops showing the record to f's watcher, and notes why. f.batches has to be closed.
func (w *watch) leave(f *feed, why string) {
	f.left.Store(true)
	f.cancel()
	for range f.batches { // give the memory back
	}
	note := fmt.Sprintf("%s %s at %v and watched no longer: what it would have found was not told during the run", f.name, why,
		w.clock.Now().Round(time.Millisecond))
	w.notes = append(w.notes, note)
	w.log.Warn("a watcher was left behind", "note", note)
}

func (w *watch) found(f *feed, a Anomaly) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.left.Load() {
		return // what ended for it in the middle may look like a violation
	}
	n := int64(a.Violations())
	before := w.count.Add(n) - n
	if w.tell != nil {
		w.tell(w.asInTheEnd(a), w.clock.Now())
	}
	if before == 0 && w.first != nil {
		w.first()
	}
}

// asInTheEnd returns the anomaly with the class that it will have when all faults are known: where one may explain two owners of a lock, no
// release is to blame.
func (w *watch) asInTheEnd(a Anomaly) Anomaly {
	explains := func(f Influence) bool { return f.Overlaps(a.From, a.To) }
	if a.Class == StolenRelease && slices.ContainsFunc(Influences(w.faults()), explains) {
		a.Class = DoubleGrant
		a.Note, _, _ = strings.Cut(a.Note, "; ") // what follows names the release
	}
	return a
}

// opsOnce returns a sequence of the operations that the feed brings. Only the first range has any: while a run goes on its record
// cannot be read again.
func (f *feed) opsOnce() iter.Seq2[Op, error] {
	begun := false
	return func(yield func(Op, error) bool) {
		if begun {
			return
		}
		begun = true
		f.pass(func(op Op) bool { return yield(op, nil) })
	}
}

// pass calls see with the operations that come, until see returns false or the watcher is left behind.
func (f *feed) pass(see func(Op) bool) {
	for batch := range f.batches {
		f.behind.Add(-int64(len(batch)))
		for _, op := range batch {
			if f.left.Load() || !see(op) {
				return
			}
		}
	}
}
