package checkers

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// rivals finds operations that meet another worker's operation of the same kind on the same key, where one of the two got
// what it asked for. Its memory is bounded: it forgets keys that were not asked for lately, so a meeting on a key that was not
// seen for long may go unnoticed.
type rivals struct {
	asked generations[contested, contest]
}

// contested names what workers compete for.
type contested struct {
	kind harness.Kind
	key  string
}

// contest holds the latest operations that asked for it, and those among them that got it.
type contest struct{ all, winners latest }

// latest holds the last operation of the worker that was last seen, and the last one of any other worker.
type latest struct {
	seen, otherSeen bool
	worker          int
	op, other       glimpse
}

// glimpse is the part that is kept of an operation whose kind and key are known.
type glimpse struct {
	client         int
	call, returned time.Duration
	outcome        harness.Outcome
}

func glimpseOf(x harness.Op) glimpse { return glimpse{x.Client, x.Call, x.Return, x.Outcome} }

// op returns the operation as far as it was kept.
func (g glimpse) op(kind harness.Kind, key string) harness.Op {
	return harness.Op{Client: g.client, Kind: kind, Key: key, Call: g.call, Return: g.returned, Outcome: g.outcome}
}

// met returns an operation, seen before and by another worker, that x overlaps, if one of the two won: got what it asked
// for. Operations come in order of Return, so the latest one of another worker decides: it overlaps x if it had not
// returned when x was called.
func (r *rivals) met(x harness.Op, worker int, won bool) (other harness.Op, ok bool) {
	at := contested{x.Kind, x.Key}
	c, _ := r.asked.get(at)
	if won {
		other, ok = c.all.overlapping(x, worker)
		c.winners.add(x, worker)
	} else {
		other, ok = c.winners.overlapping(x, worker)
	}
	c.all.add(x, worker)
	r.asked.put(at, c)
	return other, ok
}

// overlapping returns the last operation of another worker, if x overlaps it.
func (l *latest) overlapping(x harness.Op, worker int) (harness.Op, bool) {
	if l.seen && l.worker != worker {
		return l.op.op(x.Kind, x.Key), x.Call <= l.op.returned
	}
	return l.other.op(x.Kind, x.Key), l.otherSeen && x.Call <= l.other.returned
}

func (l *latest) add(x harness.Op, worker int) {
	if l.seen && l.worker != worker {
		l.other, l.otherSeen = l.op, true
	}
	l.op, l.worker, l.seen = glimpseOf(x), worker, true
}
