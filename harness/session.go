package harness

import (
	"math/rand/v2"
	"time"
)

// Session is one worker's side of a run: its identity, its randomness, its clock and its pen. Only the goroutine that
// runs the worker's Client uses it.
type Session struct {
	Group int        // client group, which decides on which side of a partition the worker is
	Rand  *rand.Rand // the worker's own stream of the run's seed

	id      int
	workers int
	rec     *recorder
	slot    *slot
	done    <-chan struct{} // closed when the load ends
}

// Client is the id under which the worker speaks now. It changes after an operation that ended in Info.
func (s *Session) Client() int { return s.id }

// Now is the time on the run's clock.
func (s *Session) Now() time.Duration { return s.rec.clock.Now() }

// Invoke records one operation. It stamps op with the client and the Call, runs do, which performs the operation and
// fills in Outcome, Result and Err, and stamps the Return. The recorded operation is returned.
func (s *Session) Invoke(op Op, do func(*Op)) Op {
	op.Client = s.id
	op.Call = s.rec.clock.Now()
	do(&op)
	s.rec.finish(s.slot, &op)
	if op.Outcome == Info && s.id >= 0 {
		s.id += s.workers // whoever does not know whether it acted must not act again
	}
	return op
}

// Sleep waits for d, or until the load ends, and reports whether the load goes on.
func (s *Session) Sleep(d time.Duration) bool {
	if d <= 0 {
		return !s.Ended()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.done:
		return false
	}
}

// Backoff waits after an error, so that clients which cannot reach the system do not keep it from coming back: all
// workers together try about 2,000 times a second, and no worker more than 50 times. It reports whether the load goes on.
func (s *Session) Backoff() bool {
	mean := max(20*time.Millisecond, time.Duration(s.workers)*500*time.Microsecond)
	return s.Sleep(time.Duration(s.Rand.Float64() * 2 * float64(mean)))
}

// Ended reports whether the load has ended: no new work should begin.
func (s *Session) Ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// session makes the session of worker w.
func (r *run) session(w int, rng *rand.Rand) *Session {
	return &Session{
		Group: r.meta.Group(w), Rand: rng,
		id: w, workers: r.meta.Workers, rec: r.rec, slot: r.rec.slots[w], done: r.stop,
	}
}
