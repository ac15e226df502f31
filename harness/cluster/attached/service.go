package attached

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// services tells which node answers each client group, and which acknowledges its writes. nil notes nothing.
type services []*service

// service tells which node answers one client group, and which acknowledges its writes.
type service struct {
	tell func(kind, node string) // reports a change

	mu    sync.Mutex            // held to change what follows
	node  atomic.Pointer[place] // node that acknowledged the latest write; nil: none, or it takes no writes any more
	moves atomic.Int64          // number of changes of node

	answering atomic.Pointer[place] // node that answered last; nil: none has
	changed   time.Time             // when that was told
}

// answersEvery bounds how often it is told that another node answers: connections to two nodes may take turns for a while.
const answersEvery = 5 * time.Millisecond

// newServices returns nil if nobody wants to be told.
func newServices(groups int, serves func(kind string, group int, node string)) services {
	if serves == nil {
		return nil
	}
	var all services
	for g := range groups {
		all = append(all, &service{tell: func(kind, node string) { serves(kind, g, node) }})
	}
	return all
}

// leave notes that the node takes no writes any more.
func (all services) leave(node string) {
	for _, s := range all {
		s.mu.Lock()
		if p := s.node.Load(); p != nil && p.name == node {
			s.node.Store(nil)
			s.moves.Add(1)
		}
		s.mu.Unlock()
	}
}

// acknowledged notes that n acknowledged a write, which was sent when s.moves was moves. If node has changed since, the answer
// is old and is ignored.
func (s *service) acknowledged(n *place, moves int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.node.Load() != n && s.moves.Load() == moves {
		s.node.Store(n)
		s.moves.Add(1)
		s.tell(harness.EventServes, n.name)
	}
}

// answered notes that n answered, be it with an error.
func (s *service) answered(n *place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.answering.Load() != n && now.Sub(s.changed) >= answersEvery {
		s.answering.Store(n)
		s.changed = now
		s.tell(harness.EventAnswers, n.name)
	}
}

// note returns conn, a connection of the group to p, with answers noted.
func (s *service) note(conn net.Conn, p *place) net.Conn {
	noted := &notedConn{Conn: conn, node: p, service: s}
	if raw, ok := conn.(syscall.Conn); ok {
		return &notedSocket{noted, raw}
	}
	return noted
}

// notedConn is a connection of a client group to a node.
type notedConn struct {
	net.Conn
	node    *place
	service *service
	asked   atomic.Int64 // 1 + the service's moves when the last write was sent; 0: its answer would be no news
	asking  atomic.Bool  // the last request asked for data, while another node was the last to answer
}

// notedSocket is a notedConn whose raw connection go-redis may look at, to see whether one that it kept is still good.
type notedSocket struct {
	*notedConn
	raw syscall.Conn
}

// SyscallConn returns the raw connection.
func (c *notedSocket) SyscallConn() (syscall.RawConn, error) { return c.raw.SyscallConn() }

// Write sends a command. While the node is known to serve the group, there is nothing to hear.
func (c *notedConn) Write(b []byte) (int, error) {
	asked := int64(0)
	if moves := c.service.moves.Load(); c.service.node.Load() != c.node && isWrite(b) {
		asked = moves + 1
	}
	c.asked.Store(asked)
	c.asking.Store(c.service.answering.Load() != c.node && asksForData(b))
	return c.Conn.Write(b)
}

// Read receives an answer.
func (c *notedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.asking.Load() {
		c.service.answered(c.node)
	}
	if asked := c.asked.Load(); n > 0 && asked > 0 && !hasError(b[:n]) {
		c.service.acknowledged(c.node, asked-1)
	}
	return n, err
}

// isWrite reports whether the first command of a request is one that a replica refuses. Only harmless commands are listed: any
// other is taken for a write.
func isWrite(request []byte) bool {
	command := commandOf(request)
	return command != "" && !dataless[command] && !reads[command]
}

// asksForData reports whether the first command of a request reads or writes what is stored.
func asksForData(request []byte) bool {
	command := commandOf(request)
	return command != "" && !dataless[command]
}

// commandOf returns the first command of a request in lower case; empty if the request does not begin with one.
func commandOf(request []byte) string {
	parts := bytes.SplitN(request, []byte("\r\n"), 4) // *2, $3, GET, ...
	if len(parts) < 4 {
		return ""
	}
	return string(bytes.ToLower(parts[2]))
}

// dataless lists commands that have to do with the connection or the server.
var dataless = map[string]bool{
	"hello": true, "auth": true, "client": true, "select": true, "ping": true, "echo": true, "info": true, "role": true, "time": true,
	"config": true, "script": true, "wait": true, "subscribe": true, "watch": true, "unwatch": true, "discard": true,
}

// reads lists commands that read.
var reads = map[string]bool{
	"get": true, "mget": true, "exists": true, "ttl": true, "pttl": true, "type": true, "strlen": true, "dbsize": true,
	"hget": true, "hmget": true, "hgetall": true, "smembers": true, "sismember": true, "scard": true, "sscan": true,
	"zrange": true, "zscore": true, "zcard": true, "xrange": true, "eval_ro": true, "evalsha_ro": true, "fcall_ro": true,
}

// hasError reports whether an error is among the replies.
func hasError(replies []byte) bool {
	return replies[0] == '-' || bytes.Contains(replies, []byte("\r\n-"))
}
