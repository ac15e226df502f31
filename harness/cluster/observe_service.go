package cluster

import (
	"bytes"
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/doublegrant/doublegrant/harness"
)

// services note which node acknowledges the writes of each client group. nil notes nothing.
type services []*service

// service is that of one client group.
type service struct {
	tell func(*node)

	mu    sync.Mutex           // held to change what follows
	node  atomic.Pointer[node] // which acknowledged the latest write; nil: none that still takes any
	moves atomic.Int64         // how often node has changed
}

func newServices(groups int, clock harness.Clock, events func(harness.Event)) services {
	var all services
	for g := range groups {
		all = append(all, &service{tell: func(n *node) {
			events(harness.Event{At: clock.Now(), Node: n.name, Kind: harness.EventServes, Detail: GroupName(g)})
		}})
	}
	return all
}

// leave says that n takes no writes any more: who is served by it next is served anew.
func (all services) leave(n *node) {
	for _, s := range all {
		s.mu.Lock()
		if s.node.Load() == n {
			s.node.Store(nil)
			s.moves.Add(1)
		}
		s.mu.Unlock()
	}
}

// acknowledged says that n acknowledged a write that was sent when the service had moved so many times. One that was sent
// before the group moved on is late news of the node before.
func (s *service) acknowledged(n *node, moves int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.node.Load() != n && s.moves.Load() == moves {
		s.node.Store(n)
		s.moves.Add(1)
		s.tell(n)
	}
}

// heard is dial, with an ear on the connections that it opens to one of nodes.
func (all services) heard(group int, nodes []*node, dial dialer) dialer {
	if all == nil {
		return dial
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		i := slices.IndexFunc(nodes, func(n *node) bool { return n.announced() == addr })
		raw, ok := conn.(syscall.Conn)
		if err != nil || i < 0 || !ok {
			return conn, err
		}
		return &heard{Conn: conn, raw: raw, node: nodes[i], service: all[group]}, nil
	}
}

// heard is a connection of a client group to a node.
type heard struct {
	net.Conn
	raw     syscall.Conn
	node    *node
	service *service
	asked   atomic.Int64 // 1 + the service's moves when a write was sent that may be news; 0: none was
}

// SyscallConn is how go-redis looks whether a connection that it kept is still good.
func (c *heard) SyscallConn() (syscall.RawConn, error) { return c.raw.SyscallConn() }

// Write sends a command. While the node is known to serve the group, there is nothing to hear.
func (c *heard) Write(b []byte) (int, error) {
	asked := int64(0)
	if moves := c.service.moves.Load(); c.service.node.Load() != c.node && changes(b) {
		asked = moves + 1
	}
	c.asked.Store(asked)
	return c.Conn.Write(b)
}

// Read receives an answer.
func (c *heard) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if asked := c.asked.Load(); n > 0 && asked > 0 && !refuses(b[:n]) {
		c.service.acknowledged(c.node, asked-1)
	}
	return n, err
}

// changes reports whether the first command of a request is one that a replica refuses. Those that it does not are listed: a
// command that is new here is taken for a write.
func changes(request []byte) bool {
	parts := bytes.SplitN(request, []byte("\r\n"), 4) // *2, $3, GET, ...
	return len(parts) == 4 && !harmless[string(bytes.ToLower(parts[2]))]
}

var harmless = map[string]bool{
	"hello": true, "auth": true, "client": true, "select": true, "ping": true, "echo": true, "info": true, "role": true, "time": true,
	"config": true, "script": true, "wait": true, "subscribe": true, "watch": true, "unwatch": true, "discard": true,
	"get": true, "mget": true, "exists": true, "ttl": true, "pttl": true, "type": true, "strlen": true, "dbsize": true,
	"hget": true, "hmget": true, "hgetall": true, "smembers": true, "sismember": true, "scard": true, "sscan": true,
	"zrange": true, "zscore": true, "zcard": true, "xrange": true, "eval_ro": true, "evalsha_ro": true, "fcall_ro": true,
}

// refuses reports whether an error is among the replies.
func refuses(replies []byte) bool {
	return replies[0] == '-' || bytes.Contains(replies, []byte("\r\n-"))
}
