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

// This file lets adapters subscribe. The explorer cannot see when such a program reads, so the
// program asks first, and gets no message that it has not asked for. A SUBSCRIBE is answered like any command. A
// program that does not wait for the confirmation says so before it subscribes. Then its commands are sent by an actor
// of their own, as for a client in this process, and the confirmation arrives like a message.

var (
	_ harness.Listener = clientClock{}
	_ harness.Listener = harnessClock{}
)

// give sends b to the client's program, through the program's socket or the relay in this process.
func (c *conn) give(b []byte) {
	if c.activity.outer != nil {
		_, _ = c.activity.outer.Write(b) // an error: the program has closed the connection
		return
	}
	c.unread = append(c.unread, b...)
	select {
	case c.wrote <- struct{}{}: // the relay waits in Read
	default:
	}
}

// awaitGate waits until the gate has handled everything that the client's program did in its last turn, such as a
// command whose answer it does not await, or the end of a subscribed connection.
func (ex *live) awaitGate(a *actor) error {
	if len(ex.w.gates.addresses) == 0 {
		return nil
	}
	for g := ex.w.newGrace(); ; {
		behind := a.expectsSubscribe
		for _, c := range ex.waitersOf(a.index) {
			behind = behind || c.subscription != nil && c.activity.isBehind()
		}
		if !behind || ex.failure != nil {
			return nil
		}
		switch over, err := g.checkOver(); {
		case err != nil:
			return err
		case over && a.isCrashed(): // its program was told that everything is lost
			a.expectsSubscribe = false
			return nil
		case over && a.expectsSubscribe:
			return unsubscribed(a)
		case over:
			return schedule.Stopped("%s was not heard to its end within %v", a, parkWithin)
		}
		back := ex.w.giveTurn()
		time.Sleep(20 * time.Microsecond)
		back()
	}
}

// unsubscribed is the error for a program that announced a SUBSCRIBE and did not send it.
func unsubscribed(a *actor) error {
	return schedule.Stopped("%s has asked for subscribe, and sent no SUBSCRIBE on a new connection within %v: see "+
		"Subscriptions in workloads/adapters/README.md", a, parkWithin)
}

// isAnsweredAmongMessages reports whether the answer to an adapter's next command arrives on a connection that also
// receives messages: the connection is subscribed, or this command subscribes it. The result is false for a nil
// connection.
func (c *conn) isAnsweredAmongMessages() bool {
	return c != nil && c.ofAdapter && !c.Multi &&
		(c.subscription != nil || command.Subscribes(command.Name(c.Queue[0].Args)))
}

