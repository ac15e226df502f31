package fabric

import (
	"fmt"
	"io"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
)

// This file leads a dialed connection through toxiproxy while its link has toxics, and back when they are gone.

// detour is the state of a connection's two pipelines in toxiproxy. The one called up carries bytes from the opener to
// the host, and the one called down carries bytes from the host to the opener.
type detour struct {
	pipelines        int  // number of pipelines that have not ended
	upLeft, downLeft bool // the pipeline (up or down) has ended only because the connection goes direct again
	gone             bool // pipeline down has delivered the end of the host's bytes, so pipeline up reads no more
	ended            bool // a pipeline has lost bytes or ended without returnDirect, so the connection ends too
}

// longAgo is a deadline that ends every read and write on a socket at once.
var longAgo = time.Unix(1, 0)

// awaitNoDetour waits while the connection is on its way back from toxiproxy. No toxic may be added during that time.
func (c *dialed) awaitNoDetour() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.route == returning && c.broken == nil {
		c.wait(time.Time{}, nil)
	}
}

// beginDetour interrupts all reads and writes on the socket of a direct connection, so that detourNow can lead it
// through toxiproxy.
func (c *dialed) beginDetour() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.route != direct || c.broken != nil {
		return
	}
	c.route = leaving
	_ = c.tcp.SetDeadline(longAgo) // fails on a closed connection only
	c.signal()
}

// detourNow leads the connection through toxiproxy, after a call of beginDetour. It waits until no read or write uses
// the socket, and then starts the pipelines. It does nothing if the connection has failed, or is direct again.
func (c *dialed) detourNow() {
	c.mu.Lock()
	for c.route == leaving && c.broken == nil && (c.using > 0 || c.sender) {
		c.wait(time.Time{}, nil)
	}
	begin := c.route == leaving && c.broken == nil
	if begin {
		c.begin()
	}
	c.mu.Unlock()
	if begin {
		c.startPipelines()
	}
}

// begin records that bytes go through toxiproxy from now on. The caller starts the pipelines next. The caller holds
// c.mu, and no read or write uses the socket.
func (c *dialed) begin() {
	c.route, c.detour = detoured, detour{pipelines: 2}
	_ = c.tcp.SetDeadline(time.Time{}) // fails on a closed connection only
	c.signal()
}

// startPipelines starts the connection's two pipelines in toxiproxy. It waits while toxiproxy adds or removes a toxic.
func (c *dialed) startPipelines() {
	l := c.link
	name := fmt.Sprintf("%s #%d", c.LocalAddr(), l.made.Add(1))
	l.start(name, openerEnd{c}, hostEnd{c}, c, stream.Upstream)
	l.start(name, hostEnd{c}, openerEnd{c}, c, stream.Downstream)
}

// returnDirect begins the way back from toxiproxy. Both pipelines stop reading and deliver what they have read. After
// that, bytes go straight to the socket again, the queued ones first.
func (c *dialed) returnDirect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.route != detoured || c.broken != nil {
		return
	}
	c.route = returning
	_ = c.tcp.SetReadDeadline(longAgo) // fails on a closed connection only
	c.signal()
}

// pipelineEnded records that a pipeline has ended. The parameter up is true for the pipeline from the opener to the
// host, and whole is false if the pipeline lost bytes. If it lost bytes, or ended for another reason than returnDirect,
// the whole connection ends, as it would through a proxy.
func (c *dialed) pipelineEnded(up, whole bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := &c.detour
	d.pipelines--
	if left := d.downLeft && !up || d.upLeft && up; !left || !whole {
		d.ended = true
	}
	switch {
	case d.ended && !up: // the host's end has come through
		d.gone = true
		if c.inEnd == nil {
			c.inEnd = io.EOF
		}
	case d.ended && up:
		c.closeSocket()
	}
	if d.pipelines == 0 {
		c.endDetour()
	}
	c.signal()
}

// endDetour makes the connection direct again after both pipelines have ended. It closes the socket instead if the
// connection has to end. The caller holds c.mu.
func (c *dialed) endDetour() {
	if c.broken != nil {
		return
	}
	c.route = direct
	if c.detour.ended {
		c.closeSocket()
		c.out, c.outEnd = nil, true
		if c.inEnd == nil {
			c.inEnd = io.EOF
		}
		return
	}
	c.applyDeadlines()
	c.send()
}

// openerEnd is the opener's end of a connection, for pipelines of toxiproxy: one reads from it, the other writes to it.
type openerEnd struct{ c *dialed }

// Read takes bytes that the opener has written. While the link is withheld, it waits.
func (e openerEnd) Read(b []byte) (int, error) {
	c := e.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		gate := c.link.restored()
		switch {
		case c.broken != nil || c.detour.gone:
			return 0, io.EOF
		case c.route == returning:
			c.detour.upLeft = true
			return 0, io.EOF
		case gate != nil:
		case len(c.out) > 0:
			n := copy(b, c.out)
			c.out = c.out[n:]
			c.signal()
			return n, nil
		case c.outEnd:
			return 0, io.EOF
		}
		c.wait(time.Time{}, gate)
	}
}

// Write gives the opener bytes to read. If the opener has closed the connection, the bytes are lost: the pipeline must
// not wait for a reader.
func (e openerEnd) Write(b []byte) (int, error) {
	c := e.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.in) >= mostQueued && !c.closed && c.broken == nil {
		c.wait(time.Time{}, nil)
	}
	if !c.closed && c.broken == nil {
		c.in = append(c.in, b...)
		c.signal()
	}
	return len(b), nil
}

func (e openerEnd) ReadFrom(r io.Reader) (int64, error) { return copySmall(e, r) }

// end records that the pipeline from the host to the opener has ended.
func (e openerEnd) end(whole bool) { e.c.pipelineEnded(false, whole) }

// hostEnd is the host's end of a connection, its socket, for pipelines of toxiproxy: one reads from it, the other
// writes to it.
type hostEnd struct{ c *dialed }

func (e hostEnd) Read(b []byte) (int, error) {
	n, err := e.c.tcp.Read(b)
	if !timedOut(err) {
		return n, err
	}
	e.c.mu.Lock()
	defer e.c.mu.Unlock()
	e.c.detour.downLeft = e.c.route == returning
	return n, io.EOF
}

func (e hostEnd) Write(b []byte) (int, error)         { return e.c.tcp.Write(b) }
func (e hostEnd) ReadFrom(r io.Reader) (int64, error) { return copyToSocket(e.c.tcp, r) }

// end records that the pipeline from the opener to the host has ended. The parameter whole says whether all bytes went
// through.
func (e hostEnd) end(whole bool) { e.c.pipelineEnded(true, whole) }
