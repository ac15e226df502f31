package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
)

// This file handles blocked commands, which Redis holds back until it can answer, and the connections on which clients
// wait.

// sendBlocking sends a command that Redis may block, and reports whether Redis blocks it.
func (ex *live) sendBlocking(a *actor, gate *conn) (blocks bool, err error) {
	next := gate.Queue[0]
	if err := gate.sendBlockable(); err != nil || gate.failed != nil {
		return false, err
	}
	ex.noteReply(next, nil)
	if gate.hasArrived() {
		reply := gate.takeMessage()
		gate.clearBlocked()
		gate.unread = append(gate.unread, reply...)
		ex.trace.Sent(next, reply, nil)
		return false, nil
	}
	ex.waiters = append(ex.waiters, gate)
	a.wakeAt = 0
	if within := next.BlocksFor(); within > 0 {
		a.wakeAt = ex.now + within
	}
	ex.trace.Sent(next, nil, nil)
	ex.trace.Unanswered("waits")
	return true, nil
}

// sendBlockable sends the connection's next command, which Redis may block. If Redis answers at once, the answer is in
// c.inbox. The command is sent without its time-out, which passes in virtual time.
func (c *conn) sendBlockable() error {
	if err := c.prepare(); err != nil || c.failed != nil {
		return err
	}
	id, err := c.wire.ID()
	if err != nil {
		return err
	}
	next := c.Queue[0]
	if err := c.postNow(next.WithoutTimeout()); err != nil {
		return err
	}
	c.blockedID = id
	return c.receive()
}

// postNow sends a request and returns when Redis has read it. The answer may come later.
func (c *conn) postNow(request []byte) error {
	return c.dialer.world.Post(c.wire, c.Node, request)
}

func (c *conn) clearBlocked() {
	c.blockedID = ""
	c.Queue = c.Queue[1:]
}

// unblock makes Redis answer the blocked command as if its time-out had passed.
func (c *conn) unblock() error {
	if _, err := c.dialer.world.Ask(c.Node, "CLIENT", "UNBLOCK", c.blockedID, "TIMEOUT"); err != nil {
		return err
	}
	if err := c.receive(); err != nil {
		return err
	}
	if !c.hasArrived() {
		return fmt.Errorf("explore: Redis did not end %s", strings.ToUpper(command.Name(c.Queue[0].Args)))
	}
	return nil
}

// receive takes what has arrived on the connection. Before that it waits for Redis's answer to a PING on another
// connection, since Redis writes out all effects of earlier commands before it answers a later one.
func (c *conn) receive() error {
	if _, err := c.dialer.world.Ask(c.Node, "PING"); err != nil {
		return err
	}
	return c.poll()
}

// poll does what receive does, but without the PING, for callers that have seen Redis answer a later command already.
func (c *conn) poll() error {
	replies, err := c.wire.Poll()
	c.inbox = append(c.inbox, replies...)
	return err
}

// endStep takes what has arrived on all connections on which clients wait.
func (ex *live) endStep() error {
	asked := -1
	for _, c := range ex.waiters {
		if c.isGone() || c.failed != nil {
			continue
		}
		if c.Node != asked {
			if _, err := ex.w.Ask(c.Node, "PING"); err != nil {
				return err
			}
			asked = c.Node
		}
		if err := c.poll(); err != nil {
			return err
		}
	}
	return nil
}

// stopWaiting ends the wait for an answer on a connection.
func (ex *live) stopWaiting(c *conn) {
	if c.blockedID != "" {
		c.clearBlocked()
	}
	ex.waiters = slices.DeleteFunc(ex.waiters, func(w *conn) bool { return w == c })
}

// cutOff makes Redis end the connection now. Redis would notice a closed socket only later.
func (ex *live) cutOff(c *conn, why error) error {
	ex.waiters = slices.DeleteFunc(ex.waiters, func(w *conn) bool { return w == c })
	id := ""
	switch {
	case c.blockedID != "":
		id = c.blockedID
	case c.subscription != nil:
		id = c.subscription.id
	}
	defer c.activity.hangUp() // the client closes the connection when it notices
	if c.failed = why; id == "" || c.wire == nil || c.isGone() {
		return nil
	}
	err := ex.w.Kill(c.Node, id)
	c.wire.Close() // the client may never close it
	c.wire = nil
	return err
}

// waitersOf lists a client's connections on which it waits or has subscribed.
func (ex *live) waitersOf(client int) (out []*conn) {
	for _, c := range ex.waiters {
		if c.dialer == ex.dialerOf(client) {
			out = append(out, c)
		}
	}
	return out
}

// loseWaits ends all waits at the old primary after a failover.
func (ex *live) loseWaits() error {
	for _, c := range slices.Clone(ex.waiters) {
		if c.Node == ex.w.Primary {
			continue
		}
		if err := ex.cutOff(c, errLost); err != nil {
			return err
		}
	}
	return nil
}

// waitAccess returns what a client's blocked commands and subscriptions touch.
func (ex *live) waitAccess(client int) (a command.Access) {
	for _, c := range ex.waitersOf(client) {
		a.Add(c.waitAccess())
	}
	return a
}

func (c *conn) waitAccess() (a command.Access) {
	if c.blockedID != "" {
		a.Add(c.Queue[0].Access)
	}
	if c.subscription != nil {
		a.Add(c.subscription.access)
	}
	return a
}

// withWoken gets what a command touches, and adds what is touched by the blocked commands that it wakes. Redis executes
// them together.
func (ex *live) withWoken(a command.Access) command.Access {
	if len(ex.waiters) == 0 {
		return a
	}
	woken := map[*conn]bool{}
	for again := true; again; {
		again = false
		for _, c := range ex.waiters {
			if c.blockedID != "" && !woken[c] && !c.hasArrived() &&
				(command.Intersect(a.Writes, c.Queue[0].Writes) ||
					command.Intersect(a.Writes, c.Queue[0].Reads)) {
				woken[c], again = true, true
				a.Reads, a.Writes = slices.Concat(a.Reads, c.Queue[0].Reads),
					slices.Concat(a.Writes, c.Queue[0].Writes)
			}
		}
	}
	return a
}
