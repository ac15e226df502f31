package clients

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// services tracks, for each client group, the node that answers it and the node that acknowledges its writes. nil
// tracks nothing.
type services []*service

// service tracks the node that answers one client group, and the node that acknowledges its writes.
type service struct {
	report func(kind, node string)

	mu      sync.Mutex                // held to change the fields below
	writer  atomic.Pointer[knownNode] // node that acknowledged the latest write; nil: no node still accepts writes
	changes atomic.Int64              // number of changes of writer

	answerer   atomic.Pointer[knownNode] // node that answered last; nil: none has answered
	reportedAt time.Time                 // when answerer was last reported
}

// answersEvery is the least time between two reports of a group's answering node. Without this bound, a group with
// connections to two nodes would report a change with almost every answer.
const answersEvery = 5 * time.Millisecond

// newServices returns the services of all groups. It returns nil if the given function is nil.
func newServices(groups int, serves func(kind string, group int, node string)) services {
	if serves == nil {
		return nil
	}
	var all services
	for g := range groups {
		all = append(all, &service{report: func(kind, node string) { serves(kind, g, node) }})
	}
	return all
}

// forgetWriter records that the node no longer accepts writes.
func (all services) forgetWriter(node string) {
	for _, s := range all {
		s.mu.Lock()
		if p := s.writer.Load(); p != nil && p.name == node {
			s.writer.Store(nil)
			s.changes.Add(1)
		}
		s.mu.Unlock()
	}
}

// acknowledged records that n acknowledged a write. The parameter changes is the value of s.changes when the write was
// sent. If s.changes has grown since, another node has become the writer, and the answer is ignored as out of date.
func (s *service) acknowledged(n *knownNode, changes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writer.Load() != n && s.changes.Load() == changes {
		s.writer.Store(n)
		s.changes.Add(1)
		s.report(harness.EventServesWrites, n.name)
	}
}

// answered records that n has answered a request. An error is an answer too.
func (s *service) answered(n *knownNode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.answerer.Load() != n && now.Sub(s.reportedAt) >= answersEvery {
		s.answerer.Store(n)
		s.reportedAt = now
		s.report(harness.EventAnswers, n.name)
	}
}

// watch wraps conn, a connection of the group to p, so that answers are recorded.
func (s *service) watch(conn net.Conn, p *knownNode) net.Conn {
	watched := &watchedConn{Conn: conn, node: p, service: s}
	if raw, ok := conn.(syscall.Conn); ok {
		return &watchedSocket{watched, raw}
	}
	return watched
}

// watchedConn is a connection of a client group to a node, whose answers are recorded.
type watchedConn struct {
	net.Conn
	node     *knownNode
	service  *service
	sentAt   atomic.Int64 // 1 + service.changes when the last write was sent; 0: ignore the answer
	asksData atomic.Bool  // the last request asked for data while service.answerer was another node
}

// watchedSocket is a watchedConn with a raw connection, which go-redis inspects to see whether an idle connection is
// still good.
type watchedSocket struct {
	*watchedConn
	raw syscall.Conn
}

// SyscallConn returns the raw connection.
func (c *watchedSocket) SyscallConn() (syscall.RawConn, error) { return c.raw.SyscallConn() }

// Write sends a command, and decides whether Read has to record the answer. An answer of the node that already serves
// the group would change nothing.
func (c *watchedConn) Write(b []byte) (int, error) {
	asked := int64(0)
	if changes := c.service.changes.Load(); c.service.writer.Load() != c.node && isWrite(b) {
		asked = changes + 1
	}
	c.sentAt.Store(asked)
	c.asksData.Store(c.service.answerer.Load() != c.node && asksForData(b))
	return c.Conn.Write(b)
}

// Read receives an answer, and records the node that sent it if Write has decided so.
func (c *watchedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.asksData.Load() {
		c.service.answered(c.node)
	}
	if asked := c.sentAt.Load(); n > 0 && asked > 0 && !hasError(b[:n]) {
		c.service.acknowledged(c.node, asked-1)
	}
	return n, err
}

// isWrite reports whether the first command of a request is a write, which a replica would refuse. Every command that
// is neither in noData nor in readOnly counts as a write.
func isWrite(request []byte) bool {
	command := commandOf(request)
	return command != "" && !noData[command] && !readOnly[command]
}

// asksForData reports whether the first command of a request reads or writes stored data.
func asksForData(request []byte) bool {
	command := commandOf(request)
	return command != "" && !noData[command]
}

// commandOf returns the first command of a request in lower case, or "" if the request does not begin with a command.
func commandOf(request []byte) string {
	parts := bytes.SplitN(request, []byte("\r\n"), 4) // *2, $3, GET, ...
	if len(parts) < 4 {
		return ""
	}
	return string(bytes.ToLower(parts[2]))
}

// noData lists commands about the connection or the server.
var noData = map[string]bool{
	"hello": true, "auth": true, "client": true, "select": true, "ping": true, "echo": true, "info": true, "role": true,
	"time":   true,
	"config": true, "script": true, "wait": true, "subscribe": true, "watch": true, "unwatch": true, "discard": true,
}

// readOnly lists commands that only read.
var readOnly = map[string]bool{
	"get": true, "mget": true, "exists": true, "ttl": true, "pttl": true, "type": true, "strlen": true, "dbsize": true,
	"hget": true, "hmget": true, "hgetall": true, "smembers": true, "sismember": true, "scard": true, "sscan": true,
	"zrange": true, "zscore": true, "zcard": true, "xrange": true, "eval_ro": true, "evalsha_ro": true,
	"fcall_ro": true,
}

// hasError reports whether one of the replies is an error.
func hasError(replies []byte) bool {
	return replies[0] == '-' || bytes.Contains(replies, []byte("\r\n-"))
}
