package checkers

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// lockToken names a lock and the token under which a worker holds it.
type lockToken struct{ key, token string }

func lockTokenOf(op harness.Op) lockToken { return lockToken{op.Key, op.Arg} }

// workerHolds has the holds that one worker was granted and has not released. If it was granted a lock again under the
// same token, hold.previous leads to the earlier hold, as long as that may be part of a violation. A hold stays for a
// while after its lease has ended, since its release may come late. The method sweep drops it.
type workerHolds struct {
	latest         map[lockToken]*hold
	sizeAfterSweep int     // number of holds after the last sweep
	waiting        []*hold // the queue: holds for which the worker's next operation may tell how long they lasted
}

// set makes h the latest hold of its lock and token. If h is nil, set drops the holds of that lock and token.
func (w *workerHolds) set(id lockToken, h *hold) {
	switch {
	case h == nil:
		delete(w.latest, id)
	case w.latest == nil:
		w.latest = map[lockToken]*hold{id: h}
	default:
		w.latest[id] = h
	}
}

// sweep drops the holds whose lease has ended by the given time, but only if the number of holds has doubled since the
// last sweep. It keeps a hold if that hold, or the one in its field previous, may still be part of a violation.
func (w *workerHolds) sweep(now time.Duration) {
	const few = 8 // holds that need no sweep
	if len(w.latest) <= 2*w.sizeAfterSweep+few {
		return
	}
	maps.DeleteFunc(w.latest, func(_ lockToken, h *hold) bool {
		return h.until <= now && h.op.Return < now && !h.isAwaited() && h.previous == nil
	})
	w.sizeAfterSweep = len(w.latest)
}

// queue adds h to the holds for which the worker's next operation may tell how long they lasted.
func (w *workerHolds) queue(h *hold) {
	if !h.queued {
		h.queued = true
		w.waiting = append(w.waiting, h)
	}
}

// takeAffected returns the holds for which the worker's next operation may tell how long they lasted, in the order of
// the history. They are the holds in the queue, which takeAffected empties, the hold in the parameter latest, and the
// earlier holds to which latest.previous leads. The parameter latest is the last hold of the operation's lock and
// token, or nil. The results are appended to the slice holds.
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
	for _, h := range w.latest {
		for ; h != nil; h = h.previous {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b *hold) int { return cmp.Compare(a.seq, b.seq) })
	return out
}
