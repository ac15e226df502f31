package checkers

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// rivals finds contention. Two operations of one kind contend if different workers called them, they overlap on one
// key, and at least one of them got what it asked for. Memory is bounded. Keys that were not used lately are forgotten,
// so contention after a long pause may go unnoticed.
type rivals struct {
	asked generations[contested, contest]
}

// contested is what workers compete for: one key, by one kind of operation.
type contested struct {
	kind harness.Kind
	key  string
}

// contest holds the latest operations on one key, and the latest of those that got what they asked for.
type contest struct{ all, winners latest }

// latest holds the last operation of the worker seen last, and the last operation of any other worker.
type latest struct {
	seen, otherSeen bool
	worker          int
	op, other       glimpse
}

// glimpse is what is kept of an operation whose kind and key are known.
type glimpse struct {
	client         int
	call, returned time.Duration
	outcome        harness.Outcome
}

func glimpseOf(x harness.Op) glimpse { return glimpse{x.Client, x.Call, x.Return, x.Outcome} }

// op returns the operation with the fields that were kept.
func (g glimpse) op(kind harness.Kind, key string) harness.Op {
	return harness.Op{Client: g.client, Kind: kind, Key: key, Call: g.call, Return: g.returned, Outcome: g.outcome}
}

// record adds x and returns the rival that x meets, if any. A rival is an earlier operation of another worker that
// overlaps x. At least one of the two has to have won, which means that it got what it asked for. Operations have to
// come in order of Return. So if x overlaps any operation of another worker, it overlaps the latest of them.
func (r *rivals) record(x harness.Op, worker int, won bool) (other harness.Op, ok bool) {
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

// overlapping returns the last operation of a worker other than the given one, and reports whether x overlaps it.
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
