package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
)

// This file handles commands that Redis keeps until it can answer, and the connections on which somebody waits.

// keptCommand is a command that Redis keeps until it can answer.
type keptCommand struct {
	command command.Command
	id      string // of the connection, as Redis knows it
}

// sendBlocking sends a command that Redis may keep. It returns true if Redis keeps it.
func (ex *live) sendBlocking(a *actor, gate *conn) (kept bool, err error) {
	next := gate.Queue[0]
	if err := gate.keep(); err != nil || gate.failed != nil {
		return false, err
	}
	ex.noteSent(next, nil)
	if gate.hasArrived() {
		reply := gate.takeMessage()
		gate.release()
		gate.out = append(gate.out, reply...)
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

// keep sends the next command of the connection, which Redis may keep. What Redis has answered at once is in the inbox.
// Time is the schedule's: Redis gets no time-out.
func (c *conn) keep() error {
	if err := c.ready(); err != nil || c.failed != nil {
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
	c.kept = &keptCommand{next, id}
	return c.listen()
}

// postNow sends a request that Redis may answer when it likes, and returns when Redis has read it.
func (c *conn) postNow(request []byte) error {
	return c.dialer.world.Post(c.wire, c.Node, request)
}

// release notes that Redis does not keep the connection's command any more.
func (c *conn) release() {
	c.kept = nil
	c.Queue = c.Queue[1:]
}

// unblock has Redis answer the command that it keeps as if its time-out had passed.
func (c *conn) unblock() error {
	if _, err := c.dialer.world.Ask(c.Node, "CLIENT", "UNBLOCK", c.kept.id, "TIMEOUT"); err != nil {
		return err
	}
	if err := c.listen(); err != nil {
		return err
	}
	if !c.hasArrived() {
		return fmt.Errorf("explore: Redis did not end %s", strings.ToUpper(command.Name(c.kept.command.Args)))
	}
	return nil
}

// listen takes what has come on the connection. Redis writes all that it has to say before it reads again. So when it
// has answered one more command of anybody, whatever the commands before it brought about has come.
func (c *conn) listen() error {
	if _, err := c.dialer.world.Ask(c.Node, "PING"); err != nil {
		return err
	}
	return c.receive()
}

// receive takes what has come on the connection, after somebody else has been answered.
func (c *conn) receive() error {
	replies, err := c.wire.Poll()
	c.inbox = append(c.inbox, replies...)
	return err
}

// listen takes what has come on all connections on which somebody waits.
func (ex *live) listen() error {
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
		if err := c.receive(); err != nil {
			return err
		}
	}
	return nil
}

// forget ends the wait for an answer on a connection.
func (ex *live) forget(c *conn) {
	if c.kept != nil {
		c.release()
	}
	ex.waiters = slices.DeleteFunc(ex.waiters, func(w *conn) bool { return w == c })
}

// cutOff ends the connection at Redis, at once: a closed socket would be noticed at some time only. Redis then serves
// nobody on it any more.
func (ex *live) cutOff(c *conn, why error) error {
	ex.waiters = slices.DeleteFunc(ex.waiters, func(w *conn) bool { return w == c })
	id := ""
	switch {
	case c.kept != nil:
		id = c.kept.id
	case c.subscription != nil:
		id = c.subscription.id
	}
	defer c.ear.hangUp() // whoever notices it closes the connection
	if c.failed = why; id == "" || c.wire == nil || c.isGone() {
		return nil
	}
	err := ex.w.Kill(c.Node, id)
	c.wire.Close() // the client may never close it
	c.wire = nil
	return err
}

// waitersOf lists the connections of a client on which it waits, or has subscribed.
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

// waitAccess returns what the waits of a client touch: its blocked commands and its subscriptions.
func (ex *live) waitAccess(client int) (a command.Access) {
	for _, c := range ex.waitersOf(client) {
		a.Add(c.waitAccess())
	}
	return a
}

func (c *conn) waitAccess() (a command.Access) {
	if c.kept != nil {
		a.Add(c.kept.command.Access)
	}
	if c.subscription != nil {
		a.Add(c.subscription.access)
	}
	return a
}

// withWoken adds to what a command touches what the commands touch that it may wake: Redis carries them out with it.
func (ex *live) withWoken(a command.Access) command.Access {
	if len(ex.waiters) == 0 {
		return a
	}
	woken := map[*conn]bool{}
	for again := true; again; {
		again = false
		for _, c := range ex.waiters {
			if c.kept != nil && !woken[c] && !c.hasArrived() && (command.Intersect(a.Writes, c.kept.command.Writes) ||
				command.Intersect(a.Writes, c.kept.command.Reads)) {
				woken[c], again = true, true
				a.Reads, a.Writes = slices.Concat(a.Reads, c.kept.command.Reads),
					slices.Concat(a.Writes, c.kept.command.Writes)
			}
		}
	}
	return a
}
