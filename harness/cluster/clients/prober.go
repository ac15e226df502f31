package clients

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

	"github.com/redis/go-redis/v9"
)

// Prober tests a link. Each method opens a new connection and returns an error unless it gets the expected answer.
type Prober struct {
	From, To           string // ends of the link, for errors
	Addr               string // address for Dial
	Dial               Dialer
	Username, Password string // empty: AUTH is not sent
}

// probeWithin bounds each dial, write and read of Probe.
const probeWithin = 300 * time.Millisecond

// Probe pings the node. Dialing, writing and reading have 300 ms each.
func (p Prober) Probe(ctx context.Context) error {
	client := redis.NewClient(&redis.Options{
		Addr: p.Addr, Dialer: p.Dial, Protocol: 2, DisableIdentity: true, PoolSize: 1,
		Username: p.Username, Password: p.Password,
		MaxRetries: -1, DialerRetries: 1, DialTimeout: probeWithin, ReadTimeout: probeWithin, WriteTimeout: probeWithin,
		ContextTimeoutEnabled: true,
	})
	defer client.Close()
	return client.Ping(ctx).Err()
}

// Echo sends the given number of bytes, at least one, and returns when they have come back. Unlike Probe it is bounded
// only by ctx.
func (p Prober) Echo(ctx context.Context, size int) error {
	conn, err := p.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.echo(strings.Repeat("x", size))
}

// Hangup closes its side of a new connection, and returns when the node has closed its own.
func (p Prober) Hangup(ctx context.Context) error {
	conn, err := p.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.echo("x"); err != nil { // the connection is up on both sides
		return err
	}
	bare := conn.Conn
	if secured, ok := bare.(interface{ NetConn() net.Conn }); ok {
		bare = secured.NetConn() // TLS has a close message, which a link does not know
		conn.answers.Reset(bare)
	}
	if err := bare.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		return err
	}
	rest, err := io.Copy(io.Discard, conn.answers)
	switch {
	case err != nil:
		return fmt.Errorf("clients: %s did not end its side for %s, which hung up: %w", p.To, p.From, err)
	case rest > 0 && bare == conn.Conn:
		return fmt.Errorf("clients: %s has %d B more to say to %s, which hung up", p.To, rest, p.From)
	}
	return nil
}

// echoConn is a connection over the fabric without a client library.
type echoConn struct {
	net.Conn
	answers *bufio.Reader
	auth    string // the AUTH command, which is sent first; empty: no AUTH is sent
	stop    func() bool
}

// dial opens a connection whose reads and writes end with ctx.
func (p Prober) dial(ctx context.Context) (*echoConn, error) {
	conn, err := p.Dial(ctx, "tcp", p.Addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	return &echoConn{conn, bufio.NewReader(conn), p.auth(), stop}, nil
}

func (w *echoConn) Close() error {
	w.stop()
	return w.Conn.Close()
}

// auth returns the AUTH command, or "" without user and password.
func (p Prober) auth() string {
	switch {
	case p.Username == "" && p.Password == "":
		return ""
	case p.Username == "":
		return command("AUTH", p.Password)
	}
	return command("AUTH", p.Username, p.Password)
}

// command encodes a command in the Redis protocol.
func command(words ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b.String()
}

// errLoginRefused replaces the server's refusal of AUTH, whose text may name the user.
var errLoginRefused = errors.New("clients: user and password are not accepted")

// echo makes the node return the word by PING, since a Sentinel has no ECHO. AUTH goes out together with the first
// PING, so AUTH costs no extra round trip.
func (w *echoConn) echo(word string) error {
	auth := w.auth
	if _, err := io.WriteString(w, auth+command("PING", word)); err != nil {
		return err
	}
	if w.auth = ""; auth != "" {
		line, err := w.answers.ReadString('\n')
		if err != nil {
			return err
		}
		if line != "+OK\r\n" {
			return errLoginRefused
		}
	}
	answer := "$" + strconv.Itoa(len(word)) + "\r\n" + word + "\r\n"
	got := make([]byte, len(answer))
	if _, err := io.ReadFull(w.answers, got); err != nil {
		return err
	}
	if string(got) != answer {
		return fmt.Errorf("clients: PING is answered with %.40q", got)
	}
	return nil
}
