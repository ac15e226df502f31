package explore

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file lets actors wait: for the answer to a command that Redis keeps, for a message, for time, or for another thread of
// their client.

const (
	// maxEarlyWakes bounds the waits of one schedule that end with time although somebody else could have gone on meanwhile.
	// Without a bound a watchdog that renews a lease for ever, beside a client that takes no step, would never let a schedule
	// end.
	maxEarlyWakes = 1

	// maxIdleLeases bounds, in leases, how long waits go on that end with time while no operation ends. After that whoever
	// waits counts as waiting for ever.
	maxIdleLeases = 4
)

// readiness tells when an actor can take its next step.
type readiness uint8

const (
	blocked readiness = iota // when somebody else has done something
	byTime                   // the same, or when time has passed
	ready                    // now; a client that sleeps in an operation without other threads is ready, and its step lets time pass
)

// readiness returns when an actor can take its next step.
func (ex *execution) readiness(a *actor) readiness {
	switch {
	case a.done:
		return blocked
	case a.sends != nil:
		return readyIf(len(a.sends.queue) > 0)
	}
	switch at := a.parkedAt; {
	case at.kind == inJoin:
		return readyIf(at.thread.done)
	case at.kind == inNap && (at.ctx.Err() != nil || ex.isUp(a)), at.waitsForRedis() && at.conn.hasArrived():
		return ready
	case at.kind == inNap, at.waitsForRedis() && !ex.isUp(a):
		return byTime
	case at.waitsForRedis():
		return readyIf(a.wakeAt > 0) // its time-out has passed
	}
	return ready
}

// isUp reports whether the time is over for which an actor waits. What is over in the same millisecond is over at one time: the
// microseconds that steps take must not decide who comes first.
func (ex *execution) isUp(a *actor) bool { return a.wakeAt.Truncate(grain) <= ex.now }

func readyIf(yes bool) readiness {
	if yes {
		return ready
	}
	return blocked
}

// waitsForRedis reports whether Redis has been asked, and may answer when it likes.
func (p parked) waitsForRedis() bool {
	return p.kind == inRead || p.kind == inCommand && p.conn.kept != nil
}

// hasArrived reports whether there is something to read for whoever waits: an answer, a message or an error.
func (c *conn) hasArrived() bool {
	return c.failed != nil || len(c.inbox) > 0
}

// able lists the actors that can take a step, in the order in which they came into being. Those who first have to wait for
// time come last.
func (ex *execution) able() (out []*actor) {
	var waiting []*actor
	for _, a := range ex.all {
		switch ex.readiness(a) {
		case ready:
			out = append(out, a)
		case byTime:
			waiting = append(waiting, a)
		}
	}
	if len(waiting) == 0 || ex.clientsDone() || ex.idleFor >= maxIdleLeases*ex.spec.Program.Lease {
		return out
	}
	for _, a := range waiting {
		if ex.earlyWakes < maxEarlyWakes || !ex.wakesEarly(a) {
			out = append(out, a)
		} else {
			ex.wakesCut = true
		}
	}
	return out
}

// clientsDone reports whether the first thread of every client is done. Threads that still wait then are no part of the
// schedule any more.
func (ex *execution) clientsDone() bool {
	return !slices.ContainsFunc(ex.actors, func(a *actor) bool { return !a.done })
}

// wakesEarly reports whether a wait would end with time although others could go on without it, or would wake up before.
func (ex *execution) wakesEarly(a *actor) bool {
	for _, b := range ex.all {
		switch ex.readiness(b) {
		case ready:
			if b.wakeAt < a.wakeAt.Truncate(grain) || !b.parkedAt.sleepsLazily() {
				return true
			}
		case byTime:
			if b.wakeAt < a.wakeAt.Truncate(grain) {
				return true
			}
		}
	}
	return false
}

// sleepsLazily reports whether the actor's next step begins with the end of its sleep, if it sleeps.
func (p parked) sleepsLazily() bool {
	return (p.kind == inCommand || p.kind == inSleep || p.kind == inClock || p.kind == inWork) && !p.waitsForRedis()
}

