package adapter

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness/interleave"
)

// relay passes a program's connections on to Redis. It connects in the same way as a Redis client of this process. So
// the program's connections meet the faults of that client's link, and reach the primary that the client would find.
type relay struct {
	listener net.Listener
	dial     func(context.Context) (net.Conn, error)
	heard    atomic.Bool // a program has sent something

	inTrial    bool        // the relay looks at what the program sends
	subscribed atomic.Bool // in a trial: the program has subscribed
	awaits     atomic.Bool // in a trial: the program has waited for replicas

	mu      sync.Mutex
	closed  bool
	open    map[net.Conn]net.Conn // connections to Redis, by the program's connection
	running sync.WaitGroup
}

// newRelay opens a relay that connects in the same way as r. If inTrial is true, the relay notes whether the program
// subscribes or sends WAIT.
func newRelay(r redis.UniversalClient, inTrial bool) (*relay, error) {
	one, ok := r.(*redis.Client)
	if !ok {
		return nil, errors.New("adapter: this Redis client is not a redis.Client: an adapter needs one primary")
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	o := one.Options()
	y := &relay{listener: listener, inTrial: inTrial, open: map[net.Conn]net.Conn{},
		dial: func(ctx context.Context) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, o.DialTimeout)
			defer cancel()
			return o.Dialer(interleave.ForAdapter(ctx), "tcp", o.Addr)
		}}
	y.running.Go(y.accept)
	return y, nil
}

func (y *relay) address() string { return y.listener.Addr().String() }

func (y *relay) accept() {
	for {
		outer, err := y.listener.Accept()
		if err != nil {
			return // closed
		}
		y.running.Go(func() { y.pass(outer) })
	}
}

// pass opens a connection to Redis for an accepted connection, the parameter outer. It copies in both directions until
// one of the two connections ends.
func (y *relay) pass(outer net.Conn) {
	inner, err := y.dial(context.Background())
	if err != nil {
		_ = outer.Close() // the program sees that no answer comes
		return
	}
	if !y.enter(outer, inner) {
		return
	}
	var copying sync.WaitGroup
	copying.Go(func() {
		defer y.leave(outer)
		_, _ = io.Copy(inner, &observed{outer, y}) // an error is an end
	})
	copying.Go(func() {
		defer y.leave(outer)
		_, _ = io.Copy(outer, inner) // the same
	})
	copying.Wait()
}

// observed reads what a program sends. It notes in the relay that something was sent and, in a trial, that the program
// has subscribed or has sent WAIT.
type observed struct {
	io.Reader
	relay *relay
}

func (e *observed) Read(b []byte) (int, error) {
	size, err := e.Reader.Read(b)
	if size > 0 && !e.relay.heard.Load() {
		e.relay.heard.Store(true)
	}
	if !e.relay.inTrial {
		return size, err
	}
	text := bytes.ToLower(b[:size])
	if bytes.Contains(text, []byte("subscribe\r\n")) {
		e.relay.subscribed.Store(true)
	}
	if bytes.Contains(text, []byte("\r\n$4\r\nwait\r\n")) || bytes.Contains(text, []byte("\r\n$7\r\nwaitaof\r\n")) {
		e.relay.awaits.Store(true)
	}
	return size, err
}

// enter registers a connection, so that cut and close can end it. It returns false if the relay is closed.
func (y *relay) enter(outer, inner net.Conn) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.open[outer] = inner
	if y.closed {
		y.drop(outer)
	}
	return !y.closed
}

func (y *relay) leave(outer net.Conn) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.drop(outer)
}

// drop closes both sides of a connection. The caller holds the lock.
func (y *relay) drop(outer net.Conn) {
	if inner, ok := y.open[outer]; ok {
		delete(y.open, outer)
		_ = outer.Close() // the other side may have closed it
		_ = inner.Close() // the same
	}
}

func (y *relay) cut() {
	y.mu.Lock()
	defer y.mu.Unlock()
	for outer := range y.open {
		y.drop(outer)
	}
}

func (y *relay) close() {
	y.mu.Lock()
	y.closed = true
	y.mu.Unlock()
	_ = y.listener.Close() // it is closed once
	y.cut()
	y.running.Wait()
}
