package explore

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
)

// conn is a client's connection to Redis, with a gate: a command that the client writes stays in Queue until the
// scheduler sends it. Meanwhile the client is parked in Read, where it waits for the reply. Commands about the
// connection itself, such as HELLO, are sent at once, without a step. So are commands inside a MULTI, which take effect
// with its EXEC.
type conn struct {
	dialer *dialer
	wire   *resp.Conn
	hello  []byte // the client's HELLO, sent again on a new connection to Redis; nil: none

	writing sync.Mutex // held by Write; if the client is an adapter's, another goroutine waits in Read meanwhile

	unparsed []byte // bytes that the client wrote and that are not a whole command yet
	unread   []byte // replies that the client has not read
	command.Pending

	used      bool     // has carried more than a greeting
	usedIn    int      // for a connection in a library's pool: number of the last schedule that used it
	ofAdapter bool     // its client is an adapter's
	unawaited bool     // the client does not wait for confirmations of its subscriptions
	activity  activity // what the gate's goroutine is doing

	stateful bool // a CLIENT command has made its state visible to other clients

	blockedID    string        // Redis's ID of the connection while Redis blocks its command; empty: none is blocked
	subscription *subscription // nil: the connection has not subscribed
	inbox        []byte        // whole replies and messages from Redis that the client has not got yet
	readTimeout  time.Duration // virtual time that reading a message may take; 0: no limit
	timedOut     bool          // the time-out of the current read has passed
	failed       error         // the error that the client gets instead of replies; nil: none

	wrote chan struct{} // signals that Queue has a command
	reply chan bool     // signals that there is something to read; false: the client has crashed
	gone  chan struct{} // closed by Close
	close sync.Once
}

// errRefused is the error for a client that sends a command which cannot be explored. The search ends.
var errRefused = errors.New("explore: this command cannot be explored")

// errBusy is the error for Program.Observe when it uses the connection of a client that is still running.
var errBusy = errors.New("explore: this connection belongs to its client, and Observe needs its own")

// errForeign is the error for a client that uses another client's connection.
var errForeign = errors.New("explore: this connection belongs to another client")

var errLost = errors.New("explore: the connection's state was lost with its primary")

// errUnanswered is the error that a client gets when an answer is lost, or when no message came in time. To the client
// it is a network time-out.
var errUnanswered error = &net.OpError{Op: "read", Net: "unix", Err: os.ErrDeadlineExceeded}

func (c *conn) Write(b []byte) (int, error) {
	if c.isGone() {
		return 0, net.ErrClosed
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	c.unparsed = append(c.unparsed, b...)
	at := 0
	for {
		args, size, err := resp.ParseCommand(c.unparsed[at:])
		if err != nil {
			return 0, err
		}
		if size == 0 {
			break
		}
		c.Queue = append(c.Queue, command.Command{Raw: c.unparsed[at : at+size], Args: args, Pipelined: at > 0})
		at += size
	}
	if c.unparsed = c.unparsed[at:]; len(c.unparsed) == 0 {
		c.unparsed = nil // Queue refers to the old array
	}
	if at > 0 {
		c.subscribe()
		select {
		case c.wrote <- struct{}{}:
		default:
		}
	}
	return len(b), nil
}

func (c *conn) hasQueued() bool {
	c.writing.Lock()
	defer c.writing.Unlock()
	return len(c.Queue) > 0
}

func (c *conn) Read(b []byte) (int, error) {
	for len(c.unread) == 0 {
		if err := c.awaitReply(); err != nil {
			return 0, err
		}
	}
	n := copy(b, c.unread)
	if c.unread = c.unread[n:]; len(c.unread) == 0 {
		c.unread = nil
	}
	return n, nil
}

// awaitReply waits until there is a command, if the client has written none. Otherwise it waits until there is a reply
// or an error. Read calls awaitReply until there is something to read.
func (c *conn) awaitReply() error {
	if c.failed != nil {
		return c.failed
	}
	if !c.ofAdapter && c.subscription != nil {
		return c.awaitMessage()
	}
	if !c.hasQueued() {
		select {
		case <-c.wrote:
			return nil
		case <-c.gone:
			return net.ErrClosed
		}
	}
	a, err := c.sendUngated()
	if a == nil {
		return err
	}
	defer a.sending.CompareAndSwap(c, nil)
	c.activity.set(waitsForReply)
	defer c.activity.set(handlesAdapter)
	select {
	case a.park <- parked{Stop: model.Stop{Kind: model.InCommand, Pending: &c.Pending}, conn: c}:
	case <-c.gone:
		return net.ErrClosed
	}
	select {
	case answered := <-c.reply:
		if !answered {
			return errCrashed
		}
		return nil
	case <-c.gone: // the search has ended, and the client had not parked
		return net.ErrClosed
	}
}

func (c *conn) isGone() bool {
	select {
	case <-c.gone:
		return true
	default:
		return false
	}
}

// Close closes the connection. A second call does nothing. An adapter's program may close a connection outside its
// client's turn, so Close takes the turn for such a connection.
func (c *conn) Close() error {
	c.close.Do(func() {
		if c.ofAdapter {
			defer c.dialer.world.takeTurn()()
		}
		c.dialer.open.Add(-1)
		c.dialer.pooled.Delete(c)
		c.unsubscribe()
		close(c.gone)
		c.activity.set(waitsForReply)
		if c.wire != nil {
			c.wire.Close()
			c.wire = nil
		}
	})
	return nil
}

// placeholder is the address that every connection gives for either of its ends.
var placeholder = &net.UnixAddr{Name: "explored", Net: "unix"}

// Time is virtual, so deadlines by the machine's clock have no effect, except on the reading of messages.

func (c *conn) LocalAddr() net.Addr              { return placeholder }
func (c *conn) RemoteAddr() net.Addr             { return placeholder }
func (c *conn) SetDeadline(time.Time) error      { return nil }
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// SetReadDeadline sets how long the next read of a message may take, in virtual time. The client has computed the
// deadline by the machine's clock a moment ago, so the time that remains is a little too short. It is rounded up to a
// multiple of a unit far larger than that moment. Reads of replies have no deadline.
func (c *conn) SetReadDeadline(until time.Time) error {
	if c.subscription == nil {
		return nil
	}
	if c.readTimeout = 0; !until.IsZero() {
		c.readTimeout = keyspace.RoundUp(max(time.Until(until), 1), c.dialer.world.readTimeoutUnit)
	}
	return nil
}
