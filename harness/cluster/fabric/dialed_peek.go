package fabric

import (
	"errors"
	"net"
	"syscall"
)

// SyscallConn returns a raw connection by which a client library checks whether an idle connection has ended. Only its
// Read works. Bytes, or an end, that a fault holds back from the opener do not show.
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

// peek is the raw connection of a dialed connection.
type peek struct {
	c   *dialed
	raw syscall.RawConn
}

// errUnread says that bytes for the opener are in its queue, where the socket does not show them.
var errUnread = errors.New("bytes wait to be read")

// Read calls f once with the socket. It does not use the socket's own raw Read, which would wait for a pipeline's Read
// to end.
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
