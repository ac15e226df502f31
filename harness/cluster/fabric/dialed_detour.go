package fabric

import (
	"fmt"
	"io"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
)

// This file leads a dialed connection through toxiproxy while its link has toxics, and back when they are gone.

// detour is the state of a connection's two pipelines in toxiproxy. The pipeline called up leads from the opener's
// queue to the socket, down from the socket to the opener's queue.
type detour struct {
	pipelines        int  // pipelines that have not ended
	upLeft, downLeft bool // up or down has ended only because the connection goes direct again
	gone             bool // the host's end has come through down, so up reads no more
	ended            bool // up or down has ended for any other reason, so the connection ends too
}

// longAgo is a deadline that ends every read and write on a socket at once.
var longAgo = time.Unix(1, 0)

// awaitNoDetour waits until the connection, if it is returning from toxiproxy, is direct again. No toxic may be added
// before that.
func (c *dialed) awaitNoDetour() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.route == returning && c.broken == nil {
		c.wait(time.Time{}, nil)
	}
}

// beginDetour prepares a direct connection for its way through toxiproxy: it interrupts all reads and writes on the
// socket, those of the opener and those of sendWaiting. detourNow completes the change.
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

// detourNow completes what beginDetour has begun. It waits until no read or write uses the socket, and then starts the
// pipelines of toxiproxy. It does nothing if the connection is not leaving its direct route, or has failed.
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

// returnDirect begins the way back from toxiproxy. Both pipelines read no more, and deliver what they have read. After
// that, bytes go straight to the socket again, the queued bytes first.
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

// pipelineEnded records that a pipeline has delivered all that it can. up is true for the pipeline from the opener to
// the host. whole is false if the pipeline lost bytes. If the pipeline lost bytes, or if its source has ended, the
// whole connection ends, as a connection through a proxy would.
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

// endDetour makes reads and writes use the socket directly again. If a direction has ended in toxiproxy, or lost bytes
// there, it closes the socket instead. Both pipelines have ended, and the caller holds c.mu.
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

// end records that the pipeline from the opener to the host has ended.
func (e hostEnd) end(whole bool) { e.c.pipelineEnded(true, whole) }
