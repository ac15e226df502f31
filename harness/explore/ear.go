package explore

import (
	"net"
	"sync"
	"syscall"
)

// This file hears what a program outside does on a connection, also what it does without waiting for an answer.

// ear is how a gate hears a program on one connection. The zero value hears nothing.
type ear struct {
	mu    sync.Mutex
	outer net.Conn // the program's; nil: the connection comes by a relay, or from inside
	does  earState
}

// earState says what the goroutine does that hears.
type earState uint8

const (
	earParks earState = iota // a command is under way, or it is over
	earReads                 // it waits for what the program sends next
	earActs                  // it acts on what the program has sent
)

// turns notes what the ear's goroutine does from now on.
func (e *ear) turns(to earState) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.does = to
}

// hear reads what the program sends next.
func (e *ear) hear(outer net.Conn, in []byte) (n int, err error) {
	raw, err := rawOf(outer)
	if err != nil {
		return 0, err
	}
	e.turns(earReads)
	failed := raw.Read(func(fd uintptr) bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		n, err = ignoringEINTR(func() (int, error) { return syscall.Read(int(fd), in) })
		if err == syscall.EAGAIN {
			return false
		}
		e.does = earActs
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

// isBehind reports whether the program has sent something, or closed the connection, and the gate has not done what
// follows from it.
func (e *ear) isBehind() (behind bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.outer == nil || e.does != earReads {
		return e.does == earActs
	}
	raw, err := rawOf(e.outer)
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) { // an error: this side has closed it
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

// hangUp closes the program's side. Where a command is under way the goroutine that waits for its reply does that, when
// it has been told.
func (e *ear) hangUp() {
	e.mu.Lock()
	waits := e.does == earParks
	e.mu.Unlock()
	if e.outer != nil && !waits {
		_ = e.outer.Close() // the program may have closed it
	}
}
