package harness

import (
	"math/rand/v2"
	"time"
)

// Session gives a worker's client its identity, its randomness, its clock and its access to the record. Only the
// goroutine that runs the client uses it.
type Session struct {
	Group int        // client group from 0; it decides on which side of a partition the worker is
	Rand  *rand.Rand // the worker's own random numbers, which follow from the run's seed

	id      int
	workers int
	time    Timeline
	// when the step's first operation is due; 0: that operation has begun, or the load is not open-loop
	due time.Duration
}

// Timeline is the time in which a worker's operations happen: the real time of a run, or the virtual time of the
// explorer. It belongs to one worker.
type Timeline interface {
	// Now returns the time since the start of the run.
	Now() time.Duration
	// Record sets op's Return and keeps op. It may move Call to a later time if the operation certainly did not begin
	// before that.
	Record(op *Op)
	// Sleep waits for d, or until the load ends. It returns false when the load has ended.
	Sleep(d time.Duration) bool
}

// NewSession makes the session of a worker. client is the worker's first client id, and workers the number of workers
// of the run.
func NewSession(t Timeline, client, workers, group int, rng *rand.Rand) *Session {
	return &Session{Group: group, Rand: rng, id: client, workers: workers, time: t}
}

// Client returns the worker's current client id. It changes after an operation that ended in Info.
func (s *Session) Client() int { return s.id }

// Now returns the time on the run's clock.
func (s *Session) Now() time.Duration { return s.time.Now() }

// Invoke records one operation and returns it as recorded. It sets the client and the Call, runs the function do, and
// sets the Return. That function performs the operation and sets Outcome, Result and Err. If it panics, the operation
// is recorded as Info, since it is not known how far it came.
func (s *Session) Invoke(op Op, do func(*Op)) Op {
	op.Client = s.id
	op.Due, s.due = s.due, 0
	op.Call = s.time.Now()
	answered := false
	defer func() {
		if !answered {
			op.Outcome, op.Result, op.Err = Info, "", Crashed
			s.time.Record(&op)
		}
	}()
	do(&op)
	answered = true
	s.time.Record(&op)
	if op.Outcome == Info && s.id >= 0 {
		s.takeNewID() // a client that does not know whether it acted must not act again
	}
	return op
}

// Sleep waits for d, or until the load ends. It returns false when the load has ended.
func (s *Session) Sleep(d time.Duration) bool { return s.time.Sleep(d) }

// Backoff waits after an error, so that clients do not overload a system that is coming back. All workers together try
// about 2,000 times a second, and no worker more than 50 times. It returns false when the load has ended.
func (s *Session) Backoff() bool {
	mean := max(20*time.Millisecond, time.Duration(s.workers)*500*time.Microsecond)
	return s.Sleep(time.Duration(s.Rand.Float64() * 2 * float64(mean)))
}

// Ended reports whether the load has ended, so that no new work should begin.
func (s *Session) Ended() bool { return !s.Sleep(0) }

// takeNewID gives the worker a new client id, which no other worker can have.
func (s *Session) takeNewID() { s.id += s.workers }

// workerTimeline is the Timeline of a worker in a run.
type workerTimeline struct {
	rec    *recorder
	slot   *slot
	member *fleetMember    // the worker's client as the Fleet sees it; nil: no Fleet
	done   <-chan struct{} // closed when the load ends
}

// Now returns the time since the start of the run. While the client is paused Now waits, because a paused process reads
// no clock.
func (l *workerTimeline) Now() time.Duration {
	l.member.checkpointOrCrash()
	return l.rec.clock.Now()
}

func (l *workerTimeline) Record(op *Op) { l.rec.finish(l.slot, op) }

func (l *workerTimeline) Sleep(d time.Duration) bool {
	defer l.member.checkpointOrCrash()
	if d <= 0 {
		select {
		case <-l.done:
			return false
		default:
			return true
		}
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.done:
		return false
	}
}

// timeline makes the timeline of a worker that records into the slot with the given number. The channel done is closed
// when the worker's load ends.
func (r *run) timeline(slot int, member *fleetMember, done <-chan struct{}) *workerTimeline {
	return &workerTimeline{rec: r.rec, slot: &r.rec.slots[slot], member: member, done: done}
}

// session makes the session of a worker, numbered from 0.
func (r *run) session(t *workerTimeline, worker int, rng *rand.Rand) *Session {
	return NewSession(t, worker, r.meta.Workers, r.meta.Group(worker), rng)
}
