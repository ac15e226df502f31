package fabric

import (
	"context"
	"io"
	"net"
	"sync"
)

// copyBuffer is the size of a connection's buffer in bytes. It is enough for a command and its reply. It is a quarter
// of what io.Copy takes, since the fabric has thousands of connections.
const copyBuffer = 8 << 10

// relay carries an accepted connection to the host that the other side asked for. It opens a connection to that host,
// copies bytes both ways, and returns when both connections have ended. The parameter opener is the socket of the
// accepted connection.
func (f *Fabric) relay(opener *net.TCPConn, from Source, to hostPlace) {
	ctx, cancel := context.WithTimeout(context.Background(), dialWithin)
	defer cancel()
	c, err := f.open(ctx, from, to, opener)
	if err != nil {
		reset(opener)
		return
	}
	var sending sync.WaitGroup
	sending.Go(func() {
		_, err := copySmall(c, opener)
		c.openerEnded(err)
	})
	_, _ = copySmall(opener, c)
	_ = opener.Close()
	sending.Wait()
}

// openerEnded ends c after its opener's connection has ended; err is nil if it ended in an orderly way. If c has not
// reached its host yet, it is closed, so that such connections do not pile up: a Sentinel that has lost a node connects
// to it ten times a second.
func (c *dialed) openerEnded(err error) {
	c.countWithheld(c.link.restored(), 0)
	c.mu.Lock()
	reached := c.tcp != nil
	c.mu.Unlock()
	if err == nil && reached {
		_ = c.CloseWrite() // fails on a connection that has ended only
	} else {
		_ = c.Close()
	}
}

// copySmall copies with a small buffer, even if r or w could copy by itself.
func copySmall(w io.Writer, r io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, copyBuffer))
}

// copyToSocket copies to a socket. When the socket is gone, copyToSocket reads and drops the rest. Otherwise toxiproxy
// would wait for a reader, and no toxic could come or go on this connection.
func copyToSocket(to *net.TCPConn, r io.Reader) (int64, error) {
	n, err := copySmall(to, r)
	if err != nil {
		_ = to.Close() // so that the other direction, too, ends now
		_, _ = io.Copy(io.Discard, r)
	}
	return n, err
}