// waits reports whether the actor's next step is the end of a wait, and not a command, a look at the clock or work.
func (a *actor) waits() bool {
	return a.sends != nil || a.parkedAt.kind == inStart || a.parkedAt.kind == inJoin || a.parkedAt.kind == inNap || a.parkedAt.waitsForRedis()
}

// resume ends an actor's wait. It returns true if the actor then runs, so that the scheduler has to wait for it.
func (ex *execution) resume(c interleave.Choice, a *actor) (runs bool, err error) {
	if a.sends != nil {
		return false, ex.sendSubscription(a.sends)
	}
	at := a.parkedAt
	if a.thread == 0 && at.kind != inStart {
		a.beginOp(ex.now)
	}
	if ex.readiness(a) == byTime {
		if err := ex.waitUntil(a); err != nil {
			return false, err
		}
	}
	if !at.waitsForRedis() {
		ex.trace.wentOn(at)
		ex.hear(a, event{kind: awake})
		a.awake <- true
	} else {
		got := len(at.conn.out)
		if at.conn.hasArrived() {
			ex.takeArrived(c, at)
		} else if err := ex.timeOut(a); err != nil {
			return false, err
		}
		ex.hearFrom(a, at.conn, min(got, len(at.conn.out)))
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
	ex.trace.waited(a.wakeAt - ex.now)
	return ex.passTo(a.wakeAt)
}

// takeArrived hands what has arrived to whoever waits for it, unless the choice says that it is lost.
func (ex *execution) takeArrived(c interleave.Choice, at parked) {
	gate := at.conn
	if gate.failed != nil {
		ex.trace.received(ex, at, gate.failed.Error())
		return
	}
	first := gate.takeMessage()
	ex.trace.received(ex, at, replyText(first))
	if gate.kept != nil {
		ex.forget(gate)
	}
	gate.out = append(gate.out, first...)
	if c.Kind() == interleave.LosesAnswers {
		ex.remaining.LostAnswers--
		gate.out, gate.failed = nil, errUnanswered
		ex.trace.unanswered("the answer is lost")
		ex.noteSituation(harness.AnswerLost)
	}
}

// takeMessage takes the first whole reply out of the inbox.
func (c *conn) takeMessage() []byte {
	n, _ := replySize(c.inbox) // it was measured when it came
	first := slices.Clone(c.inbox[:n])
	c.inbox = c.inbox[n:]
	return first
}

// timeOut ends a wait whose time-out has passed. Redis itself answers a command that it keeps.
func (ex *execution) timeOut(a *actor) error {
	gate := a.parkedAt.conn
	if gate.kept == nil {
		gate.timedOut = true
		ex.trace.timedOut(ex, a.parkedAt)
		return nil
	}
	if err := gate.unblock(); err != nil {
		return err
	}
	ex.trace.timedOut(ex, a.parkedAt)
	ex.forget(gate)
	gate.out = append(gate.out, gate.takeMessage()...)
	return nil
}

// keptCommand is a command that Redis keeps until it can answer.
type keptCommand struct {
	command command
	id      string // of the connection, as Redis knows it
}

// sendBlocking sends a command that Redis may keep. It returns true if Redis keeps it.
func (ex *execution) sendBlocking(a *actor, gate *conn) (kept bool, err error) {
	next := gate.queue[0]
	if err := gate.keep(); err != nil || gate.failed != nil {
		return false, err
	}
	ex.noteEffects(next, nil)
	if gate.hasArrived() {
		reply := gate.takeMessage()
		gate.release()
		gate.out = append(gate.out, reply...)
		ex.trace.sent(ex, next, reply, nil)
		return false, nil
	}
	ex.waiters = append(ex.waiters, gate)
	a.wakeAt = 0
	if within := next.blocksFor(); within > 0 {
		a.wakeAt = ex.now + within
	}
	ex.trace.sent(ex, next, nil, nil)
	ex.trace.unanswered("waits")
	return true, nil
}

// keep sends the next command of the connection, which Redis may keep. What Redis has answered at once is in the inbox. Time is
// the schedule's: Redis gets no time-out.
func (c *conn) keep() error {
	if err := c.ready(); err != nil || c.failed != nil {
		return err
	}
	id, err := c.wire.id()
	if err != nil {
		return err
	}
	next := c.queue[0]
	if err := c.post(next.withoutTimeout()); err != nil {
		return err
	}
	c.kept = &keptCommand{next, id}
	return c.listen()
}

// post sends a request that Redis may answer when it likes, and returns when Redis has read it.
func (c *conn) post(request []byte) error {
	return c.dialer.world.post(c.wire, c.node, request)
}

// post does what conn.post does, on a connection to a node. What comes in before a command of somebody else is read with it at the
// latest.
func (w *world) post(to *wire, node int, request []byte) error {
	if err := to.post(request); err != nil {
		return err
	}
	_, err := w.ask(node, "PING")
	return err
}

// release notes that Redis does not keep the connection's command any more.
func (c *conn) release() {
	c.kept = nil
	c.queue = c.queue[1:]
}

// unblock has Redis answer the command that it keeps as if its time-out had passed.
func (c *conn) unblock() error {
	if _, err := c.dialer.world.ask(c.node, "CLIENT", "UNBLOCK", c.kept.id, "TIMEOUT"); err != nil {
		return err
	}
	if err := c.listen(); err != nil {
		return err
	}
	if !c.hasArrived() {
		return fmt.Errorf("explore: Redis did not end %s", strings.ToUpper(commandName(c.kept.command.args)))
	}
	return nil
}

// listen takes what has come on the connection. Whatever Redis has to say on account of the commands that it has read has come when
// it has answered one more command of anybody: it writes all that it has to say before it reads again.
func (c *conn) listen() error {
	if _, err := c.dialer.world.ask(c.node, "PING"); err != nil {
		return err
	}
	return c.receive()
}

// receive takes what has come on the connection, after somebody else has been answered.
func (c *conn) receive() error {
	replies, err := c.wire.poll()
	c.inbox = append(c.inbox, replies...)
	return err
}

// listen takes what has come on all connections on which somebody waits.
func (ex *execution) listen() error {
	asked := -1
	for _, c := range ex.waiters {
		if c.isGone() || c.failed != nil {
			continue
		}
		if c.node != asked {
			if _, err := ex.w.ask(c.node, "PING"); err != nil {
				return err
			}
			asked = c.node
		}
		if err := c.receive(); err != nil {
			return err
		}
	}
	return nil
}

// forget ends the wait for an answer on a connection.
func (ex *execution) forget(c *conn) {
	if c.kept != nil {
		c.release()
	}
	ex.waiters = slices.DeleteFunc(ex.waiters, func(w *conn) bool { return w == c })
}

// cutOff ends the connection at Redis, at once: a closed socket would be noticed at some time only. Redis then serves nobody on
// it any more.
func (ex *execution) cutOff(c *conn, why error) error {
	ex.waiters = slices.DeleteFunc(ex.waiters, func(w *conn) bool { return w == c })
	id := ""
	switch {
	case c.kept != nil:
		id = c.kept.id
	case c.subscription != nil:
		id = c.subscription.id
	}
	if c.failed = why; id == "" || c.wire == nil || c.isGone() {
		return nil
	}
	_, err := ex.w.admin[c.node].ask(request("CLIENT", "KILL", "ID", id), 1) // it may be gone already
	c.wire.close()                                                           // the client may never close it
	c.wire = nil
	return err
}

// waitersOf lists the connections of a client on which it waits, or has subscribed.
func (ex *execution) waitersOf(client int) (out []*conn) {
	for _, c := range ex.waiters {
		if c.dialer == ex.w.dialers[client] {
			out = append(out, c)
		}
	}
	return out
}

// loseWaits ends all waits at the old primary after a failover.
func (ex *execution) loseWaits() error {
	for _, c := range slices.Clone(ex.waiters) {
		if c.node == ex.w.primary {
			continue
		}
		if err := ex.cutOff(c, errLost); err != nil {
			return err
		}
	}
	return nil
}

// waitAccess returns what the waits of a client touch: its blocked commands and its subscriptions.
func (ex *execution) waitAccess(client int) (a access) {
	for _, c := range ex.waitersOf(client) {
		a.add(c.waitAccess())
	}
	return a
}

func (c *conn) waitAccess() (a access) {
	if c.kept != nil {
		a.add(c.kept.command.access)
	}
	if c.subscription != nil {
		a.add(c.subscription.access)
	}
	return a
}

// withWoken adds to what a command touches what the commands touch that it may wake: Redis carries them out with it.
func (ex *execution) withWoken(a access) access {
	if len(ex.waiters) == 0 {
		return a
	}
	woken := map[*conn]bool{}
	for again := true; again; {
		again = false
		for _, c := range ex.waiters {
			if c.kept != nil && !woken[c] && !c.hasArrived() && (intersect(a.writes, c.kept.command.writes) || intersect(a.writes, c.kept.command.reads)) {
				woken[c], again = true, true
				a.reads, a.writes = slices.Concat(a.reads, c.kept.command.reads), slices.Concat(a.writes, c.kept.command.writes)
			}
		}
	}
	return a
}

// askWaiting sends a blocking command of the harness's own, when no schedule is under way. It waits in the schedule's time, for
// two leases where the command itself has no time-out.
func (c *conn) askWaiting() error {
	next := c.queue[0]
	c.dialer.world.forgoLooks()
	if err := c.keep(); err != nil || c.failed != nil {
		return err
	}
	if ex := c.dialer.world.current; ex != nil && ex.finishing && !c.hasArrived() {
		if err := ex.passAlong(c, next.blocksFor()); err != nil {
			return err
		}
	}
	if !c.hasArrived() {
		if err := c.unblock(); err != nil {
			return err
		}
	}
	c.out = append(c.out, c.takeMessage()...)
	c.release()
	return nil
}

// forgoLooks ends the use of the memory: the program's look at the store waits, and time passes meanwhile.
func (w *world) forgoLooks() {
	if ex := w.current; ex != nil && ex.learns() {
		ex.memory.forgo("the program's look at the store waits")
	}
}

// passAlong lets time pass for a wait of the harness's own, until something arrives or d is over; 0: two leases.
func (ex *execution) passAlong(c *conn, d time.Duration) error {
	if d <= 0 {
		d = 2 * ex.spec.Program.Lease
	}
	defer ex.w.takeTurn()()
	ex.waiters = append(ex.waiters, c)
	err := ex.passBeside(ex.now+d, c.hasArrived)
	ex.waiters = slices.DeleteFunc(ex.waiters, func(w *conn) bool { return w == c })
	return err
}

// passBeside lets time pass to an instant after the last step of a schedule. Threads that are left act meanwhile: who wakes
// first acts first. It ends early when enough is true.
func (ex *execution) passBeside(to time.Duration, enough func() bool) error {
	for n := 0; ; n++ {
		a := ex.nextAwake(to)
		if a == nil || enough() {
			break
		}
		if n == maxSteps {
			return stopped("client %d's thread %d has not stopped after %d steps at the end of a schedule: does it try for ever?", a.index+1, a.thread+1, n)
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

// nextAwake returns the thread that acts next in the time up to an instant; nil: none does.
func (ex *execution) nextAwake(to time.Duration) (next *actor) {
	for _, a := range ex.all {
		switch r := ex.readiness(a); {
		case r == ready:
			return a
		case r == byTime && a.wakeAt <= to && (next == nil || a.wakeAt < next.wakeAt):
			next = a
		}
	}
	return next
}

// stepAfter lets a thread take a step after the last of the schedule.
func (ex *execution) stepAfter(a *actor) error {
	c := interleave.Run(a.index).Of(a.thread)
	ex.now += tick / 8
	ex.stepTimes = append(ex.stepTimes, ex.now)
	ex.w.setTime(ex.now)
	ex.trace.startStep(ex, c)
	if ex.trace != nil {
		ex.trace.current().At = ex.now
	}
	_, err := ex.stepClient(c, a)
	ex.trace.finishStep(nil, nil)
	if err == nil {
		err = ex.listen()
	}
	return err
}

// errTimedOut is the error of a read whose time-out has passed.
var errTimedOut = os.ErrDeadlineExceeded

// nap lets an actor sleep that has other threads beside it. It returns when the time is over or ctx has ended.
func (a *actor) nap(ctx context.Context, d time.Duration) error {
	a.wakeAt = max(a.wakeAt, a.ex.now) + d
	if !a.wait(parked{kind: inNap, ctx: ctx}) {
		return errCrashed
	}
	return ctx.Err()
}