// sendAmongMessages sends a command for which isAnsweredAmongMessages is true, and takes its answer. The client also
// gets the messages that arrived before the answer, as from Redis itself.
func (c *conn) sendAmongMessages() error {
	if err := c.prepare(); err != nil || c.failed != nil {
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
	if err := c.receive(); err != nil {
		return err
	}
	if len(c.inbox) == before {
		return schedule.Stopped("an adapter has sent %s on a connection that has subscribed, and waits there: "+
			"let it use another", strings.ToUpper(name))
	}
	c.unread, c.inbox = append(c.unread, c.inbox...), nil
	c.Queue = c.Queue[1:]
	if strings.HasSuffix(name, "unsubscribe") && c.subscription != nil && !c.subscription.sharded &&
		strings.HasSuffix(string(c.unread), "\r\n:0\r\n") { // no channel and no pattern remains
		c.subscription = nil
		if a := c.dialer.actor.Load(); a != nil {
			a.live.stopWaiting(c)
		}
	}
	return nil
}

func (c *conn) beginSubscription() error {
	id, err := c.wire.ID()
	if err != nil {
		return err
	}
	c.subscription = &subscription{id: id}
	if !c.dialer.client {
		c.dialer.subscribedOn = c
	} else if a := c.dialer.acting(); a != nil {
		a.live.waiters = append(a.live.waiters, c)
		a.ex.Subscribed = true
	}
	return nil
}

// sendSubscribing is the step of an actor that sends a command for which isAnsweredAmongMessages is true, such as
// SUBSCRIBE. It sends the command, takes the answer and writes both into the trace.
func (ex *live) sendSubscribing(a *actor, c *conn) error {
	next := c.Queue[0]
	if ex.w.gates.announced != nil && c.dialer.client {
		return schedule.Stopped("client %d has subscribed, and subscriptions of an adapter that drives itself are not "+
			"explored, since it cannot ask when it reads: let it be told what to do, see "+
			"workloads/adapters/README.md", a.index+1)
	}
	before := len(c.unread)
	if err := c.sendAmongMessages(); err != nil {
		return err
	}
	if c.subscription != nil {
		a.subscribedOn = c
	}
	ex.trace.Sent(next, c.unread[before:], c.failed)
	return nil
}

// takeAnnouncement reports whether the client's program has announced a SUBSCRIBE (see clientClock.Subscribe), and
// forgets the announcement. A program that has announced one does not wait for confirmations on this connection.
func (c *conn) takeAnnouncement() bool {
	a := c.dialer.acting()
	if a == nil || !a.expectsSubscribe {
		return false
	}
	a.expectsSubscribe = false
	if a.isCrashed() {
		return false
	}
	c.unawaited, a.subscribedOn, a.ex.Subscribed = true, c, true
	return true
}

// Subscribe announces a SUBSCRIBE. The program's turn then lasts until the program has sent the SUBSCRIBE, even if its
// client has crashed. Otherwise the SUBSCRIBE would arrive in the next schedule.
func (v clientClock) Subscribe() {
	defer v.a.ex.w.takeTurn()()
	v.a.runningActor().expectsSubscribe = true
}

// AwaitMessage parks the client until its program has something to read, or until a time-out (the parameter within)
// passes. A time-out of 0 or less means no limit. AwaitMessage reports whether there is something to read.
func (v clientClock) AwaitMessage(ctx context.Context, within time.Duration) (comes bool, err error) {
	a, c, err := v.beginAwaiting(within)
	if a == nil {
		return err == nil, err
	}
	a.park <- parked{Stop: model.Stop{Kind: model.InRead}, conn: c, ctx: ctx}
	if !<-c.reply {
		return false, errCrashed
	}
	return c.endAwaiting(ctx)
}

// beginAwaiting prepares AwaitMessage. It returns the actor that has to wait for a message, and the connection on which
// the message will arrive. The actor is nil if it need not wait: a message is there already, the connection is closed,
// or there is an error.
func (v clientClock) beginAwaiting(within time.Duration) (*actor, *conn, error) {
	defer v.a.ex.w.takeTurn()()
	a := v.a.runningActor()
	if a.isCrashed() {
		a.refuse()
		return nil, nil, errCrashed
	}
	if err := a.live.awaitGate(a); err != nil {
		a.live.failure = err
		return nil, nil, err
	}
	c := a.subscribedBy()
	if c == nil {
		return nil, nil, harness.ErrNotSubscribed
	}
	a.ex.AskedForMessage = true
	switch {
	case c.failed != nil || c.isGone(): // the program will find it closed
		return nil, c, nil
	case len(c.inbox) > 0:
		message := c.takeMessage()
		a.live.noteEvent(a, model.Event{Kind: model.Answered, Text: string(message)})
		c.give(message)
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

// endAwaiting ends a wait for a message and gives the program what has arrived. It returns false if the time-out
// passed, or ctx was canceled, before anything arrived.
func (c *conn) endAwaiting(ctx context.Context) (comes bool, err error) {
	defer c.dialer.takeTurn()()
	switch {
	case c.timedOut:
		c.timedOut = false
		return false, nil
	case c.failed == nil && len(c.unread) == 0:
		return false, ctx.Err()
	case c.failed == nil:
		c.give(c.unread)
		c.unread = nil
	}
	return true, nil
}

// subscribedBy returns the connection on which the actor reads messages: the one on which it subscribed last. If the
// actor has not subscribed, it returns the one on which other threads of the client subscribed. It returns nil if there
// is none, or if there are several.
func (a *actor) subscribedBy() *conn {
	if a.subscribedOn != nil {
		return a.subscribedOn
	}
	var only *conn
	for _, t := range a.ex.threadsOf(a.index) {
		if t.subscribedOn == nil || t.subscribedOn == only {
			continue
		}
		if only != nil {
			return nil
		}
		only = t.subscribedOn
	}
	return only
}

// isStopped reports whether an adapter's thread that waits for a message was told to stop.
func (p parked) isStopped() bool { return p.Kind == model.InRead && p.ctx != nil && p.ctx.Err() != nil }

// closeSubscriptions closes the connections that adapters left subscribed in the last schedule.
func (w *world) closeSubscriptions() error {
	ex := w.current
	if probe := w.probeDialer; probe.subscribedOn != nil {
		back := w.giveTurn()
		_ = probe.subscribedOn.Close() // always nil
		back()
		probe.subscribedOn = nil
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
		a.done = a.done || a.subscriptionConn != nil
	}
	return nil
}

// AwaitMessage serves Program.Observe and Program.Finally. It lets time pass until a message arrives, or until a
// time-out (the parameter within) passes. A time-out of 0 or less means two leases.
func (c harnessClock) AwaitMessage(_ context.Context, within time.Duration) (comes bool, err error) {
	gate, world := c.ex.w.probeDialer.subscribedOn, c.ex.w
	if gate == nil {
		return false, harness.ErrNotSubscribed
	}
	world.forgoMemory()
	if err := c.ex.passUntilArrival(gate, within); err != nil {
		return false, err
	}
	defer world.takeTurn()()
	if len(gate.inbox) == 0 {
		return false, nil
	}
	gate.give(gate.takeMessage())
	return true, nil
}

// Subscribe does nothing: no other actor runs between the harness's own SUBSCRIBE and its confirmation.
func (harnessClock) Subscribe() {}
