package harness

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"time"
)

// watchQueue is how many batches of the record a watcher may be behind, each of what one flush wrote. Then the recorder
// waits for it, and in the end the workers do: memory stays bounded, and no operation is left out.
const watchQueue = 64

// watch shows the record to checkers while it grows, and tells what they find at once.
//
// Nothing that is found here decides: faults are on record only when they are over, so a violation may have another class
// or other companions in the end, and there is no second pass. The verdict is that of [Judge] over the stored history. A
// watcher that panics, or has seen enough, watches no longer; the others go on.
type watch struct {
	clock Clock
	tell  func(Anomaly, time.Duration)
	count atomic.Int64 // violations found
	first func()       // called at the first of them

	feeds []chan []Op
	over  sync.WaitGroup
	mu    sync.Mutex // held around tell and first
}

// newWatch starts the watchers. Its first, if not nil, is called once, when a violation has been found.
func newWatch(clock Clock, meta Meta, watchers []Checker, tell func(Anomaly, time.Duration), first func()) *watch {
	w := &watch{clock: clock, tell: tell, first: first}
	for _, c := range watchers {
		feed := make(chan []Op, watchQueue)
		w.feeds = append(w.feeds, feed)
		w.over.Go(func() {
			defer func() {
				_ = recover() // Judge runs the same checker on the same operations, and says what it panics with
				for range feed {
				}
			}()
			c.Check(context.Background(), History{Meta: meta, Ops: once(feed)}, w.found)
		})
	}
	return w
}

// show hands the watchers operations that come next in the record. They may be changed afterwards.
func (w *watch) show(ops []Op) {
	if len(w.feeds) == 0 {
		return
	}
	batch := append([]Op(nil), ops...)
	for _, f := range w.feeds {
		f <- batch
	}
}

// end tells the watchers that the record is over, and waits until they have seen all of it.
func (w *watch) end() {
	for _, f := range w.feeds {
		close(f)
	}
	w.over.Wait()
}

func (w *watch) found(a Anomaly) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := int64(a.Violations())
	before := w.count.Add(n) - n
	if w.tell != nil {
		w.tell(a, w.clock.Now())
	}
	if before == 0 && w.first != nil {
		w.first()
	}
}

// once ranges over what feed brings. Every further range is empty: while a run goes on its record cannot be read again.
func once(feed <-chan []Op) iter.Seq2[Op, error] {
	begun := false
	return func(yield func(Op, error) bool) {
		if begun {
			return
		}
		begun = true
		for batch := range feed {
			for _, op := range batch {
				if !yield(op, nil) {
					return
				}
			}
		}
	}
}
