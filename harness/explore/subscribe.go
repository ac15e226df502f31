package explore

import (
	"cmp"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file lets clients subscribe. A client that sends SUBSCRIBE does not wait for an answer, so an actor of its own
// sends it: the command may take effect at any time until the client reads its confirmation. A message arrives when it
// is published. Reading one is a step of the reader.

// subscription is the state of a subscribed connection.
type subscription struct {
	id     string         // Redis's ID of the connection
	access command.Access // its channels, as keys

	sharded bool // it has sharded channels; only set for adapters
}

// subscribe turns the connection into a subscription if the client has written a subscribing command. From then on a
// separate actor sends what the client writes on this connection.
func (c *conn) subscribe() {
	wants := slices.ContainsFunc(c.Queue, func(next command.Command) bool {
		return command.Subscribes(command.Name(next.Args))
	})
	if c.subscription == nil && (!wants || c.Multi) {
		return
	}
	if c.ofAdapter && c.subscription != nil && !c.unawaited {
		return // its commands are answered one by one
	}
	defer c.dialer.takeTurn()()
	if c.ofAdapter && !c.unawaited && !c.takeAnnouncement() {
		return
	}
	for i := range c.Queue {
		c.Queue[i].Access, _ = command.AccessOf(c.Queue[i].Args)
	}
	if c.subscription != nil {
		c.unsubscribeNow()
		return
	}
	c.subscription = &subscription{}
	if a := c.dialer.acting(); a != nil && !a.isCrashed() {
		if sender := a.live.senderOf(a.index); sender != nil {
			sender.subscriptionConn = c
		}
		a.live.waiters = append(a.live.waiters, c)
	}
}

// unsubscribeNow sends the UNSUBSCRIBE commands at the beginning of the queue at once. Whether they take effect now or
// later only changes how many unread messages arrive.
func (c *conn) unsubscribeNow() {
	a := c.dialer.actor.Load()
	for a != nil && c.failed == nil && len(c.Queue) > 0 &&
		strings.HasSuffix(command.Name(c.Queue[0].Args), "unsubscribe") {
		next := c.Queue[0]
		c.Queue = c.Queue[1:]
		if err := c.postNow(next.Raw); err != nil {
			a.live.failure = err
		}
	}
}

// senderOf returns the actor that sends the commands of a client's new subscription. It reuses the actor of a
// subscription that the client has closed. Otherwise it adds an actor, which counts as one of the client's threads. It
// returns nil if the client has too many threads.
func (ex *live) senderOf(client int) *actor {
	for _, a := range ex.threadsOf(client) {
		if a.subscriptionConn != nil && a.subscriptionConn.isGone() {
			return a
		}
	}
	if len(ex.threadsOf(client)) == interleave.MaxThreads {
		ex.failure = tooManyThreads(client)
		return nil
	}
	return ex.addThread(client)
}

// unsubscribe ends the subscription of a connection that is being closed.
func (c *conn) unsubscribe() {
	a := c.dialer.actor.Load()
	if a == nil && !c.ofAdapter || c.subscription == nil && c.blockedID == "" {
		return
	}
	if !c.ofAdapter { // otherwise Close has the turn
		defer c.dialer.takeTurn()()
	}
	ex := c.dialer.world.current // an adapter may close connections after its client is done
	if a != nil {
		ex = a.live
	}
	if ex == nil {
		return
	}
	if err := ex.cutOff(c, cmp.Or(c.failed, net.ErrClosed)); err != nil {
		ex.failure = err
	}
}

// sendSubscription sends a subscribed connection's next command. Its confirmation arrives like a message.
func (ex *live) sendSubscription(c *conn) error {
	if c.failed != nil { // it was cut off after the client had written, for example by a failover
		ex.trace.Unsent(c.Queue[0], "its connection is closed")
		c.Queue = nil
		return nil
	}
	next := c.Queue[0]
	if c.subscription.id == "" {
		if err := c.prepare(); err != nil || c.failed != nil {
			return err
		}
		id, err := c.wire.ID()
		if err != nil {
			return err
		}
		c.subscription.id = id
	}
	c.Queue = c.Queue[1:]
	c.subscription.access.Add(next.Access)
	ex.trace.Sent(next, nil, nil)
	return c.postNow(next.Raw)
}

// foreignReader is the error for a subscription that is read in a goroutine unknown to the explorer.
const foreignReader = "client %d reads its subscription in a goroutine that the explorer does not control, such as " +
	"that of PubSub.Channel: read with ReceiveTimeout or ReceiveMessage, in the calling goroutine or in one started " +
	"by harness.Go"

// awaitMessage adds one message to the unread replies. The reading actor waits until there is one, or its time-out has
// passed.
func (c *conn) awaitMessage() error {
	a, err := c.reader()
	if a == nil {
		return err
	}
	a.park <- parked{Stop: model.Stop{Kind: model.InRead}, conn: c}
	if !<-c.reply {
		return errCrashed
	}
	if c.timedOut {
		c.timedOut = false
		return errUnanswered
	}
	return nil
}

// reader returns the actor that has to wait for a message. It returns nil if nothing has to be awaited, since a message
// has arrived, or if there is an error.
func (c *conn) reader() (*actor, error) {
	defer c.dialer.takeTurn()()
	if c.isGone() {
		return nil, net.ErrClosed
	}
	a := c.dialer.acting()
	switch {
	case a != nil && a.isCrashed():
		return nil, errCrashed
	case a == nil:
		return nil, c.askMessage()
	case a.goroutine != goroutineID():
		a.live.failure = schedule.Stopped(foreignReader, a.index+1)
		back := c.dialer.world.giveTurn()
		<-c.gone
		back()
		return nil, net.ErrClosed
	case len(c.inbox) > 0:
		c.unread = append(c.unread, c.takeMessage()...)
		a.live.noteReceived(a, c, 0)
		return nil, nil
	}
	if a.wakeAt > a.ex.now && !a.wait(at(model.InSleep)) {
		return nil, errCrashed
	}
	a.wakeAt = 0
	if c.readTimeout > 0 {
		a.wakeAt = a.ex.now + c.readTimeout
	}
	return a, nil
}

// askMessage reads a message for the harness itself, or for a client while no schedule is under way.
func (c *conn) askMessage() error {
	c.dialer.world.forgoMemory()
	if err := c.sendAll(); err != nil {
		return err
	}
	if ex := c.dialer.world.current; ex != nil && ex.finishing && !c.hasArrived() {
		if err := ex.passUntilArrival(c, c.readTimeout); err != nil {
			return err
		}
	}
	if len(c.inbox) == 0 {
		return errUnanswered
	}
	c.unread = append(c.unread, c.takeMessage()...)
	return nil
}

// sendAll sends everything that was written on a subscribed connection.
func (c *conn) sendAll() error {
	if err := c.prepare(); err != nil || c.failed != nil {
		return errors.Join(err, c.failed)
	}
	for _, next := range c.Queue {
		if err := c.postNow(next.Raw); err != nil {
			return err
		}
	}
	c.Queue = nil
	return c.receive()
}

// The unit of read time-outs is a hundredth of the lease, within these bounds.
const (
	leastReadTimeoutUnit = time.Millisecond
	mostReadTimeoutUnit  = 100 * time.Millisecond
)

func readTimeoutUnit(p interleave.Program) time.Duration {
	return min(max((p.Lease/100).Truncate(keyspace.Grain), leastReadTimeoutUnit), mostReadTimeoutUnit)
}
