package explore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file admits adapters. Each client has an address, and a connection to it goes through a conn, as those of
// clients in this process do.

// gates holds the addresses at which the adapters of a world's clients reach Redis. The zero value has none.
type gates struct {
	addresses []string // address of each client
	listeners []net.Listener
	remove    func() error // removes the folder of Unix sockets; nil: none

	mu      sync.Mutex
	closed  bool
	passing map[net.Conn]*conn
	running sync.WaitGroup

	announced func(address, text string) // see interleave.Program; nil: no announcements
}

func (g *gates) open(kind interleave.Gate, dialers []*dialer, announced func(address, text string)) error {
	if kind == interleave.InProcess {
		return nil
	}
	g.passing, g.announced = map[net.Conn]*conn{}, announced
	folder := ""
	if kind == interleave.Unix {
		var err error
		if folder, g.remove, err = cluster.TempFolder(); err != nil {
			return fmt.Errorf("explore: gates: %w", err)
		}
	}
	for i, d := range dialers {
		network, address := "tcp", "127.0.0.1:0"
		if kind == interleave.Unix {
			network, address = "unix", filepath.Join(folder, "client-"+strconv.Itoa(i+1))
		}
		l, err := (&net.ListenConfig{}).Listen(context.Background(), network, address)
		if err != nil {
			return fmt.Errorf("explore: gate of client %d: %w", i+1, err)
		}
		g.addresses, g.listeners = append(g.addresses, l.Addr().String()), append(g.listeners, l)
		g.running.Go(func() { g.accept(l, d) })
	}
	return nil
}

// accept accepts the connections to l. They come from one client, whose dialer is d.
func (g *gates) accept(l net.Listener, d *dialer) {
	for {
		outer, err := l.Accept()
		if err != nil {
			return // the listener is closed
		}
		g.running.Go(func() { g.serve(outer, d) })
	}
}

// serve relays an accepted connection to Redis. It opens the connection to Redis only when the first bytes arrive. The
// reason is that libraries reconnect on their own, even for a client that has crashed. So a connection belongs to the
// schedule in which it is first used.
func (g *gates) serve(outer net.Conn, d *dialer) {
	defer outer.Close() // the error adds nothing
	if !g.register(outer, nil) {
		return
	}
	defer g.unregister(outer)
	in := make([]byte, 16<<10)
	n, err := g.read(outer, in)
	if err != nil {
		return
	}
	dialled, err := d.dial(interleave.ForAdapter(context.Background()), "", "")
	inner, ok := dialled.(*conn)
	if err != nil || !ok || !g.register(outer, inner) {
		return
	}
	defer inner.Close()
	inner.ofAdapter, inner.activity.outer = true, outer
	inner.activity.set(handlesAdapter)
	read := inner.activity.readAdapter
	if g.announced != nil {
		read = g.read
	}
	if err := inner.passOn(outer, in, n, read); errors.Is(err, resp.ErrProtocol) {
		defer d.takeTurn()()
		if a := d.acting(); a != nil && a.live.failure == nil {
			a.live.failure = schedule.Stopped("%s: it sent something other than RESP arrays of bulk strings", a)
		}
	}
}

// passOn relays bytes between the client and Redis until one side ends. The parameter in is a buffer, whose first n
// bytes have come from the client already. The function read reads more into this buffer.
func (c *conn) passOn(outer net.Conn, in []byte, n int, read func(net.Conn, []byte) (int, error)) (err error) {
	out := make([]byte, 16<<10)
	for ; err == nil; n, err = read(outer, in) {
		if _, err := c.Write(in[:n]); err != nil {
			return err
		}
		for !c.unawaited && (len(c.Queue) > 0 || len(c.unread) > 0) {
			n, err := c.Read(out)
			if err != nil {
				return err
			}
			if _, err := outer.Write(out[:n]); err != nil {
				return err
			}
		}
	}
	return err
}

// announcing is the prefix of an announcement: a text that an adapter's program sends as an ECHO. See
// Program.Announced.
const announcing = "dg "

// read reads bytes from a client into a buffer. If the bytes begin with announcements, it answers and removes these.
func (g *gates) read(outer net.Conn, in []byte) (n int, err error) {
	for n == 0 && err == nil {
		if n, err = outer.Read(in); g.announced == nil || err != nil {
			return n, err
		}
		for {
			args, size, parseErr := resp.ParseCommand(in[:n])
			if parseErr != nil || size == 0 || len(args) != 2 || command.Name(args) != "echo" ||
				!bytes.HasPrefix(args[1], []byte(announcing)) {
				break
			}
			said := string(args[1])
			n = copy(in, in[size:n])
			g.announced(outer.LocalAddr().String(), strings.TrimPrefix(said, announcing))
			if _, err := fmt.Fprintf(outer, "$%d\r\n%s\r\n", len(said), said); err != nil {
				return n, err
			}
		}
	}
	return n, err
}

// register stores a connection so that gates.close can end it. The parameter inner is the connection to Redis; nil:
// there is none yet. register returns false if the gates are closed.
func (g *gates) register(outer net.Conn, inner *conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		if inner != nil {
			_ = inner.Close() // always nil
		}
		return false
	}
	g.passing[outer] = inner
	return true
}

func (g *gates) unregister(outer net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.passing, outer)
}

// close closes the gates and all connections through them. Goroutines that still run end soon after.
func (g *gates) close() (err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, l := range g.listeners {
		err = errors.Join(err, l.Close())
	}
	for outer, inner := range g.passing {
		_ = outer.Close() // an error: the other side has closed it
		if inner != nil {
			_ = inner.Close() // always nil
		}
	}
	if g.remove != nil {
		err = errors.Join(err, g.remove())
	}
	return err
}
