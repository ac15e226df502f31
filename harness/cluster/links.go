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
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster/fabric"
)

// This file has the methods by which nemeses act on links and see that a fault acts.

// Impair does a link fault to the links, as [fabric.Impair] says. heal undoes it, may be called more than once, and is never
// nil. Of several faults on one link each acts until it is undone.
func (c *Cluster) Impair(links []harness.Link, f harness.LinkFault) (heal func() error, err error) {
	on := make([]*fabric.Link, len(links))
	for i, l := range links {
		on[i] = c.fabric.Link(l.From, l.To)
	}
	if heal, err = fabric.Impair(on, f); err != nil {
		err = fmt.Errorf("cluster: %w", err)
	}
	return heal, err
}

// Touched returns what faults have touched so far on the link. Connections by which the cluster looks at a link (Probe, Echo,
// Hangup) are not counted.
func (c *Cluster) Touched(l harness.Link) harness.Touched {
	return c.fabric.Link(l.From, l.To).Touched()
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

// echoConn is a bare connection over the fabric.
type echoConn struct {
	net.Conn
	answers *bufio.Reader
	stop    func() bool
}

// dial opens a connection whose reads and writes end with ctx.
func (c *Cluster) dial(ctx context.Context, from, to string) (*echoConn, error) {
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
	return &echoConn{conn, bufio.NewReader(conn), stop}, nil
}

func (w *echoConn) Close() error {
	w.stop()
	return w.Conn.Close()
}

// echo has the word sent back, by PING: a Sentinel knows no ECHO.
func (w *echoConn) echo(word string) error {
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

// Suspects reports whether the Sentinel itself, asked past the fabric, believes that the primary is down.
func (c *Cluster) Suspects(ctx context.Context, sentinel string) (bool, error) {
	n, err := c.node(sentinel)
	if err != nil {
		return false, err
	}
	if n.sentinelClient == nil {
		return false, fmt.Errorf("cluster: %s is not a Sentinel", sentinel)
	}
	m, err := n.sentinelClient.Master(ctx, masterName).Result()
	return strings.Contains(m["flags"], "s_down"), err
}

// Hears reports whether the replica itself, asked past the fabric, has heard of its primary within the last two seconds;
// a primary says something each second. A node that is not a replica hears nobody.
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
