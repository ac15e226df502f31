package checkers

import (
	"fmt"
	"strconv"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// simSequences draws numbers: the next one, or the client's proposal if that is larger. The stored number may end, but
// the simulation remembers which numbers were drawn.
type simSequences struct {
	*simWorld
	all map[string]*simSequence
}

// simSequence is one key.
type simSequence struct {
	last     int // last number drawn
	previous int // number drawn before that
	drawn    time.Duration
	stored   bool
	value    int // stored number
	end      int64
	ttl      time.Duration // TTL of all its operations
	refresh  bool          // each number sets the TTL anew, not only the first one
	proposed bool          // clients propose
	width    int           // width of the numbers, with leading zeros; 0: as many digits as they have
}

func newSimSequences(w *simWorld, d dice) service {
	s := &simSequences{simWorld: w, all: map[string]*simSequence{}}
	for i := range w.keys {
		ttl := []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond, time.Second}[d.IntN(4)]
		s.all["s-"+strconv.Itoa(i)] = &simSequence{ttl: ttl, refresh: d.IntN(2) == 0, proposed: d.IntN(2) == 0,
			width: d.IntN(2) * 6}
	}
	return s
}

func (s *simSequences) sequence(key string) *simSequence {
	q := s.all[key]
	if q.stored && q.end > 0 && s.clock() > q.end {
		q.stored = false
		if s.flaw == "sequence that begins again" {
			q.last = 0
		}
	}
	return q
}

func (s *simSequences) ask(c *simClient) harness.Op {
	key := "s-" + strconv.Itoa(s.IntN(s.keys))
	q := s.all[key]
	op := harness.Op{Kind: harness.Next, Key: key, TTL: q.ttl}
	switch {
	case s.percent(25):
		op.Kind, op.TTL = harness.Inspect, 0
	case q.proposed:
		op.Arg = fmt.Sprintf("%0*d", q.width, max(0, q.last+s.IntN(7)-3+3*c.worker))
	}
	return op
}

func (s *simSequences) do(op harness.Op, _ int) harness.Op {
	q := s.sequence(op.Key)
	op.Outcome = harness.OK
	if op.Kind == harness.Inspect {
		op.Result, op.TTL = "", 0
		if q.stored {
			op.Result, op.TTL = fmt.Sprintf("%0*d", q.width, q.value), s.left(q.end)
		}
		return op
	}
	n := s.number(q, op.Arg)
	q.previous, q.last, q.drawn = q.last, n, s.now
	if s.flaw != "number answered before it is stored" || n%5 > 0 {
		s.store(q, n)
	}
	op.Result = fmt.Sprintf("%0*d", q.width, n)
	return op
}

// number returns the next number: one more than the last, or the client's proposal if that is larger. A planted flaw
// changes that.
func (s *simSequences) number(q *simSequence, proposal string) int {
	p, _ := strconv.Atoi(proposal)
	switch {
	case s.flaw == "increment that is not atomic" && s.now-q.drawn < time.Millisecond:
		return max(q.previous+1, p)
	case s.flaw == "proposal compared as a string" && q.width == 0 && proposal > strconv.Itoa(q.last):
		return p
	}
	return max(q.last+1, p)
}

func (s *simSequences) store(q *simSequence, n int) {
	if q.ttl > 0 && (!q.stored || q.refresh) {
		q.end = s.clock() + int64(q.ttl/time.Millisecond)
	}
	if s.flaw == "TTL lost at every fifth number" && n%5 == 0 {
		q.end = 0
	}
	q.stored, q.value = true, n
}

// probe inspects each sequence, at times around its end.
func (s *simSequences) probe() {
	for i := range s.keys {
		for range 3 {
			key := "s-" + strconv.Itoa(i)
			d := s.delay()
			if q := s.sequence(key); q.stored && q.end > 0 && s.percent(50) {
				d = max(0, s.after(q.end)-s.now+time.Duration(s.IntN(5)-3)*s.grid)
			}
			s.ours(d, harness.Op{Kind: harness.Inspect, Key: key})
		}
	}
}

// simSets are sets to which everybody adds.
type simSets struct {
	*simWorld
	there map[string][]int
	drawn int
}

func newSimSets(w *simWorld, _ dice) service { return &simSets{simWorld: w, there: map[string][]int{}} }

func (s *simSets) ask(*simClient) harness.Op {
	op := harness.Op{Kind: harness.Add, Key: "set-" + strconv.Itoa(s.IntN(s.keys)), Arg: strconv.Itoa(s.drawn)}
	s.drawn++
	if s.percent(10) {
		op.Kind, op.Arg = harness.Read, ""
	}
	return op
}

func (s *simSets) do(op harness.Op, _ int) harness.Op {
	op.Outcome = harness.OK
	if op.Kind == harness.Read {
		op.Result = numbersOf(s.there[op.Key])
		return op
	}
	n, _ := strconv.Atoi(op.Arg)
	if s.flaw != "add that is lost now and then" || !s.percent(3) {
		s.there[op.Key] = append(s.there[op.Key], n)
	}
	if s.flaw == "add that is done and refused" && s.percent(3) {
		op.Outcome = harness.Fail
	}
	return op
}

// probe reads each set. The first read may be too early to show anything.
func (s *simSets) probe() {
	for i := range s.keys {
		for range 1 + s.IntN(2) {
			s.ours(s.delay(), harness.Op{Kind: harness.Read, Key: "set-" + strconv.Itoa(i)})
		}
	}
}
