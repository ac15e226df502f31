package explore

import (
	"context"
	"net"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
)

// This file lets programs outside subscribe. Nobody sees when such a program reads, so it asks before it does, and
// nothing comes to it that it has not asked for. A SUBSCRIBE is answered as any command is. A program that does not
// wait for the confirmation says so before: then its way to Redis is an actor of its own, as that of a client inside
// is, and the confirmation comes as messages do.

var (
	_ harness.Listener = clientClock{}
	_ harness.Listener = harnessClock{}
)

// tell gives the program something to read.
func (c *conn) tell(b []byte) {
	if c.ear.outer != nil {
		_, _ = c.ear.outer.Write(b) // it may have closed the connection
		return
	}
	c.out = append(c.out, b...)
	select {
	case c.wrote <- struct{}{}: // a relay waits in Read
	default:
	}
}

// settle returns when the gate has done all that follows from what a client's program did in the turn that has just
// ended: it may have sent something without waiting for an answer, or closed a connection by which it has subscribed.
func (ex *live) settle(a *actor) error {
	if len(ex.w.gates.addresses) == 0 {
		return nil
	}
	for g := ex.w.newGrace(); ; {
		behind := a.expects
		for _, c := range ex.waitersOf(a.index) {
			behind = behind || c.subscription != nil && c.ear.isBehind()
		}
		if !behind || ex.trouble != nil {
			return nil
		}
		switch over, err := g.isOver(); {
		case err != nil:
			return err
		case over && a.isCrashed(): // its program was told that all is lost
			a.expects = false
			return nil
		case over && a.expects:
			return unsubscribed(a)
		case over:
			return schedule.Stopped("%s was not heard to its end within %v", a, parkWithin)
		}
		back := ex.w.giveTurn()
		time.Sleep(20 * time.Microsecond)
		back()
	}
}

// unsubscribed is why a search ends whose program has announced a SUBSCRIBE that does not come.
func unsubscribed(a *actor) error {
	return schedule.Stopped("%s has asked for subscribe, and sent no SUBSCRIBE on a new connection within %v: see "+
		"Subscriptions in workloads/clients/README.md", a, parkWithin)
}

// goesWithMessages reports whether the next command is one of a program outside whose answer comes among messages.
// Without a connection it is none.
func (c *conn) goesWithMessages() bool {
	return c != nil && c.outside && !c.Multi &&
		(c.subscription != nil || command.Subscribes(command.Name(c.Queue[0].Args)))
}

// sendAmongMessages sends such a command. Messages that came before its answer come with it, as they do from Redis.
func (c *conn) sendAmongMessages() error {
	if err := c.ready(); err != nil || c.failed != nil {
		return err
	}
	next := c.Queue[0]
	name := command.Name(next.Args)
	if c.subscription == nil && !strings.HasSuffix(name, "unsubscribe") {
		if err := c.beginSubscription(); err != nil {
			return err
		}
	}
	if c.subscription != nil && command.Subscribes(name) {
		c.subscription.access.Add(next.Access)
		c.subscription.sharded = c.subscription.sharded || name == "ssubscribe"
	}
	before := len(c.inbox)
	if err := c.postNow(next.Raw); err != nil {
		return err
	}
	if err := c.listen(); err != nil {
		return err
	}
	if len(c.inbox) == before {
		return schedule.Stopped("a program outside has sent %s on a connection that has subscribed, and waits there: "+
			"let it use another", strings.ToUpper(name))
	}
	c.out, c.inbox = append(c.out, c.inbox...), nil
	c.Queue = c.Queue[1:]
	if strings.HasSuffix(name, "unsubscribe") && c.subscription != nil && !c.subscription.sharded &&
		endsSubscription(c.out) {
		c.endSubscription()
	}
	return nil
}

// beginSubscription notes that the connection is about to subscribe.
func (c *conn) beginSubscription() error {
	id, err := c.wire.ID()
	if err != nil {
		return err
	}
	c.subscription = &subscription{id: id}
	if !c.dialer.client {
		c.dialer.listens = c
	} else if a := c.dialer.acting(); a != nil {
		a.live.waiters = append(a.live.waiters, c)
		a.ex.Subscribed = true
	}
	return nil
}

// endsSubscription reports whether the last reply says that no channel and no pattern is left.
func endsSubscription(replies []byte) bool { return strings.HasSuffix(string(replies), "\r\n:0\r\n") }

// endSubscription makes the connection one for commands again.
func (c *conn) endSubscription() {
	c.subscription = nil
	if a := c.dialer.actor.Load(); a != nil {
		a.live.forget(c)
	}
}

// sendSubscribing sends a command whose answer comes among messages, in the turn of an actor.
func (ex *live) sendSubscribing(a *actor, c *conn) error {
	next := c.Queue[0]
	if ex.w.gates.announced != nil && c.dialer.client {
		return schedule.Stopped(announcedReader, a.index+1)
	}
	before := len(c.out)
	if err := c.sendAmongMessages(); err != nil {
		return err
	}
	if c.subscription != nil {
		a.listens = c
	}
	ex.trace.Sent(next, c.out[before:], c.failed)
	return nil
}

