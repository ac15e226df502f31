package resp

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// A connection waits for a reply in slices of real time. If this process stands still, that uses up one slice at most.
// Redis may take long if it waits for replicas or stands still itself. After mostSlices it counts as dead.
const (
	waitSlice  = 500 * time.Millisecond
	mostSlices = 120
)

// ErrSilent marks the error for a Redis that has stopped answering.
var ErrSilent = errors.New("explore: Redis did not answer")

// Silence counts the slices of time in which connections to one server waited for a reply in vain. Connections that
// share a Silence are used by one goroutine at a time.
type Silence struct {
	times atomic.Int64
	dead  bool // one connection has waited for mostSlices, so others wait for one slice only
}

// Count returns in how many slices of waiting time no reply came. It is safe for concurrent use.
func (s *Silence) Count() int { return int(s.times.Load()) }

// Conn is a connection to a Redis node at its Unix socket. It blocks in system calls and bypasses the runtime's poller.
// That halves the time of a round trip, since only one command is under way at a time.
type Conn struct {
	fd  int
	buf []byte // replies to the last request

	rest    []byte // bytes that were read and not returned: part of a reply
	silence *Silence
}

// Dial connects to the node at a Unix socket. The parameter silence counts the slices in which a reply does not come.
func Dial(socket string, silence *Silence) (*Conn, error) {
	syscall.ForkLock.RLock() // no child process inherits the socket
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, fmt.Errorf("explore: socket: %w", err)
	}
	c := &Conn{fd: fd, buf: make([]byte, 0, 512), silence: silence}
	timeout := syscall.NsecToTimeval(waitSlice.Nanoseconds())
	err = errors.Join(
		syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &timeout),
		syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket}),
	)
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("explore: connect to %s: %w", socket, err)
	}
	return c, nil
}

// Close closes the connection.
func (c *Conn) Close() { _ = syscall.Close(c.fd) }

// Post sends a request without waiting for a reply.
func (c *Conn) Post(request []byte) error {
	for sent := 0; sent < len(request); {
		m, err := syscall.Write(c.fd, request[sent:])
		if err != nil && err != syscall.EINTR {
			return fmt.Errorf("explore: write to Redis: %w", err)
		}
		sent += max(m, 0)
	}
	return nil
}

// Poll returns the whole replies that have arrived since the last call. It keeps part of a reply for the next call.
func (c *Conn) Poll() (replies []byte, err error) {
	var b [4096]byte
	for {
		n, _, err := syscall.Recvfrom(c.fd, b[:], syscall.MSG_DONTWAIT)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			_, size, err := wholeReplies(c.rest, math.MaxInt)
			replies, c.rest = c.rest[:size:size], c.rest[size:]
			return replies, err
		case err != nil:
			return nil, fmt.Errorf("explore: read from Redis: %w", err)
		case n == 0:
			return nil, errors.New("explore: Redis closed the connection")
		}
		c.rest = append(c.rest, b[:n]...)
	}
}

// Ask sends a request of n commands and returns their n replies, which are valid until the next call.
func (c *Conn) Ask(request []byte, n int) ([]byte, error) {
	if err := c.Post(request); err != nil {
		return nil, err
	}
	c.buf = c.buf[:0]
	for whole := 0; n > 0; {
		if err := c.fill(); err != nil {
			return nil, err
		}
		found, size, err := wholeReplies(c.buf[whole:], n)
		if err != nil {
			return nil, err
		}
		whole, n = whole+size, n-found
	}
	return c.buf, nil
}

// wholeReplies counts the whole replies at the start of b, up to a limit (the parameter most). It also returns their
// total size.
func wholeReplies(b []byte, most int) (n, size int, err error) {
	for ; n < most; n++ {
		next, err := ReplySize(b[size:])
		if next == 0 || err != nil {
			return n, size, err
		}
		size += next
	}
	return n, size, nil
}

// ReadUntil returns what Redis sends without being asked, up to and including the bytes in end. It keeps what follows
// for the next call.
func (c *Conn) ReadUntil(end []byte) ([]byte, error) {
	c.buf, c.rest = append(c.buf[:0], c.rest...), nil
	for searched := 0; ; {
		if at := bytes.Index(c.buf[searched:], end); at >= 0 {
			whole := searched + at + len(end)
			c.rest = slices.Clone(c.buf[whole:])
			return c.buf[:whole], nil
		}
		searched = max(0, len(c.buf)-len(end))
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads the bytes that have arrived. If there are none it waits, for mostSlices at most.
func (c *Conn) fill() error {
	if len(c.buf) == cap(c.buf) {
		c.buf = append(make([]byte, 0, 4*cap(c.buf)), c.buf...)
	}
	for waited := 0; ; {
		m, err := syscall.Read(c.fd, c.buf[len(c.buf):cap(c.buf)])
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			c.silence.times.Add(1)
			if waited++; waited == mostSlices || c.silence.dead {
				c.silence.dead = true
				return fmt.Errorf("%w within %v", ErrSilent, mostSlices*waitSlice)
			}
			continue
		case err != nil:
			return fmt.Errorf("explore: read from Redis: %w", err)
		case m == 0:
			return errors.New("explore: Redis closed the connection")
		}
		c.buf = c.buf[:len(c.buf)+m]
		return nil
	}
}

// ID returns Redis's ID of the connection.
func (c *Conn) ID() (string, error) {
	reply, err := c.Ask(Request("CLIENT", "ID"), 1)
	if err != nil {
		return "", err
	}
	n, err := Integer(reply)
	return strconv.FormatInt(n, 10), err
}
