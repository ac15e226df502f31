package fabric

import (
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/Shopify/toxiproxy/v2"
)

// dialWithin bounds the fabric's own dial to a host. The host is on this machine. After [Fabric.Announce] it may be on
// another machine, but near enough for a load.
const dialWithin = 2 * time.Second

// mostDialing bounds how many dialed connections a link opens at the same time. Thousands at once would overflow the
// accept queue of their host, and the kernel tries again only after a second.
const mostDialing = 64

// Link carries the connections that one host opens to another, with their bytes in both directions. Several faults may
// be in force on a link at once. Bytes flow as before when the last fault has healed.
type Link struct {
	Src, Dst string

	server *toxiproxy.ApiServer
	proxy  *toxiproxy.Proxy
	gate   atomic.Pointer[chan struct{}] // closed when the withheld link flows again; nil: the link is not withheld
	made   atomic.Int64                  // counts connections and toxics, so that each gets a new name in toxiproxy

	traffic traffic

	dialing  chan struct{} // holds one element for each dial under way, mostDialing at most
	changing sync.Mutex    // held while a toxic comes or goes

	mu                  sync.Mutex
	withholds, refusals int // number of Withholds and Refuses in force
	toxics              int // number of toxics in force, or being added or removed
	closed              bool
	pipelines           map[*pipeline]struct{} // the link's pipelines in toxiproxy
	torn                []*pipeline            // pipelines that may be torn: see pipeline

	dialedMu    sync.Mutex           // locked after all other mutexes, also after a dialed connection's
	dialedConns map[*dialed]struct{} // all connections that have reached the host
}

// newLink makes a link and registers it with toxiproxy's server under "src>dst". The link's proxy does not listen: it
// gets its connections from the fabric.
func newLink(server *toxiproxy.ApiServer, src, dst string) *Link {
	l := &Link{
		Src: src, Dst: dst, server: server, dialing: make(chan struct{}, mostDialing),
		pipelines: map[*pipeline]struct{}{}, dialedConns: map[*dialed]struct{}{},
	}
	l.proxy = toxiproxy.NewProxy(server, src+">"+dst, "", "")
	_ = server.Collection.Add(l.proxy, false) // fails for a name in use only
	return l
}

// Withhold stops all bytes on the link, and all ends of connections, until heal is called. New connections wait too.
// Nothing is lost: when the last Withhold has healed, everything flows on. heal may be called more than once.
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
			l.release()
		}
	})
}

// release lets the withheld bytes flow. The caller holds l.mu.
func (l *Link) release() {
	if c := l.gate.Swap(nil); c != nil {
		close(*c)
	}
}

// Refuse resets the link's connections, and new ones as they come, until heal is called. The link accepts again when
// the last Refuse has healed. heal may be called more than once.
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
	for _, c := range l.allDialed() {
		c.countReset()
	}
}

// resetAll resets every connection. The caller holds l.mu.
func (l *Link) resetAll() {
	for _, c := range l.allDialed() {
		c.reset()
	}
}

// close ends the link for good. It resets the link's connections and wakes all goroutines that wait on it.
func (l *Link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.resetAll()
	l.release()
}

// Connections returns the number of connections on the link.
func (l *Link) Connections() int {
	return len(l.allDialed())
}

// addDialed gives a dialed connection its socket and registers it. It returns false if the link refuses connections.
func (l *Link) addDialed(c *dialed, tcp *net.TCPConn, raw syscall.RawConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refusals > 0 || l.closed {
		c.countReset()
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l.dialedMu.Lock()
	l.dialedConns[c] = struct{}{}
	l.dialedMu.Unlock()
	c.connected(tcp, raw)
	if l.toxics > 0 {
		c.begin()
		go c.startPipelines()
	}
	return true
}

// removeDialed removes a dialed connection that has ended.
func (l *Link) removeDialed(c *dialed) {
	l.dialedMu.Lock()
	defer l.dialedMu.Unlock()
	delete(l.dialedConns, c)
}

func (l *Link) allDialed() []*dialed {
	l.dialedMu.Lock()
	defer l.dialedMu.Unlock()
	return slices.Collect(maps.Keys(l.dialedConns))
}

// restored returns a channel that is closed when the link is no longer withheld. It is nil if the link is not withheld.
func (l *Link) restored() <-chan struct{} {
	if g := l.gate.Load(); g != nil {
		return *g
	}
	return nil
}

// reset closes c so that its peer sees a reset instead of an orderly end.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // fails on a closed connection only
	_ = c.Close()
}
