package fabric

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// dialed is a connection that this process has opened to a host, for its own use or for an accepted connection. The
// side that uses it is called the opener. The opener reads and writes here. It sees the effects of faults, but not the
// socket, which leads to the host.
//
// While the link has no fault, reads and writes go straight to the socket. While the link is withheld, bytes wait in
// two queues, in and out. While toxics are in force, the bytes take a detour through toxiproxy, with one pipeline for
// each direction between the queues and the socket (dialed_detour.go).
type dialed struct {
	link          *Link
	local, remote net.Addr
	opener        *net.TCPConn // socket of the accepted connection that it serves, or nil
	peek          peek
	uncounted     bool        // see Source.Uncounted
	cut           atomic.Bool // countEnded has counted this connection

	mu      sync.Mutex
	changed chan struct{} // closed at the next change; nil: no goroutine waits for one
	tcp     *net.TCPConn  // the socket; nil: the connection was opened on a withheld link and has not reached the host
	route   route
	using   int // number of our reads and writes on the socket that are under way
	writing int // number of the opener's writes on the socket that are under way

	in     []byte // bytes from the host that the opener has not read yet
	inEnd  error  // error that the opener gets after all bytes from the host; nil: none yet
	out    []byte // bytes that the opener has written and that are not sent yet
	outEnd bool   // the opener writes nothing after the bytes of the field out
	sender bool   // a goroutine is sending the bytes of the opener

	closed          bool      // the opener has closed the connection
	broken          error     // why the connection failed for both sides; nil: it has not failed
	readBy, writeBy time.Time // deadlines of the opener; zero: none
	detour          detour
}

// route says how bytes travel between the opener and the socket: directly, or through toxiproxy. Each change between
// the two takes a while, in which the connection is leaving or returning.
type route uint8

const (
	direct    route = iota // straight to the socket
	leaving                // still straight to the socket, until the reads and writes under way are ended
	detoured               // through toxiproxy
	returning              // still through toxiproxy, which reads no more, until it has delivered all bytes
)

// mostQueued bounds the bytes in a queue, as the kernel bounds a socket's buffer. A queue below the bound takes one
// more write of any length. At the bound, writes wait.
const mostQueued = 256 << 10

var (
	_ net.Conn     = (*dialed)(nil)
	_ syscall.Conn = (*dialed)(nil)
)

// Source says which host opens a connection of this process.
type Source struct {
	Host      string // name of the host
	IP        string // source address, without a port; empty: the kernel chooses one
	Uncounted bool   // a probe of the harness: faults act on it, but [Link.Touched] does not count it
}

// DialFrom connects a host to the announced address of another host. The connection behaves as if the kernel had made
// it to that address, and the same faults act on it. It costs one socket instead of three, and while no fault is in
// force its bytes pass through nothing else.
//
// ctx bounds the time to connect. While the link is withheld, DialFrom returns at once, as if the host had accepted the
// connection. The connection reaches the host when the link is restored. Errors are those of [net.Dialer], or a reset
// if the link refuses connections. The connection has a CloseWrite method.
func (f *Fabric) DialFrom(ctx context.Context, from Source, announced string) (net.Conn, error) {
	f.mu.Lock()
	to, ok := f.places[announced]
	closed := f.closed
	f.mu.Unlock()
	switch {
	case closed:
		return nil, dialError(net.ErrClosed)
	case !ok:
		return nil, dialError(fmt.Errorf("no host of the fabric announces %s", announced))
	}
	c, err := f.open(ctx, from, to, nil)
	if err != nil {
		return nil, err
	}
	c.remote = announcedAddr(announced)
	return c, nil
}

// open opens a connection from one host to another. The parameter opener is the socket of an accepted connection whose
// bytes the new one carries; nil: there is none.
func (f *Fabric) open(ctx context.Context, from Source, to hostPlace, opener *net.TCPConn) (*dialed, error) {
	link := f.Link(from.Host, to.name)
	c := &dialed{
		link: link, uncounted: from.Uncounted, opener: opener,
		local: &net.TCPAddr{IP: net.ParseIP(from.IP)},
	}
	c.peek.c = c
	if c.link.restored() != nil {
		c.countWaiting()
		go c.connectLater(to.real)
		return c, nil
	}
	if err := c.connect(ctx, to.real); err != nil {
		return nil, err
	}
	return c, nil
}

// announcedAddr is the RemoteAddr of a dialed connection: the address that the host announces. Its host part may be a
// name.
type announcedAddr string

func (announcedAddr) Network() string  { return "tcp" }
func (a announcedAddr) String() string { return string(a) }

// connect opens the socket and registers the connection on its link.
func (c *dialed) connect(ctx context.Context, real string) error {
	select {
	case c.link.dialing <- struct{}{}:
	case <-ctx.Done():
		return dialError(ctx.Err())
	}
	d := net.Dialer{Control: bindLate}
	if from, ok := c.local.(*net.TCPAddr); ok && from.IP != nil {
		d.LocalAddr = from
	}
	conn, err := d.DialContext(ctx, "tcp", real)
	<-c.link.dialing
	if err != nil {
		return withoutAddresses(err)
	}
	tcp := conn.(*net.TCPConn)
	raw, err := tcp.SyscallConn()
	if err != nil {
		return errors.Join(err, tcp.Close())
	}
	if !c.link.addDialed(c, tcp, raw) {
		reset(tcp)
		return dialError(syscall.ECONNRESET)
	}
	return nil
}

