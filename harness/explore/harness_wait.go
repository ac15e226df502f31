package explore

import (
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file lets time pass during a wait of the harness itself, and after the last step of a schedule. Threads that
// still run act meanwhile.

// forgoMemory makes the search run further schedules live, since Program.Observe or Program.Finally waits for an answer
// or a message.
func (w *world) forgoMemory() {
	if ex := w.current; ex != nil && ex.learns() {
		ex.memory.Disable("the program's look at the store waits")
	}
}

// passUntilArrival lets time pass for a wait of the harness itself, until something arrives on c or the time d has
// passed. If d is 0 or less, the wait takes two leases at most.
func (ex *live) passUntilArrival(c *conn, d time.Duration) error {
	if d <= 0 {
		d = 2 * ex.spec.Program.Lease
	}
	defer ex.w.takeTurn()()
	ex.waiters = append(ex.waiters, c)
	err := ex.passBeside(ex.now+d, c.hasArrived)
	ex.waiters = slices.DeleteFunc(ex.waiters, func(w *conn) bool { return w == c })
	return err
}

// passBeside lets time pass after the last step of a schedule, up to a virtual time. Threads that still run act
// meanwhile, in the order in which they wake. It stops early when the function enough returns true.
func (ex *execution) passBeside(to time.Duration, enough func() bool) error {
	for n := 0; ; n++ {
		a := ex.nextAwake(to)
		if a == nil || enough() {
			break
		}
		if n == schedule.MaxSteps {
			return schedule.Stopped("client %d's thread %d has not stopped after %d steps at the end of a schedule: "+
				"check that it does not retry for ever", a.index+1, a.thread+1, n)
		}
		if err := ex.stepAfter(a); err != nil {
			return err
		}
	}
	if enough() {
		return nil
	}
	return ex.passTo(to)
}

// nextAwake returns the thread that acts next, if it acts no later than a given time; nil: there is none.
func (ex *execution) nextAwake(until time.Duration) (next *actor) {
	for _, a := range ex.all {
		switch r := ex.readiness(a); {
		case r == ready:
			return a
		case r == byTime && a.wakeAt <= until && (next == nil || a.wakeAt < next.wakeAt):
			next = a
		}
	}
	return next
}

// stepAfter lets a thread take a step after the schedule's last one.
func (ex *execution) stepAfter(a *actor) error {
	c := interleave.Run(a.index).Of(a.thread)
	at := ex.nextStep()
	ex.stepTimes = append(ex.stepTimes, at)
	ex.trace.StartStep(at, c)
	_, err := ex.stepClient(c, a)
	ex.trace.FinishStep(nil, nil)
	if err == nil {
		err = ex.backend.endStep()
	}
	return err
}

// askBlocking sends a blocking command of the harness itself, outside of a schedule's steps. In Program.Finally it lets
// time pass until the answer arrives: for the command's time-out at most, or for two leases if it has none. Everywhere
// else the command times out at once.
func (c *conn) askBlocking() error {
	next := c.Queue[0]
	c.dialer.world.forgoMemory()
	if err := c.sendBlockable(); err != nil || c.failed != nil {
		return err
	}
	if ex := c.dialer.world.current; ex != nil && ex.finishing && !c.hasArrived() {
		if err := ex.passUntilArrival(c, next.BlocksFor()); err != nil {
			return err
		}
	}
	if !c.hasArrived() {
		if err := c.unblock(); err != nil {
			return err
		}
	}
	c.unread = append(c.unread, c.takeMessage()...)
	c.clearBlocked()
	return nil
}
