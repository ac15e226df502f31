package explore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file lets actors wait: for the answer to a blocked command, for a message, for time, or for another thread.

// resume ends an actor's wait. The choice c may say that the awaited answer is lost. resume reports whether the actor
// runs afterwards, so that the scheduler has to wait for it.
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
	if gate.blockedID != "" {
		if lost && gate.Next().Changes() {
			a.unansweredCommand = gate.Next().Raw
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

// awaitedWords describes the answer or message from Redis for which a parked actor waits.
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
	if gate.blockedID == "" {
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

// nap lets an actor sleep. It is for actors whose client has several threads. It returns when the time is over or ctx
// is canceled.
func (a *actor) nap(ctx context.Context, d time.Duration) error {
	a.wakeAt = max(a.wakeAt, a.ex.now) + d
	a.noteAct(model.Act{Sleep: d})
	if !a.wait(parked{Stop: model.Stop{Kind: model.InNap}, ctx: ctx}) {
		return errCrashed
	}
	return ctx.Err()
}
