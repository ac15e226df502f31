package fabric

import (
	"io"
	"net"
)

// copyBuffer is the size of a connection's buffer in bytes. It is enough for a command and its reply, and a quarter of
// io.Copy's: the fabric has thousands of connections.
const copyBuffer = 8 << 10

// conn is one end of an accepted connection, as toxiproxy sees it.
type conn struct {
	*net.TCPConn
	passage *passage
}

// Read reads. It returns what it read, or an end of file, only when the link is not withheld.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	c.passage.countWithheld(c.passage.link.restored(), n)
	c.passage.link.waitRestored()
	return n, err
}

// ReadFrom hides TCPConn.ReadFrom, which would allocate io.Copy's larger buffer.
func (c *conn) ReadFrom(r io.Reader) (int64, error) { return copyToSocket(c.TCPConn, r) }

// end is called when the pipeline that delivers to this end of the connection has ended.
func (c *conn) end(bool) error {
	c.passage.link.removeAccepted(c.TCPConn)
	return c.TCPConn.Close()
}

// copySmall copies with a small buffer, even if r or w could copy by itself.
func copySmall(w io.Writer, r io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, copyBuffer))
}

// copyToSocket copies to a socket. When the socket is gone it reads and drops the rest. Otherwise toxiproxy's stages
// would wait for a reader, and toxics could not come or go on this connection.
func copyToSocket(to *net.TCPConn, r io.Reader) (int64, error) {
	n, err := copySmall(to, r)
	if err != nil {
		_ = to.Close() // so that the other direction, too, ends now
		_, _ = io.Copy(io.Discard, r)
	}
	return n, err
}
