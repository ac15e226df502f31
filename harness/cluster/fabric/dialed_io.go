package fabric

import (
	"net"
	"os"
	"syscall"
	"time"
)

// This file has the opener's reads and writes on a dialed connection, and sends the bytes that wait.

// Read returns bytes from the socket while the link has no fault, and bytes that came through toxiproxy while the link
// has toxics. While the link is withheld, Read waits. Bytes that were read from the socket just when a fault began are
// kept, and returned as soon as the link is not withheld.
func (c *dialed) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		gate := c.link.restored()
		switch {
		case c.closed:
			return 0, opError("read", net.ErrClosed)
		case c.broken != nil:
			return 0, opError("read", c.broken)
		case gate != nil:
		case len(c.in) > 0:
			n := copy(b, c.in)
			if c.in = c.in[n:]; len(c.in) == 0 {
				c.in = nil
			}
			c.signal()
			return n, nil
		case c.inEnd != nil:
			return 0, c.inEnd
		case c.route == direct && c.tcp != nil:
			if n, err, ok := c.readSocket(b); ok {
				return n, err
			}
			continue
		}
		if isPast(c.readBy) {
			return 0, opError("read", os.ErrDeadlineExceeded)
		}
		c.wait(c.readBy, gate)
	}
}

// readSocket reads from the socket. The result ok is false if the connection ended during the read, or if a fault began
// that keeps the connection's bytes. In that case n and err do not count, and the caller checks the connection again.
func (c *dialed) readSocket(b []byte) (n int, err error, ok bool) {
	n, err = c.withSocket(func(tcp *net.TCPConn) (int, error) { return tcp.Read(b) })
	if c.broken != nil || c.closed {
		return 0, nil, false
	}
	if c.route == direct && c.link.restored() == nil {
		return n, err, true
	}
	c.in = append(c.in, b[:n]...)
	if n > 0 {
		c.countWithheld(c.link.restored(), n)
	}
	if err != nil && !timedOut(err) {
		c.inEnd = err
	}
	return 0, nil, false
}

// Write writes to the socket while the link has no fault. Otherwise the bytes are queued and count as written, as in
// the buffer of a socket.
func (c *dialed) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for done := 0; ; {
		gate := c.link.restored()
		switch {
		case c.closed:
			return done, opError("write", net.ErrClosed)
		case c.broken != nil:
			return done, opError("write", c.broken)
		case c.outEnd:
			return done, opError("write", syscall.EPIPE)
		case isPast(c.writeBy):
			return done, opError("write", os.ErrDeadlineExceeded)
		case c.isDirect(gate) && len(c.out) == 0 && !c.sender:
			c.writing++
			n, err := c.withSocket(func(tcp *net.TCPConn) (int, error) { return tcp.Write(b[done:]) })
			if c.writing--; c.sender {
				c.signal()
			}
			if done += n; done == len(b) || err != nil && c.route == direct && c.broken == nil && !c.closed {
				return done, err
			}
			continue
		case len(c.out) < mostQueued:
			c.out = append(c.out, b[done:]...)
			c.countWithheld(gate, len(b)-done)
			c.signal()
			c.send()
			return len(b), nil
		}
		c.wait(c.writeBy, gate)
	}
}

// isDirect reports whether bytes go straight to the socket. The parameter gate is what link.restored returned: nil if
// the link is not withheld. The caller holds c.mu.
func (c *dialed) isDirect(gate <-chan struct{}) bool {
	return c.route == direct && c.tcp != nil && gate == nil
}

// withSocket calls the given function with the socket. The caller holds c.mu. withSocket unlocks c.mu during the call.
func (c *dialed) withSocket(do func(*net.TCPConn) (int, error)) (int, error) {
	tcp := c.tcp
	c.using++
	c.mu.Unlock()
	n, err := do(tcp)
	err = withoutAddresses(err)
	c.mu.Lock()
	if c.using--; c.using == 0 && c.route == leaving {
		c.signal()
	}
	return n, err
}

// send makes a goroutine send the queued bytes to the socket and, if the opener has ended its writing, tell the host
// so. It does nothing while a goroutine does that already, or toxiproxy has to send the bytes. The caller holds c.mu.
func (c *dialed) send() {
	switch {
	case c.sender || c.broken != nil || c.route != direct || c.tcp == nil || len(c.out) == 0 && !c.outEnd:
	case len(c.out) == 0 && c.isDirect(c.link.restored()):
		c.end()
	default:
		c.sender = true
		go c.sendWaiting()
	}
}

// sendWaiting sends the queued bytes to the socket. It returns when the queue is empty, or when toxiproxy has to send
// the rest.
func (c *dialed) sendWaiting() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.route == direct && c.broken == nil {
		gate := c.link.restored()
		if gate != nil || c.writing > 0 {
			c.wait(time.Time{}, gate)
			continue
		}
		if len(c.out) == 0 {
			break
		}
		some := c.out
		c.out = nil
		c.applyDeadlines()
		n, err := c.withSocket(func(tcp *net.TCPConn) (int, error) { return tcp.Write(some) })
		if n < len(some) && c.broken == nil {
			c.out = append(some[n:], c.out...)
		}
		if err != nil && !timedOut(err) {
			c.fail(err)
		}
		c.signal()
	}
	c.sender = false
	c.signal()
	if c.route != direct || c.broken != nil {
		return
	}
	c.applyDeadlines()
	if c.outEnd {
		c.end()
	}
}

// end closes the socket for writing. If the opener has closed the connection, or is another process whose connection
// was accepted, end closes the socket for reading too, as a proxy does. Otherwise a paused host would keep connections
// that were given up. The caller holds c.mu.
func (c *dialed) end() {
	if c.closed || c.opener != nil {
		c.closeSocket()
	} else {
		_ = c.tcp.CloseWrite() // fails on a closed connection only
	}
}

// closeSocket closes the socket in an orderly way. The caller holds c.mu.
func (c *dialed) closeSocket() {
	_ = c.tcp.Close() // fails on a closed connection only
	c.link.removeDialed(c)
}
