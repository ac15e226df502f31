package explore

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/server"
)

// This file sends the commands of a connection: at once, or in a step of the scheduler.

// sendUngated sends the next command at once if it needs no step of the schedule. Otherwise it returns the actor that
// has to wait until the scheduler sends the command.
func (c *conn) sendUngated() (*actor, error) {
	defer c.dialer.takeTurn()()
	if err := c.connectOnUse(); err != nil {
		return nil, err
	}
	a := c.dialer.acting()
	if err := c.checkRefused(a); err != nil {
		return nil, err
	}
	ungated := sync.OnceValue(c.applyUngated) // once, since it records what the command changes
	if a != nil && !a.isCrashed() && !ungated() {
		if err := a.foreign(c); err != nil {
			a.live.failure = cmp.Or(a.live.failure, err)
			return nil, errForeign
		}
	}
	switch {
	case a != nil && a.isCrashed():
		return nil, errCrashed
	// a thread that still runs may act when the program lets time pass
	case a != nil && c.dialer.world.asking && a.live.running != a:
		return nil, errBusy
	case c.greets(a):
		return nil, c.sendUnasked()
	case a == nil:
		if c.dialer.client && !ungated() && !c.dialer.world.asking {
			c.used = true
			c.dialer.world.noteOutOfTurn(c.Queue[0])
		}
		return nil, c.sendUnasked()
	case ungated():
		if c.failed != nil {
			return nil, c.failed
		}
		return nil, c.send()
	}
	c.used = true
	if c.ofAdapter && (a.live.running != a || !a.sending.CompareAndSwap(nil, c)) && a.live.failure == nil {
		a.live.failure = twoAtOnce(a, &c.Queue[0])
	}
	return a, nil
}

// sendUnasked sends a command outside of any operation. Functions that the command loads into Redis are kept for later
// schedules.
func (c *conn) sendUnasked() error {
	sent := c.Queue[0]
	if err := c.send(); err != nil {
		return err
	}
	return c.dialer.world.KeepSettings(sent.Args)
}

// checkRefused returns an error if the next command cannot be explored. The search then ends with the reason.
func (c *conn) checkRefused(a *actor) error {
	next, w := &c.Queue[0], c.dialer.world
	why := command.WhyRefused(next.Args)
	if why == "" {
		return w.NoteSettings(next.Args, a == nil)
	}
	who := "a client"
	if a != nil {
		who = a.String()
	}
	if w.current != nil && w.current.failure == nil {
		w.current.failure = schedule.Stopped("%s's %s %s", who, next.Text(w.Scripts), why)
	}
	c.failed = errRefused
	return c.failed
}

// twoAtOnce returns the error for an adapter's client that sends a second command while one is under way, or outside
// its turn. Redis might execute the two in either order. The error names the thread that runs now as the sender of the
// second.
func twoAtOnce(a *actor, second *command.Command) error {
	unconfirmed := command.Subscribes(command.Name(second.Args)) // the two may come in either order
	for _, on := range []*conn{a.parkedAt.conn, a.sending.Load()} {
		if on != nil && a.parkedAt.Kind == model.InCommand {
			unconfirmed = unconfirmed || on.subscription != nil ||
				len(on.Queue) > 0 && command.Subscribes(command.Name(on.Queue[0].Args))
		}
	}
	if unconfirmed {
		return schedule.Stopped("%s did not wait for the confirmation of its SUBSCRIBE: let it read the "+
			"confirmation first, or ask for subscribe before: see Subscriptions in workloads/adapters/README.md", a)
	}
	return schedule.Stopped("%s sent %s on one connection while a command was pending on another: let it do one "+
		"thing at a time, and ask to start each further thread, such as one that renews: see Threads in "+
		"workloads/adapters/README.md", a, command.Name(second.Args))
}

