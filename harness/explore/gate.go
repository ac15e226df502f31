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

// This file lets programs outside this process in: each client has an address, and what connects there goes through a
// conn, as the connections of clients inside do.

// gates are the addresses of a world's clients. The zero value has none.
type gates struct {
	addresses []string // by client
	listeners []net.Listener
	remove    func() error // removes the folder of Unix sockets; nil: there is none

	mu      sync.Mutex
	closed  bool
	passing map[net.Conn]*conn
	running sync.WaitGroup

	announced func(address, text string) // see interleave.Program; nil: nothing is announced
}

// open opens a gate for each dialer.
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

// accept lets in whoever connects, as the client of d.
func (g *gates) accept(l net.Listener, d *dialer) {
	for {
		outer, err := l.Accept()
		if err != nil {
			return // closed
		}
		g.running.Go(func() { g.serve(outer, d) })
	}
}

// serve connects an accepted connection with Redis, once something comes over it, and passes it on. Client libraries
// connect again by themselves, also for a client that has crashed: such a connection belongs to the schedule in which
// it is first used.
func (g *gates) serve(outer net.Conn, d *dialer) {
	defer outer.Close() // the error tells nothing new
	if !g.enter(outer, nil) {
		return
	}
	defer g.leave(outer)
	in := make([]byte, 16<<10)
	n, err := g.read(outer, in)
	if err != nil {
		return
	}
	dialled, err := d.dial(interleave.ForProgram(context.Background()), "", "")
	inner, ok := dialled.(*conn)
	if err != nil || !ok || !g.enter(outer, inner) {
		return
	}
	defer inner.Close()
	inner.outside, inner.ear.outer = true, outer
	inner.ear.turns(earActs)
	read := inner.ear.hear
	if g.announced != nil {
		read = g.read
	}
	if err := inner.passOn(outer, in, n, read); errors.Is(err, resp.ErrProtocol) {
		defer d.takeTurn()()
		if a := d.acting(); a != nil && a.live.trouble == nil {
			a.live.trouble = schedule.Stopped("%s: what came to its gate is not RESP in arrays of bulk strings", a)
		}
	}
}

// passOn takes what the client sends, of which in has the first n bytes, and gives it the replies, until one side ends.
// read reads more of what it sends.
func (c *conn) passOn(outer net.Conn, in []byte, n int, read func(net.Conn, []byte) (int, error)) (err error) {
	out := make([]byte, 16<<10)
	for ; err == nil; n, err = read(outer, in) {
		if _, err := c.Write(in[:n]); err != nil {
			return err
		}
		for !c.unawaited && (len(c.Queue) > 0 || len(c.out) > 0) {
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

// announcing begins the text of what a client announces.
const announcing = "dg "

// read reads what a client sends. Announcements at its beginning are answered, and left out.
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

// enter notes a connection, so that close can end it; inner is nil until it leads to Redis. It reports false if the
// gates are closed.
func (g *gates) enter(outer net.Conn, inner *conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		if inner != nil {
			_ = inner.Close() // it returns no error
		}
		return false
	}
	g.passing[outer] = inner
	return true
}

func (g *gates) leave(outer net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.passing, outer)
}

// close closes the gates and every connection through them. What passes there ends soon after; running tells when.
func (g *gates) close() (err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, l := range g.listeners {
		err = errors.Join(err, l.Close())
	}
	for outer, inner := range g.passing {
		_ = outer.Close() // the other side may have closed it
		if inner != nil {
			_ = inner.Close() // it returns no error
		}
	}
	if g.remove != nil {
		err = errors.Join(err, g.remove())
	}
	return err
}
