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

// fewHeld is the number of locks held by one worker up to which they are searched one by one; more are looked up in a map.
const fewHeld = 8

// possessions holds what one worker was granted and has not released. Lapsed leases stay in it for the sake of late releases.
// The latest hold of each lock and token is kept. Earlier ones that an overlap still waits for hang on it.
type possessions struct {
	few     []*hold
	many    map[lockToken]*hold // instead of few
	swept   int                 // grips that the last sweep left
	waiting []*hold             // those for which an overlap waits, and some for which one did
}

// last returns the latest hold of a lock under a token, or nil.
func (w *possessions) last(g lockToken) *hold {
	if w.many != nil {
		return w.many[g]
	}
	if i := w.index(g); i >= 0 {
		return w.few[i]
	}
	return nil
}

func (w *possessions) index(g lockToken) int {
	return slices.IndexFunc(w.few, func(h *hold) bool { return lockTokenOf(h.op) == g })
}

// set makes h the latest hold of its lock and token. If h is nil, they are dropped.
func (w *possessions) set(g lockToken, h *hold) {
	switch i := w.index(g); {
	case w.many != nil && h == nil:
		delete(w.many, g)
	case w.many != nil:
		w.many[g] = h
	case i < 0 && h != nil:
		w.few = append(w.few, h)
	case i >= 0 && h == nil:
		w.few = slices.Delete(w.few, i, i+1)
	case i >= 0:
		w.few[i] = h
	}
}

// sweep drops lapsed leases, each time that the holds have doubled. Nothing waits for these: whatever did was settled when
// the worker spoke.
func (w *possessions) sweep(now time.Duration) {
	if len(w.few)+len(w.many) <= 2*w.swept+fewHeld {
		return
	}
	over := func(h *hold) bool { return h.until <= now && h.op.Return < now && !h.waits() && h.before == nil }
	w.few = slices.DeleteFunc(w.few, over)
	for g, h := range w.many {
		if over(h) {
			delete(w.many, g)
		}
	}
	w.swept = len(w.few) + len(w.many)
	if len(w.few) > fewHeld {
		w.many = make(map[lockToken]*hold, 2*len(w.few))
		for _, h := range w.few {
			w.many[lockTokenOf(h.op)] = h
		}
		w.few = nil
	}
}

// queue notes that an overlap waits for how long h lasts.
func (w *possessions) queue(h *hold) {
	if !h.queued {
		h.queued = true
		w.waiting = append(w.waiting, h)
	}
}

// takeConcerned appends to holds those about which the next operation of the worker says something: those of its own
// lock and token, of which latest is the last, and those that are waited for. They come in the order of the history, and leave the queue.
func (w *possessions) takeConcerned(holds []*hold, latest *hold) []*hold {
	holds = append(holds, w.waiting...)
	clear(w.waiting)
	w.waiting = w.waiting[:0]
	for h := latest; h != nil; h = h.before {
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

// all lists everything, in the order of the history.
func (w *possessions) all() (out []*hold) {
	add := func(h *hold) {
		for ; h != nil; h = h.before {
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
