package explore

import (
	"net"
	"sync"
	"syscall"
)

// This file tracks what an adapter does on a connection, also when the program does not wait for an answer.

// activity tells the scheduler what the goroutine that relays an adapter's connection is doing. The zero value says
// that it waits for Redis's reply.
type activity struct {
	mu    sync.Mutex
	outer net.Conn // the connection to the program; nil: the client is in this process, or a relay passes the bytes on
	state activityState
}

type activityState uint8

const (
	waitsForReply   activityState = iota // the goroutine waits for the reply to a command, or has ended
	waitsForAdapter                      // the goroutine waits for what the program sends next
	handlesAdapter                       // the goroutine handles what the program has sent
)

func (e *activity) set(to activityState) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state = to
}

func (e *activity) readAdapter(outer net.Conn, in []byte) (n int, err error) {
	raw, err := rawOf(outer)
	if err != nil {
		return 0, err
	}
	e.set(waitsForAdapter)
	failed := raw.Read(func(fd uintptr) bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		n, err = ignoringEINTR(func() (int, error) { return syscall.Read(int(fd), in) })
		if err == syscall.EAGAIN {
			return false
		}
		e.state = handlesAdapter
		return true
	})
	switch {
	case failed != nil:
		return 0, failed
	case err != nil:
		return 0, err
	case n == 0:
		return 0, net.ErrClosed
	}
	return n, nil
}

// isBehind reports whether the relay still has to handle something that the program did: the program has sent bytes, or
// closed the connection.
func (e *activity) isBehind() (behind bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.outer == nil || e.state != waitsForAdapter {
		return e.state == handlesAdapter
	}
	raw, err := rawOf(e.outer)
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) { // an error: this side has closed the connection
		var b [1]byte
		_, err := ignoringEINTR(func() (int, error) {
			n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
			return n, err
		})
		behind = err != syscall.EAGAIN
	})
	return behind
}

func rawOf(outer net.Conn) (syscall.RawConn, error) {
	s, ok := outer.(syscall.Conn)
	if !ok {
		return nil, net.ErrClosed
	}
	return s.SyscallConn()
}

func ignoringEINTR(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); err != syscall.EINTR {
			return n, err
		}
	}
}

// hangUp closes the connection to the client's program. If the relay is waiting for a reply, hangUp does nothing: the
// relay closes the connection itself when it stops waiting.
func (e *activity) hangUp() {
	e.mu.Lock()
	waits := e.state == waitsForReply
	e.mu.Unlock()
	if e.outer != nil && !waits {
		_ = e.outer.Close() // an error: the program has closed it
	}
}
