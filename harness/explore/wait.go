package explore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file lets actors wait: for the answer to a blocked command, for a message, for time, or for another thread.

// resume ends an actor's wait. runs is true if the actor then runs, so that the scheduler has to wait for it.
func (ex *live) resume(c interleave.Choice, a *actor) (runs bool, err error) {
	if a.subscriptionConn != nil {
		return false, ex.sendSubscription(a.subscriptionConn)
	}
	at := a.parkedAt
	if a.thread == 0 && at.Kind != model.InStart {
		a.beginOp(ex.stamp())
	}
	if ex.readiness(a) == byTime {
		if err := ex.waitUntil(a); err != nil {
			return false, err
		}
	}
	if !at.waitsForRedis() {
		ex.trace.WentOn(at.howItGoesOn())
		a.lastEvent = model.Event{Kind: model.Awake}
		ex.noteEvent(a, a.lastEvent)
		a.awake <- true
	} else {
		got := len(at.conn.unread)
		if at.conn.hasArrived() {
			ex.takeArrived(c, a)
		} else if at.isStopped() {
			ex.trace.WentOn(at.howItGoesOn())
		} else if err := ex.timeOut(a); err != nil {
			return false, err
		}
		ex.noteReceived(a, at.conn, min(got, len(at.conn.unread)))
		at.conn.reply <- true
	}
	a.wakeAt = 0
	return true, nil
}

// waitUntil lets time pass to the end of an actor's wait.
func (ex *execution) waitUntil(a *actor) error {
	if ex.wakesEarly(a) {
		ex.earlyWakes++
	}
	ex.idleFor += a.wakeAt - ex.now
	ex.trace.Waited(a.wakeAt - ex.now)
	return ex.passTo(a.wakeAt)
}

// takeArrived passes what has arrived to the waiting actor, unless the choice loses it.
func (ex *live) takeArrived(c interleave.Choice, a *actor) {
	at, gate := a.parkedAt, a.parkedAt.conn
	if gate.failed != nil {
		ex.trace.Received(ex.awaitedWords(at), gate.failed.Error())
		return
	}
	first := gate.takeMessage()
	ex.trace.Received(ex.awaitedWords(at), resp.ReplyText(first))
	lost := c.Kind() == interleave.LosesAnswers
	if k := gate.blocked; k != nil {
		if lost && k.command.Changes() {
			a.unansweredCommand = k.command.Raw
		}
		ex.stopWaiting(gate)
	}
	gate.unread = append(gate.unread, first...)
	if lost {
		ex.remaining.LostAnswers--
		gate.unread, gate.failed = nil, errUnanswered
		ex.trace.Unanswered("the answer is lost")
		ex.noteSituation(harness.AnswerLost)
	}
}

// howItGoesOn says how a wait for something other than Redis ends.
func (p parked) howItGoesOn() string {
	switch p.Kind {
	case model.InStart:
		return "begins"
	case model.InJoin:
		return fmt.Sprintf("goes on: its thread %d has ended", p.thread.thread+1)
	}
	return "goes on"
}

// awaitedWords says what an actor waits for from Redis.
func (ex *live) awaitedWords(at parked) string {
	switch {
	case ex.trace == nil:
		return ""
	case at.Kind == model.InRead:
		return "message on " + channels(at.conn)
	}
	return "answer to " + at.conn.Queue[0].Text(ex.w.Scripts)
}

// takeMessage takes the first whole reply out of the inbox.
func (c *conn) takeMessage() []byte {
	n, _ := resp.ReplySize(c.inbox) // its size was checked on arrival
	first := slices.Clone(c.inbox[:n])
	c.inbox = c.inbox[n:]
	return first
}

// timeOut ends a wait whose time-out has passed. For a blocked command Redis itself answers.
func (ex *live) timeOut(a *actor) error {
	gate := a.parkedAt.conn
	if gate.blocked == nil {
		gate.timedOut = true
		ex.trace.TimedOut(ex.awaitedWords(a.parkedAt))
		return nil
	}
	if err := gate.unblock(); err != nil {
		return err
	}
	ex.trace.TimedOut(ex.awaitedWords(a.parkedAt))
	ex.stopWaiting(gate)
	gate.unread = append(gate.unread, gate.takeMessage()...)
	return nil
}

// nap makes an actor sleep that has other threads. It returns when the time is over or ctx is canceled.
func (a *actor) nap(ctx context.Context, d time.Duration) error {
	a.wakeAt = max(a.wakeAt, a.ex.now) + d
	a.noteAct(model.Act{Sleep: d})
	if !a.wait(parked{Stop: model.Stop{Kind: model.InNap}, ctx: ctx}) {
		return errCrashed
	}
	return ctx.Err()
}

// What follows lets time pass during a wait of the harness itself, and after the last step of a schedule. Threads that
// still run act meanwhile.

// forgoMemory disables the memory, since the program's look at the store waits while time passes.
func (w *world) forgoMemory() {
	if ex := w.current; ex != nil && ex.learns() {
		ex.memory.Disable("the program's look at the store waits")
	}
}

// passUntilArrival lets time pass for a wait of the harness itself, until something arrives on c or d is over. If d is
// 0 or less, the wait takes two leases at most.
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

// passBeside lets time pass to an instant after the last step of a schedule. Threads that still run act meanwhile, in
// the order in which they wake. It stops early when enough returns true.
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

// nextAwake returns the thread that acts next, if it does so by the time until; nil: none does.
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

// askBlocking sends a blocking command of the harness itself, outside of a schedule's steps. It waits in the schedule's
// time: for the command's time-out, or for two leases if it has none.
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
