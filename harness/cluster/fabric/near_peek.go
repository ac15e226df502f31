package fabric

import (
	"errors"
	"net"
	"syscall"
)

// SyscallConn is how a client library looks whether an idle connection has ended. Its Read calls f once; what a hold or a
// toxic keeps from the opener it does not show.
func (c *near) SyscallConn() (syscall.RawConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, opError("raw-read", net.ErrClosed)
	case c.broken != nil:
		return nil, opError("raw-read", c.broken)
	}
	return &c.peek, nil
}

// peek is a near as its opener's raw connection.
type peek struct {
	c   *near
	raw syscall.RawConn
}

// errUnread says that a connection has bytes for its opener beside the socket's.
var errUnread = errors.New("bytes wait to be read")

// Read calls f with the socket. It does not use the socket's own raw Read, which would wait for that of a pipeline.
func (p *peek) Read(f func(fd uintptr) bool) error {
	c := p.c
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.link.held() != nil:
		return nil
	case len(c.in) > 0:
		return errUnread
	case c.inEnd != nil:
		return c.inEnd
	case c.route != direct || c.tcp == nil:
		return nil
	}
	return p.raw.Control(func(fd uintptr) { f(fd) })
}

func (p *peek) Write(func(fd uintptr) bool) error { return syscall.ENOTSUP }
func (p *peek) Control(func(fd uintptr)) error    { return syscall.ENOTSUP }