// applyUngated reports whether the next command needs no step because it concerns only its connection. It also records
// how the command changes the connection's state, such as that a MULTI is open.
func (c *conn) applyUngated() bool {
	next := &c.Queue[0]
	var ungated bool
	next.Access, ungated = command.AccessOf(next.Args)
	switch n := command.Name(next.Args); {
	case n == "exec" && c.Multi:
		next.Access = c.Queued
		next.Reads = append(next.Reads, c.Watched...)
		return false
	case n == "multi":
		c.Multi, c.Queued, c.Transaction = true, command.Access{}, nil
	case n == "discard", n == "unwatch" && !c.Multi:
		c.Multi, c.Watched = false, nil
	case n == "hello":
		c.hello = next.Raw
	case n == "client" && command.SeenByOthers(next.Args):
		next.Everything = true
		if !c.stateful {
			c.stateful, c.dialer.world.stateful = true, append(c.dialer.world.stateful, c)
		}
		return false
	// whether it takes effect now or later only changes which unread messages arrive
	case c.ofAdapter && strings.HasSuffix(n, "unsubscribe") && !c.Multi:
		return true
	case c.Multi:
		next.TTL = next.SetsTTL()
		c.dialer.world.Scripts.Learn(next.Args)
		c.Queued.Add(next.Access)
		c.Transaction = append(c.Transaction, next.Raw...)
		return true
	}
	return ungated
}

// prepare makes the connection ready to send. If that is impossible, c.failed says why.
func (c *conn) prepare() error {
	if c.isGone() {
		c.failed = net.ErrClosed
		return nil
	}
	c.dialer.world.NoteWrites()
	return cmp.Or(c.connectOnUse(), c.reconnectToPrimary())
}

// connect connects to the current primary and repeats the client's HELLO.
func (c *conn) connect() (err error) {
	if c.wire != nil {
		c.wire.Close()
	}
	c.Node = c.dialer.world.Primary
	c.wire, err = c.dialer.world.DialNode(c.Node)
	if err == nil && c.hello != nil {
		_, err = c.wire.Ask(c.hello, 1)
	}
	return err
}

// reconnectToPrimary connects to the current primary if the connection leads to another node. If a MULTI, a WATCH or
// the rest of a pipeline would be lost with the other node, the connection fails instead.
func (c *conn) reconnectToPrimary() error {
	if c.Node == c.dialer.world.Primary {
		return nil
	}
	begins := len(c.Queue) > 0 && command.Name(c.Queue[0].Args) == "multi" // and has reached no node yet
	if c.Multi && !begins || len(c.Watched) > 0 || len(c.Queue) > 0 && c.Queue[0].Pipelined {
		c.failed = errLost
		return nil
	}
	return c.connect()
}

// send sends the next command and reads its reply.
func (c *conn) send() error {
	switch {
	case c.isAnsweredAmongMessages():
		return c.sendAmongMessages()
	case c.Queue[0].Blocks() && !c.Multi:
		return c.askBlocking()
	}
	if err := c.prepare(); err != nil || c.failed != nil {
		return err
	}
	next := c.Queue[0]
	learned, err := c.askedByProgram(&next)
	if err != nil {
		return err
	}
	reply, err := c.wire.Ask(c.request(next), 1)
	if err != nil {
		return err
	}
	if err := learned(reply); err != nil {
		return err
	}
	c.unread = append(c.unread, reply...)
	c.Queue = c.Queue[1:]
	switch command.Name(next.Args) {
	case "watch":
		c.Watched = append(c.Watched, next.Reads...)
		if !slices.Contains(c.dialer.watchers, c) {
			c.dialer.watchers = append(c.dialer.watchers, c)
		}
	case "exec":
		c.Multi, c.Watched = false, nil
	}
	return nil
}

// request returns the bytes to send for a command. For a WAIT it returns another WAIT, for no more replicas than follow
// the primary now and with a time-out of server.AckWithinMillis. The client's own time-out passes in virtual time.
func (c *conn) request(next command.Command) []byte {
	if n := min(next.WantedAcks(), c.dialer.world.HearingReplicas()); next.WantedAcks() > 0 && !c.Multi {
		return resp.Request("WAIT", strconv.FormatInt(n, 10), server.AckWithinMillis)
	}
	return next.Raw
}

// resetState restores the state that the connection had when it was opened.
func (c *conn) resetState() error {
	c.stateful = false
	if c.wire == nil || c.failed != nil {
		return nil
	}
	_, err := c.wire.Ask(resp.Request("RESET"), 1)
	if err == nil && c.hello != nil {
		_, err = c.wire.Ask(c.hello, 1)
	}
	return err
}