// connected gives the connection its socket. The caller holds c.mu.
func (c *dialed) connected(tcp *net.TCPConn, raw syscall.RawConn) {
	c.tcp, c.local, c.peek.raw = tcp, tcp.LocalAddr(), raw
	c.applyDeadlines()
}

// connectLater waits until the link is no longer withheld, and then connects. It gives up if the opener closes the
// connection, or the link resets it, meanwhile.
func (c *dialed) connectLater(real string) {
	c.mu.Lock()
	for gate := c.link.restored(); gate != nil && !c.closed && c.broken == nil; gate = c.link.restored() {
		c.wait(time.Time{}, gate)
	}
	given := c.closed || c.broken != nil
	c.mu.Unlock()
	if given {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialWithin)
	defer cancel()
	err := c.connect(ctx, real)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.fail(syscall.ECONNRESET) // as the opener of an accepted connection sees it
		return
	}
	c.send()
	c.signal()
}

// Close returns at once. The connection ends when all written bytes are sent. A connection that has not reached the
// host yet will never reach it.
func (c *dialed) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return opError("close", net.ErrClosed)
	}
	c.closed, c.outEnd, c.in = true, true, nil
	if c.tcp == nil {
		c.out = nil // the connection has not reached the host, and will not
	}
	if c.using > 0 && c.route == direct {
		c.applyDeadlines()
	}
	c.signal()
	c.send()
	return nil
}

// CloseWrite closes the connection for writing, once all written bytes are sent.
func (c *dialed) CloseWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.broken != nil {
		return opError("close", net.ErrClosed)
	}
	c.outEnd = true
	c.signal()
	c.send()
	return nil
}

// reset ends the connection for both sides with a reset, as when it is refused.
func (c *dialed) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail(syscall.ECONNRESET)
}

// fail ends the connection for both sides with a reset. The opener's reads and writes then return the given error. The
// caller holds c.mu.
func (c *dialed) fail(why error) {
	if c.broken != nil {
		return
	}
	c.broken, c.in, c.out = why, nil, nil
	if c.tcp != nil {
		reset(c.tcp)
	}
	if c.opener != nil {
		reset(c.opener)
	}
	c.link.removeDialed(c)
	c.signal()
}

func (c *dialed) LocalAddr() net.Addr {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.local
}

func (c *dialed) RemoteAddr() net.Addr { return c.remote }

func (c *dialed) SetDeadline(t time.Time) error      { return c.setDeadlines(&t, &t) }
func (c *dialed) SetReadDeadline(t time.Time) error  { return c.setDeadlines(&t, nil) }
func (c *dialed) SetWriteDeadline(t time.Time) error { return c.setDeadlines(nil, &t) }

func (c *dialed) setDeadlines(read, write *time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return opError("set", net.ErrClosed)
	}
	mine := c.tcp != nil && c.route == direct
	if read != nil {
		if c.readBy = *read; mine {
			_ = c.tcp.SetReadDeadline(*read) // fails on a closed connection only
		}
	}
	if write != nil {
		if c.writeBy = *write; mine && (!c.sender || c.writing > 0) {
			_ = c.tcp.SetWriteDeadline(*write)
		}
	}
	c.signal()
	return nil
}

// applyDeadlines gives the socket the opener's deadlines. If the opener has closed c, they are in the past, so that a
// waiting Read or Write ends. Queued bytes are sent without a deadline. The caller holds c.mu.
func (c *dialed) applyDeadlines() {
	read, write := c.readBy, c.writeBy
	if c.closed {
		read, write = longAgo, longAgo
	}
	if c.sender && c.writing == 0 {
		write = time.Time{}
	}
	_ = c.tcp.SetReadDeadline(read) // these fail on a closed connection only
	_ = c.tcp.SetWriteDeadline(write)
}

// signal wakes all goroutines that wait for a change. The caller holds c.mu.
func (c *dialed) signal() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// wait waits until the connection changes, the given channel is closed, or the deadline has passed. The channel may be
// nil, and the deadline zero. The caller holds c.mu. wait unlocks c.mu while it waits.
func (c *dialed) wait(deadline time.Time, healed <-chan struct{}) {
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	changed := c.changed
	c.mu.Unlock()
	defer c.mu.Lock()
	var late <-chan time.Time
	if !deadline.IsZero() {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-changed:
	case <-healed:
	case <-late:
	}
}

func isPast(by time.Time) bool { return !by.IsZero() && !time.Now().Before(by) }

func dialError(err error) error { return opError("dial", err) }

func opError(op string, err error) error { return &net.OpError{Op: op, Net: "tcp", Err: err} }

// withoutAddresses returns a socket's error without addresses and names of hosts. Reports publish the errors of
// clients, and must not tell where a host is.
func withoutAddresses(err error) error {
	var op *net.OpError
	if !errors.As(err, &op) {
		return err
	}
	bare := net.OpError{Op: op.Op, Net: op.Net, Err: op.Err}
	if name := (*net.DNSError)(nil); errors.As(op.Err, &name) {
		bare.Err = &net.DNSError{Err: name.Err, Name: "the host's name", IsTimeout: name.IsTimeout,
			IsTemporary: name.IsTemporary, IsNotFound: name.IsNotFound}
	}
	return &bare
}

// timedOut reports whether err says that a deadline has passed.
func timedOut(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
