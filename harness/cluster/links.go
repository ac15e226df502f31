package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster/fabric"
)

// This file is what nemeses do to links, and how they see that it acts. Each fault returns what undoes it, which may be
// called more than once; of several faults on one link each acts until it is undone. Holds and refusals cannot fail.
// The others are toxiproxy's and can, see [fabric.Link.Add]; what they return undoes them beside an error as well.

// Hold stops the links' bytes and ends of connections where they are. heal lets them flow on: nothing is lost.
func (c *Cluster) Hold(links []harness.Link) (heal func()) {
	return c.each(links, (*fabric.Link).Hold)
}

// Refuse resets the links' connections, and new ones as they come.
func (c *Cluster) Refuse(links []harness.Link) (heal func()) {
	return c.each(links, (*fabric.Link).Refuse)
}

// Drop loses the links' bytes in both directions; see [fabric.Drop].
func (c *Cluster) Drop(links []harness.Link) (heal func() error, err error) {
	return c.add(links, fabric.Drop())
}

// DropReplies loses the bytes that come back to who opened a connection; see [fabric.DropReplies].
func (c *Cluster) DropReplies(links []harness.Link) (heal func() error, err error) {
	return c.add(links, fabric.DropReplies())
}

// Latency delays the links' bytes, each way; see [fabric.Latency].
func (c *Cluster) Latency(links []harness.Link, latency, jitter time.Duration) (heal func() error, err error) {
	return c.add(links, fabric.Latency(latency, jitter))
}

// Bandwidth lets so many bytes a second pass in each connection, each way; see [fabric.Bandwidth].
func (c *Cluster) Bandwidth(links []harness.Link, bytesPerSecond int64) (heal func() error, err error) {
	return c.add(links, fabric.Bandwidth(bytesPerSecond))
}

// Slice cuts the links' bytes into pieces with pauses; see [fabric.Slice].
func (c *Cluster) Slice(links []harness.Link, size int, delay time.Duration) (heal func() error, err error) {
	return c.add(links, fabric.Slice(size, delay))
}

// LimitData ends connections after so many bytes; see [fabric.LimitData].
func (c *Cluster) LimitData(links []harness.Link, limit int64) (heal func() error, err error) {
	return c.add(links, fabric.LimitData(limit))
}

// SlowClose delays the ends of connections; see [fabric.SlowClose].
func (c *Cluster) SlowClose(links []harness.Link, delay time.Duration) (heal func() error, err error) {
	return c.add(links, fabric.SlowClose(delay))
}

// Touched is what faults have touched so far on the link, of the system's own connections: those by which the cluster looks
// at a link (Probe, Echo, Hangup) are not counted.
func (c *Cluster) Touched(l harness.Link) harness.Touched {
	return c.fabric.Link(l.From, l.To).Touched()
}

// each does what cannot fail to every link.
func (c *Cluster) each(links []harness.Link, do func(*fabric.Link) (heal func())) (heal func()) {
	var heals []func()
	for _, l := range links {
		heals = append(heals, do(c.fabric.Link(l.From, l.To)))
	}
	return func() {
		for _, heal := range heals {
			heal()
		}
	}
}

// add puts a toxic on every link, all at once: one that is stuck does not delay the others.
func (c *Cluster) add(links []harness.Link, t fabric.Toxic) (heal func() error, err error) {
	if err := t.Check(); err != nil {
		return func() error { return nil }, fmt.Errorf("cluster: %w", err)
	}
	heals := make([]func() error, len(links))
	err = together(len(links), func(i int) (err error) {
		heals[i], err = c.fabric.Link(links[i].From, links[i].To).Add(t)
		return err
	})
	return func() error { return together(len(heals), func(i int) error { return heals[i]() }) }, err
}

// together does do(0) to do(n-1) at the same time. Of several errors it returns the first, and how many more there are.
func together(n int, do func(i int) error) error {
	errs := make([]error, n)
	var doing sync.WaitGroup
	for i := range n {
		doing.Go(func() { errs[i] = do(i) })
	}
	doing.Wait()
	var first error
	more := -1
	for _, err := range errs {
		if err != nil {
			more++
			if first == nil {
				first = err
			}
		}
	}
	if more > 0 {
		return fmt.Errorf("%w; and %d more links", first, more)
	}
	return first
}

// Echo sends size bytes, at least one, to the node over the fabric, in a new connection that comes from the host or
// client group from, and returns when they have come back. Unlike Probe it waits for as long as ctx does.
func (c *Cluster) Echo(ctx context.Context, from, to string, size int) error {
	conn, err := c.dial(ctx, from, to)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.echo(strings.Repeat("x", size))
}

// Hangup closes a new connection to the node from its near end, and returns when the far end has closed it as well.
func (c *Cluster) Hangup(ctx context.Context, from, to string) error {
	conn, err := c.dial(ctx, from, to)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.echo("x"); err != nil { // it is up on both sides
		return err
	}
	if err := conn.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		return err
	}
	if _, err := conn.answers.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("cluster: %s has more to say to %s, which hung up: %w", to, from, err)
	}
	return nil
}

// wire is a bare connection over the fabric.
type wire struct {
	net.Conn
	answers *bufio.Reader
	stop    func() bool
}

// dial opens a connection whose reads and writes end with ctx.
func (c *Cluster) dial(ctx context.Context, from, to string) (*wire, error) {
	target, err := c.node(to)
	if err != nil {
		return nil, err
	}
	dial, err := c.dialer(from)
	if err != nil {
		return nil, err
	}
	conn, err := dial(ctx, "tcp", target.announced())
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	return &wire{conn, bufio.NewReader(conn), stop}, nil
}

func (w *wire) Close() error {
	w.stop()
	return w.Conn.Close()
}

// echo has the word sent back. A Sentinel knows no ECHO, but PING of all.
func (w *wire) echo(word string) error {
	answer := "$" + strconv.Itoa(len(word)) + "\r\n" + word + "\r\n"
	if _, err := io.WriteString(w, "*2\r\n$4\r\nPING\r\n"+answer); err != nil {
		return err
	}
	got := make([]byte, len(answer))
	if _, err := io.ReadFull(w.answers, got); err != nil {
		return err
	}
	if string(got) != answer {
		return fmt.Errorf("cluster: PING is answered with %.40q", got)
	}
	return nil
}

// Suspects reports whether the Sentinel itself, asked past the fabric, holds the primary to be down.
func (c *Cluster) Suspects(ctx context.Context, sentinel string) (bool, error) {
	n, err := c.node(sentinel)
	if err != nil {
		return false, err
	}
	if n.guard == nil {
		return false, fmt.Errorf("cluster: %s is no Sentinel", sentinel)
	}
	m, err := n.guard.Master(ctx, masterName).Result()
	return strings.Contains(m["flags"], "s_down"), err
}

// Hears reports whether the replica itself, asked past the fabric, has heard of its primary within the last two seconds;
// a primary says something each second. A node that is no replica hears nobody.
func (c *Cluster) Hears(ctx context.Context, replica string) (bool, error) {
	n, err := c.node(replica)
	if err != nil {
		return false, err
	}
	info, err := n.admin.Info(ctx, "replication").Result()
	for _, ago := range []string{"0", "1", "2"} {
		if strings.Contains(info, "master_last_io_seconds_ago:"+ago+"\r\n") {
			return true, err
		}
	}
	return false, err // -1 while its link is down
}
