package fabric

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/stream"
)

// dialWithin bounds the fabric's own dial to a host, which is on this machine or, at a [Fabric.Place], within reach of a load.
const dialWithin = 2 * time.Second

// mostDialing bounds the connections from within this process that dial on a link at the same time. Thousands at once would
// overflow the accept queue of their host, and the kernel tries again only after a second.
const mostDialing = 64

// Link carries the connections that one host opens to another, in both directions of their bytes. Several faults may be
// in force on a link at once: it flows as before when the last of them has healed.
type Link struct {
	Src, Dst string

	server *toxiproxy.ApiServer
	proxy  *toxiproxy.Proxy
	gate   atomic.Pointer[chan struct{}] // nil: open; otherwise closed when the link flows again
	made   atomic.Int64                  // numbers connections for their names in toxiproxy: an address may be used again

	traffic traffic

	dialing  chan struct{} // has mostDialing places
	changing sync.Mutex    // held while a toxic comes or goes

	mu                  sync.Mutex
	withholds, refusals int // in force
	toxics              int // in force, coming or going
	closed              bool
	conns               map[*net.TCPConn]*passage // both ends of every connection from outside of this process
	pipelines           map[*pipeline]struct{}    // pipelines in toxiproxy
	torn                []*pipeline               // see pipeline

	nearMu sync.Mutex         // taken last, while a near is locked too
	nears  map[*near]struct{} // connections from within this process
}

// newLink makes a link and registers it with toxiproxy's server under "src>dst". Its proxy is never started: links are
// fed from the fabric's own listeners.
func newLink(server *toxiproxy.ApiServer, src, dst string) *Link {
	l := &Link{
		Src: src, Dst: dst, server: server, dialing: make(chan struct{}, mostDialing),
		conns: map[*net.TCPConn]*passage{}, pipelines: map[*pipeline]struct{}{}, nears: map[*near]struct{}{},
	}
	l.proxy = toxiproxy.NewProxy(server, src+">"+dst, "", "")
	_ = server.Collection.Add(l.proxy, false) // fails for a name in use only
	return l
}

// Withhold stops the link's bytes, and the ends of connections, where they are, in old connections and new ones, until heal is
// called. Nothing is lost: when the last has healed everything flows on. heal may be called more than once.
func (l *Link) Withhold() (heal func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.withholds++; l.withholds == 1 && !l.closed {
		c := make(chan struct{})
		l.gate.Store(&c)
	}
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.withholds--; l.withholds == 0 {
			l.open()
		}
	})
}

// open lets what is withheld flow on. The caller holds l.mu.
func (l *Link) open() {
	if c := l.gate.Swap(nil); c != nil {
		close(*c)
	}
}

// Refuse resets the link's connections, and new ones as they come, until heal is called. The link accepts again when the last
// refusal has healed. heal may be called more than once.
func (l *Link) Refuse() (heal func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusals++
	l.countResets()
	l.resetAll()
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.refusals--
	})
}

// countResets counts the connections that are about to be reset. The caller holds l.mu.
func (l *Link) countResets() {
	counted := map[*passage]bool{}
	for _, p := range l.conns {
		if !counted[p] {
			counted[p] = true
			p.countReset()
		}
	}
	for _, c := range l.allNear() {
		c.passage.countReset()
	}
}

// resetAll resets every connection. The caller holds l.mu.
func (l *Link) resetAll() {
	for c := range l.conns {
		reset(c)
	}
	for _, c := range l.allNear() {
		c.reset()
	}
}

// shut ends the link for good. It resets its connections and wakes whoever waits.
func (l *Link) shut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.resetAll()
	l.open()
}

// Connections returns the number of connections on the link.
func (l *Link) Connections() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)/2 + len(l.allNear())
}

// serve connects c to the link's destination and hands both ends to toxiproxy.
func (l *Link) serve(c *net.TCPConn, real string, p *passage) {
	if l.restored() != nil {
		p.countWaiting()
	}
	if !l.awaitRestored(c) {
		reset(c)
		return
	}
	d := net.Dialer{Timeout: dialWithin}
	up, err := d.Dial("tcp", real)
	if err != nil {
		reset(c)
		return
	}
	u := up.(*net.TCPConn)
	if !l.admit(p, c, u) {
		reset(c)
		reset(u)
		return
	}
	name := fmt.Sprintf("%s #%d", c.RemoteAddr(), l.made.Add(1))
	l.start(name, &conn{c, p}, &conn{u, p}, p, stream.Upstream)
	l.start(name, &conn{u, p}, &conn{c, p}, p, stream.Downstream)
}

// leftEvery is the time between two looks whether the opener of a new connection on a withheld link has given up. Sentinels
// connect, and give up, ten times a second.
const leftEvery = 100 * time.Millisecond

// awaitRestored waits until the link is not withheld: until then a new connection does not reach the other side. It is false if the opener
// of c gives up before. Without that, the connections to a link withheld for long would use up every file of the process.
func (l *Link) awaitRestored(c *net.TCPConn) bool {
	look := time.NewTicker(leftEvery)
	defer look.Stop()
	for {
		g := l.restored()
		if g == nil {
			return true
		}
		select {
		case <-g:
		case <-look.C:
			if peerClosed(c) {
				return false
			}
		}
	}
}

// admit registers both ends of a connection. It is false if the link refuses it.
func (l *Link) admit(p *passage, ends ...*net.TCPConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refusals > 0 || l.closed {
		p.countReset()
		return false
	}
	for _, c := range ends {
		l.conns[c] = p
	}
	return true
}

func (l *Link) forget(c *net.TCPConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// enter gives a near connection its socket and a place on the link. It is false if the link refuses the connection.
func (l *Link) enter(c *near, tcp *net.TCPConn, raw syscall.RawConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refusals > 0 || l.closed {
		c.passage.countReset()
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l.nearMu.Lock()
	l.nears[c] = struct{}{}
	l.nearMu.Unlock()
	c.connected(tcp, raw)
	if l.toxics > 0 {
		c.begin()
		go c.startLegs()
	}
	return true
}

// leave removes a near connection that has ended from the link.
func (l *Link) leave(c *near) {
	l.nearMu.Lock()
	defer l.nearMu.Unlock()
	delete(l.nears, c)
}

func (l *Link) allNear() []*near {
	l.nearMu.Lock()
	defer l.nearMu.Unlock()
	return slices.Collect(maps.Keys(l.nears))
}

// restored returns a channel that is closed when the link is restored, or nil if the link is not withheld.
func (l *Link) restored() <-chan struct{} {
	if g := l.gate.Load(); g != nil {
		return *g
	}
	return nil
}

// pass waits until the link is not withheld.
func (l *Link) pass() {
	if g := l.restored(); g != nil {
		<-g
	}
}

// reset closes c so that its peer sees a reset instead of an orderly end.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // fails on a closed connection only
	_ = c.Close()
}
