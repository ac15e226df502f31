package checkers

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// rivalsKept is how many keys a generation of rivals holds.
const rivalsKept = 32768

// rivals finds operations that meet another worker's operation of the same kind on the same key. It keeps the latest keys
// in two generations, so its memory has a bound, and a meeting on a key that was not seen for long may go unnoticed.
type rivals struct{ young, old map[contested]latest }

// contested is what workers compete for.
type contested struct {
	kind harness.Kind
	key  string
}

// latest is when the worker that was last seen returned, and when any other one did before.
type latest struct {
	worker        int
	returned      time.Duration
	otherSeen     bool
	otherReturned time.Duration
}

// met reports whether x overlaps an operation seen before, by another worker. Operations come in order of Return, so the
// latest one of another worker decides: it overlaps x if it had not returned when x was called.
func (r *rivals) met(x harness.Op, worker int) bool {
	c := contested{x.Kind, x.Key}
	l, seen := r.get(c)
	switch {
	case !seen:
		l = latest{worker: worker}
	case l.worker != worker:
		l = latest{worker: worker, otherSeen: true, otherReturned: l.returned}
	}
	l.returned = x.Return
	r.put(c, l)
	return l.otherSeen && x.Call <= l.otherReturned
}

func (r *rivals) get(c contested) (latest, bool) {
	if l, ok := r.young[c]; ok {
		return l, true
	}
	l, ok := r.old[c]
	return l, ok
}

func (r *rivals) put(c contested, l latest) {
	if _, there := r.young[c]; !there && (r.young == nil || len(r.young) >= rivalsKept) {
		r.young, r.old = map[contested]latest{}, r.young
	}
	r.young[c] = l
}
