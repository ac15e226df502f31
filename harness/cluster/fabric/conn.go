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

// relay serves an accepted connection, whose socket is opener. It opens a connection to the host that the opener asked
// for, and copies bytes between the two. It returns when both have ended.
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

// openerEnded passes on that an accepted connection has ended: with err, or in an orderly way if err is nil. If c has
// not reached the host yet, openerEnded gives c up. There may be many of these: a Sentinel that has lost a node
// connects to the node ten times a second, and gives up each time.
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
