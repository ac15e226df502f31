package checkers

import (
	"cmp"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// lockToken names a lock and the token under which a worker holds it.
type lockToken struct{ key, token string }

func lockTokenOf(op harness.Op) lockToken { return lockToken{op.Key, op.Arg} }

// fewHeld is the largest number of locks held by one worker that are searched linearly. More are kept in a map.
const fewHeld = 8

// workerHolds has the holds that one worker was granted and has not released. For each lock and token it keeps the
// latest hold. hold.previous leads from there to earlier holds whose overlaps are undecided. A hold stays for a while
// after its lease has ended, since its release may come late: see sweep.
type workerHolds struct {
	few            []*hold
	many           map[lockToken]*hold // instead of few
	sizeAfterSweep int                 // holds after the last sweep
	waiting        []*hold             // the queue: holds that an overlap waits for, and some that none waits for any more
}

// latest returns the latest hold of a lock under a token, or nil.
func (w *workerHolds) latest(id lockToken) *hold {
	if w.many != nil {
		return w.many[id]
	}
	if i := w.index(id); i >= 0 {
		return w.few[i]
	}
	return nil
}

func (w *workerHolds) index(id lockToken) int {
	return slices.IndexFunc(w.few, func(h *hold) bool { return lockTokenOf(h.op) == id })
}

// set makes h the latest hold of its lock and token. If h is nil, set drops the holds of that lock and token.
func (w *workerHolds) set(id lockToken, h *hold) {
	switch i := w.index(id); {
	case w.many != nil && h == nil:
		delete(w.many, id)
	case w.many != nil:
		w.many[id] = h
	case i < 0 && h != nil:
		w.few = append(w.few, h)
	case i >= 0 && h == nil:
		w.few = slices.Delete(w.few, i, i+1)
	case i >= 0:
		w.few[i] = h
	}
}

// sweep drops the holds whose lease has ended by now, but only if the number of holds has doubled since the last sweep.
// It keeps a hold if an overlap waits for it, or if it leads to such a hold.
func (w *workerHolds) sweep(now time.Duration) {
	if len(w.few)+len(w.many) <= 2*w.sizeAfterSweep+fewHeld {
		return
	}
	over := func(h *hold) bool { return h.until <= now && h.op.Return < now && !h.isAwaited() && h.previous == nil }
	w.few = slices.DeleteFunc(w.few, over)
	for id, h := range w.many {
		if over(h) {
			delete(w.many, id)
		}
	}
	w.sizeAfterSweep = len(w.few) + len(w.many)
	if len(w.few) > fewHeld {
		w.many = make(map[lockToken]*hold, 2*len(w.few))
		for _, h := range w.few {
			w.many[lockTokenOf(h.op)] = h
		}
		w.few = nil
	}
}

// queue adds h to the queue of holds of which an overlap has to learn how long they last.
func (w *workerHolds) queue(h *hold) {
	if !h.queued {
		h.queued = true
		w.waiting = append(w.waiting, h)
	}
}

// takeAffected appends to holds those that the worker's next operation affects, in the order of the history. These are
// all holds in the queue, and latest with the holds to which it leads. latest is the latest hold of the operation's
// lock and token, or nil. Afterwards the queue is empty.
func (w *workerHolds) takeAffected(holds []*hold, latest *hold) []*hold {
	holds = append(holds, w.waiting...)
	clear(w.waiting)
	w.waiting = w.waiting[:0]
	for h := latest; h != nil; h = h.previous {
		if !h.queued {
			holds = append(holds, h)
		}
	}
	for _, h := range holds {
		h.queued = false
	}
	slices.SortFunc(holds, func(a, b *hold) int { return cmp.Compare(a.seq, b.seq) })
	return holds
}

// all lists all holds, in the order of the history.
func (w *workerHolds) all() (out []*hold) {
	add := func(h *hold) {
		for ; h != nil; h = h.previous {
			out = append(out, h)
		}
	}
	for _, h := range w.few {
		add(h)
	}
	for _, h := range w.many {
		add(h)
	}
	slices.SortFunc(out, func(a, b *hold) int { return cmp.Compare(a.seq, b.seq) })
	return out
}
