package fabric

import (
	"errors"
	"net"
	"syscall"
)

// SyscallConn returns a raw connection by which a client library checks whether an idle connection has ended. Only its
// Read works. Read does not show bytes, or the connection's end, that a fault still holds back.
func (c *dialed) SyscallConn() (syscall.RawConn, error) {
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

// peek is the raw connection that SyscallConn returns.
type peek struct {
	c   *dialed
	raw syscall.RawConn
}

// errUnread says that bytes for the opener wait in its queue. A look at the socket would not show them.
var errUnread = errors.New("bytes wait to be read")

// Read calls f once with the socket. The socket's own raw Read would wait for as long as a pipeline reads from the
// socket.
func (p *peek) Read(f func(fd uintptr) bool) error {
	c := p.c
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.link.restored() != nil:
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