// announcedReader is the reason for a search that ends since a program that drives itself has subscribed.
const announcedReader = "client %d has subscribed, and subscriptions of a program that drives itself are not " +
	"explored, since it cannot ask when it reads: " +
	"let it be told what to do, see workloads/clients/README.md"

// expectSubscription makes the next connection of the program that subscribes one that does not wait for confirmations.
// It reports false if the program has not announced one.
func (c *conn) expectSubscription() bool {
	a := c.dialer.acting()
	if a == nil || !a.expects {
		return false
	}
	a.expects = false
	if a.isCrashed() {
		return false
	}
	c.unawaited, a.listens, a.ex.Subscribed = true, c, true
	return true
}

// Subscribe notes that the program's turn does not end before it has sent a SUBSCRIBE. That of a client that has
// crashed is waited for as well, or it would come in the next schedule.
func (v clientClock) Subscribe() {
	defer v.a.ex.w.takeTurn()()
	v.a.running().expects = true
}

// AwaitMessage parks the client until its program has something to read.
func (v clientClock) AwaitMessage(ctx context.Context, within time.Duration) (comes bool, err error) {
	a, c, err := v.beginHearing(within)
	if a == nil {
		return err == nil, err
	}
	a.park <- parked{Stop: model.Stop{Kind: model.InRead}, conn: c, ctx: ctx}
	if !<-c.reply {
		return false, errCrashed
	}
	return c.endHearing(ctx)
}

// beginHearing returns the actor that has to wait and the connection on which it does. The actor is nil if the program
// can read at once, or with an error.
func (v clientClock) beginHearing(within time.Duration) (*actor, *conn, error) {
	defer v.a.ex.w.takeTurn()()
	a := v.a.running()
	if a.isCrashed() {
		a.refuse()
		return nil, nil, errCrashed
	}
	if err := a.live.settle(a); err != nil {
		a.live.trouble = err
		return nil, nil, err
	}
	c := a.subscribedBy()
	if c == nil {
		return nil, nil, harness.ErrNotSubscribed
	}
	a.ex.Heard = true
	switch {
	case c.failed != nil || c.isGone(): // the program finds it closed
		return nil, c, nil
	case len(c.inbox) > 0:
		message := c.takeMessage()
		a.live.hear(a, model.Event{Kind: model.Answered, Text: string(message)})
		c.tell(message)
		return nil, c, nil
	}
	if a.wakeAt > a.ex.now && !a.wait(at(model.InSleep)) {
		return nil, nil, errCrashed
	}
	a.wakeAt = 0
	if within > 0 {
		a.wakeAt = a.ex.now + within
	}
	return a, c, nil
}

// endHearing gives the program what it has waited for. It reports false if nothing came in time.
func (c *conn) endHearing(ctx context.Context) (comes bool, err error) {
	defer c.dialer.takeTurn()()
	switch {
	case c.timedOut:
		c.timedOut = false
		return false, nil
	case c.failed == nil && len(c.out) == 0:
		return false, ctx.Err()
	case c.failed == nil:
		c.tell(c.out)
		c.out = nil
	}
	return true, nil
}

// subscribedBy returns the connection on which the actor reads messages: that by which it has subscribed last, else the
// only one by which other threads of its client have. It is nil if there is none.
func (a *actor) subscribedBy() *conn {
	if a.listens != nil {
		return a.listens
	}
	var only *conn
	for _, t := range a.ex.threadsOf(a.index) {
		if t.listens == nil || t.listens == only {
			continue
		}
		if only != nil {
			return nil
		}
		only = t.listens
	}
	return only
}

// isStopped reports whether a program's thread that waits for a message was told to stop.
func (p parked) isStopped() bool { return p.Kind == model.InRead && p.ctx != nil && p.ctx.Err() != nil }

// endHearings closes what programs outside have left subscribed in the last schedule.
func (w *world) endHearings() error {
	ex := w.current
	if own := w.own; own.listens != nil {
		back := w.giveTurn()
		_ = own.listens.Close() // it returns no error
		back()
		own.listens = nil
	}
	if ex == nil || len(w.gates.addresses) == 0 {
		return nil
	}
	for i := range ex.actors {
		for _, c := range ex.waitersOf(i) {
			if c.subscription == nil {
				continue
			}
			if err := ex.cutOff(c, net.ErrClosed); err != nil {
				return err
			}
		}
	}
	for _, a := range ex.all {
		a.done = a.done || a.sends != nil
	}
	return nil
}

// AwaitMessage lets time pass until something comes to the program with which the harness looks.
func (c harnessClock) AwaitMessage(_ context.Context, within time.Duration) (comes bool, err error) {
	gate, world := c.ex.w.own.listens, c.ex.w
	if gate == nil {
		return false, harness.ErrNotSubscribed
	}
	world.forgoLooks()
	if err := c.ex.passAlong(gate, within); err != nil {
		return false, err
	}
	defer world.takeTurn()()
	if len(gate.inbox) == 0 {
		return false, nil
	}
	gate.tell(gate.takeMessage())
	return true, nil
}

// Subscribe does nothing: nobody acts between a SUBSCRIBE of the harness's own and its confirmation.
func (harnessClock) Subscribe() {}
