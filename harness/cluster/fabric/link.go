package fabric

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/stream"
)

// dialWithin bounds the fabric's own dial to a host: all of them are on this machine.
const dialWithin = 2 * time.Second

// Link carries the connections that one host opens to another, in both directions of their bytes.
type Link struct {
	Src, Dst string

	proxy *toxiproxy.Proxy
	gate  atomic.Pointer[chan struct{}] // nil: open; otherwise closed when the link flows again

	mu     sync.Mutex
	refuse bool
	conns  map[*net.TCPConn]struct{} // both ends of every connection
}

// newLink makes a link and registers it with toxiproxy's server under "src>dst". Its proxy is never started: links are
// fed from the fabric's own listeners.
func newLink(server *toxiproxy.ApiServer, src, dst string) *Link {
	l := &Link{Src: src, Dst: dst, conns: map[*net.TCPConn]struct{}{}}
	l.proxy = toxiproxy.NewProxy(server, src+">"+dst, "", "")
	_ = server.Collection.Add(l.proxy, false) // fails for a name in use only
	return l
}

// Hold stops the link's bytes, and connections' ends, where they are, in old connections and new ones. Nothing is
// lost: Unhold lets all of it flow on.
func (l *Link) Hold() {
	c := make(chan struct{})
	l.gate.CompareAndSwap(nil, &c)
}

// Unhold ends a Hold. Without one it does nothing.
func (l *Link) Unhold() {
	if c := l.gate.Swap(nil); c != nil {
		close(*c)
	}
}

// Refuse resets the link's connections, and new ones as they come, until Accept.
func (l *Link) Refuse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse = true
	for c := range l.conns {
		reset(c)
	}
}

// Accept ends a Refuse. Without one it does nothing.
func (l *Link) Accept() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse = false
}

// Connections is the number of connections on the link.
func (l *Link) Connections() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns) / 2
}

// serve connects c to the link's destination and hands both ends to toxiproxy.
func (l *Link) serve(server *toxiproxy.ApiServer, c *net.TCPConn, real string) {
	l.pass() // a held link does not even reach the other side
	d := net.Dialer{Timeout: dialWithin}
	up, err := d.Dial("tcp", real)
	if err != nil {
		reset(c)
		return
	}
	u := up.(*net.TCPConn)
	if !l.admit(c, u) {
		reset(c)
		reset(u)
		return
	}
	name := c.RemoteAddr().String()
	l.proxy.Toxics.StartLink(server, name+" up", &conn{c, l}, &conn{u, l}, stream.Upstream)
	l.proxy.Toxics.StartLink(server, name+" down", &conn{u, l}, &conn{c, l}, stream.Downstream)
}

// admit registers both ends of a connection, unless the link refuses.
func (l *Link) admit(ends ...*net.TCPConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuse {
		return false
	}
	for _, c := range ends {
		l.conns[c] = struct{}{}
	}
	return true
}

func (l *Link) forget(c *net.TCPConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// pass returns when the link is not held.
func (l *Link) pass() {
	if g := l.gate.Load(); g != nil {
		<-*g
	}
}

// reset closes c so that its peer sees a reset instead of an orderly end.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // fails on a closed connection only
	_ = c.Close()
}
