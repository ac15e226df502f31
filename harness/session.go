package harness

import (
	"math/rand/v2"
	"time"
)

// Session gives a worker's client its identity, its randomness, its clock and its access to the record. Only the goroutine that
// runs the worker's Client uses it.
type Session struct {
	Group int        // client group from 0; it decides on which side of a partition the worker is
	Rand  *rand.Rand // the worker's own stream of the run's seed

	id      int
	workers int
	time    Timeline
	due     time.Duration // when the next operation is due, in an open loop; 0: the step's first has begun, or the loop is closed
}

// Timeline is the time in which a worker's operations happen: the real time of a run, or the virtual time of the explorer. It
// belongs to one worker.
type Timeline interface {
	// Now returns the time since the start of the run.
	Now() time.Duration
	// Record stamps op with its Return and keeps it. It may move Call to a later time, if the operation certainly had not
	// begun before.
	Record(op *Op)
	// Sleep waits for d, or until the load ends, and reports whether the load goes on.
	Sleep(d time.Duration) bool
}

// NewSession makes the session of one of workers workers. Its first client id is client.
func NewSession(t Timeline, client, workers, group int, rng *rand.Rand) *Session {
	return &Session{Group: group, Rand: rng, id: client, workers: workers, time: t}
}

// Client returns the worker's present client id. It changes after an operation that ended in Info.
func (s *Session) Client() int { return s.id }

// Now returns the time on the run's clock.
func (s *Session) Now() time.Duration { return s.time.Now() }

// Invoke records one operation, and returns it as recorded. It stamps op with the client and the Call, runs do, and stamps the
// Return. do performs the operation and fills in Outcome, Result and Err. If do panics the operation is recorded as Info, since
// nothing tells how far it came.
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
		s.id += s.workers // whoever does not know whether it acted must not act again
	}
	return op
}

// Sleep waits for d, or until the load ends, and reports whether the load goes on.
func (s *Session) Sleep(d time.Duration) bool { return s.time.Sleep(d) }

// Backoff waits after an error, so that clients which cannot reach the system do not keep it from coming back: all
// workers together try about 2,000 times a second, and no worker more than 50 times. It reports whether the load goes on.
func (s *Session) Backoff() bool {
	mean := max(20*time.Millisecond, time.Duration(s.workers)*500*time.Microsecond)
	return s.Sleep(time.Duration(s.Rand.Float64() * 2 * float64(mean)))
}

// Ended reports whether the load has ended: no new work should begin.
func (s *Session) Ended() bool { return !s.Sleep(0) }

// workerTimeline is the Timeline of a worker in a run.
type workerTimeline struct {
	rec  *recorder
	slot *slot
	proc *fleetMember    // the worker's client as the Fleet sees it; nil: there is no Fleet
	done <-chan struct{} // closed when the load ends
}

// Now returns the time since the start of the run. It is a checkpoint, since a process that is paused reads no clock.
func (l *workerTimeline) Now() time.Duration {
	l.proc.checkpointOrCrash()
	return l.rec.clock.Now()
}

func (l *workerTimeline) Record(op *Op) { l.rec.finish(l.slot, op) }

func (l *workerTimeline) Sleep(d time.Duration) bool {
	defer l.proc.checkpointOrCrash()
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

// session makes the session of worker w, which records into a slot of its own, whose clients are the process proc and whose load ends
// when done is closed.
func (r *run) session(w, slot int, rng *rand.Rand, proc *fleetMember, done <-chan struct{}) *Session {
	t := &workerTimeline{rec: r.rec, slot: &r.rec.slots[slot], proc: proc, done: done}
	return NewSession(t, w, r.meta.Workers, r.meta.Group(w), rng)
}
