// Package fabric carries every byte between the hosts of a cluster, so that faults can act on each pair of hosts.
//
// Each host listens at an address that only the fabric dials. It announces another address, at which the fabric
// listens. A connection's source address tells which host opened it. So each directed pair of hosts has a [Link] of its
// own that can be cut while all others flow: one Sentinel can lose the primary while another still sees it.
//
// The fabric accepts connections and assigns each to a link. It withholds the bytes of a link, or refuses its
// connections, by itself. toxiproxy (github.com/Shopify/toxiproxy/v2) applies toxics, and carries the bytes of a link
// while the link has a toxic. Other packages do not see toxiproxy.
//
// Thousands of connections come from clients in this process. [Fabric.DialFrom] opens these, and they need no second
// socket. They are called dialed connections here. A connection from outside this process, an accepted one, gets a
// dialed connection of its own, and the fabric copies bytes between the two.
package fabric

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/rs/zerolog"
)

// UnknownHost is the host name of connections from an address that belongs to no host.
const UnknownHost = "outside"

// Fabric connects hosts. New creates one, and Close ends it.
type Fabric struct {
	server *toxiproxy.ApiServer

	mu        sync.Mutex
	hosts     map[string]Source    // host that dials from an address, by the address
	places    map[string]hostPlace // host to which an announced address leads, by the address
	links     map[pair]*Link
	listeners []net.Listener
	closed    bool
	serving   sync.WaitGroup
}

type (
	pair      struct{ src, dst string }
	hostPlace struct{ name, real string }
)

// New returns a fabric without hosts. The first call adds six toxics to toxiproxy's table. The whole process has only
// one such table.
func New() *Fabric {
	setUp()
	return &Fabric{
		// toxiproxy's links panic on a nil metrics container; an empty one measures nothing.
		server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()),
		hosts:  map[string]Source{},
		places: map[string]hostPlace{},
		links:  map[pair]*Link{},
	}
}

// setUp adds our toxics to the process's table when the first fabric is made, so that linking this package changes
// nothing.
var setUp = sync.OnceFunc(func() {
	for name, own := range map[string]toxics.Toxic{
		dropName: new(drop), limitDataName: new(limitData),
		latencyName: new(latency), bandwidthName: new(bandwidth), sliceName: new(slicer), slowCloseName: new(slowClose),
	} {
		toxics.Register(name, own)
	}
})

// Host declares that connections from the address ip (no port) come from the host called name.
func (f *Fabric) Host(name, ip string) { f.host(ip, Source{Host: name}) }

// Prober declares that connections from the address ip (no port) are the harness's probes of the links of the host
// called name. Faults act on them as on that host's own connections, but [Link.Touched] does not count them.
func (f *Fabric) Prober(name, ip string) { f.host(ip, Source{Host: name, Uncounted: true}) }

func (f *Fabric) host(ip string, s Source) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hosts[ip] = s
}

// Listen accepts connections for the host dst at its announced address and carries them to its real address.
func (f *Fabric) Listen(dst, announced, real string) error {
	_, err := f.listen(dst, announced, real)
	return err
}

// Expose accepts connections for the host dst at a free port of the address ip, and carries them to its real address.
// It returns ip with the port.
func (f *Fabric) Expose(dst, ip, real string) (address string, err error) {
	return f.listen(dst, net.JoinHostPort(ip, "0"), real)
}

func (f *Fabric) listen(dst, at, real string) (address string, err error) {
	ln, err := net.Listen("tcp", at)
	if err != nil {
		return "", fmt.Errorf("fabric: listen for %s: %w", dst, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return "", errors.Join(net.ErrClosed, ln.Close())
	}
	address = ln.Addr().String()
	f.listeners = append(f.listeners, ln)
	f.places[address] = hostPlace{dst, real}
	f.serving.Go(func() { f.accept(ln, dst, real) })
	return address, nil
}

// Announce declares the address that the host dst announces, and the real address of that host. The fabric does not
// listen at the announced address, so only [Fabric.DialFrom] reaches the host by it. A later Announce or Listen for the
// same announced address replaces this one.
func (f *Fabric) Announce(dst, announced, real string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.places[announced] = hostPlace{dst, real}
}

// Link returns the link that carries the connections that src opens to dst.
func (f *Fabric) Link(src, dst string) *Link {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := pair{src, dst}
	l := f.links[p]
	if l == nil {
		l = newLink(f.server, src, dst)
		f.links[p] = l
	}
	return l
}

// Close stops listening and resets every connection. It is safe to call twice.
func (f *Fabric) Close() error {
	f.mu.Lock()
	f.closed = true
	var errs []error
	for _, ln := range f.listeners {
		errs = append(errs, ln.Close())
	}
	f.listeners = nil
	links := make([]*Link, 0, len(f.links))
	for _, l := range f.links {
		links = append(links, l)
	}
	f.mu.Unlock()
	for _, l := range links {
		l.close()
	}
	f.serving.Wait()
	return errors.Join(errs...)
}

// acceptAgain is the pause after a failed accept.
const acceptAgain = 20 * time.Millisecond

func (f *Fabric) accept(ln net.Listener, dst, real string) {
	for {
		c, err := ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as no free file descriptor: if we gave up, no host could reach this one again
			time.Sleep(acceptAgain)
			continue
		}
		f.serving.Go(func() { f.relay(c.(*net.TCPConn), f.source(c), hostPlace{dst, real}) })
	}
}

// source returns the host that opened c.
func (f *Fabric) source(c net.Conn) Source {
	ip := c.RemoteAddr().(*net.TCPAddr).IP.String()
	f.mu.Lock()
	defer f.mu.Unlock()
	if s, ok := f.hosts[ip]; ok {
		return s
	}
	return Source{Host: UnknownHost}
}
