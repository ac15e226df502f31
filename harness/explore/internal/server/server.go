// Package server runs the Redis of one worker of a search: its nodes, their clocks and content, and the promotion of a
// lagging replica.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/await"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
)

// Server is the Redis of one worker. It is not safe for concurrent use.
type Server struct {
	Cluster   *cluster.Cluster // the first primary and its replicas
	successor *cluster.Cluster // the successor and its replica; nil without failovers
	Names     []string         // names of the nodes, by number
	sockets   []string
	admin     []*resp.Conn // the explorer's own connections, one per node
	Primary   int          // node that clients use
	// lets the lagging replica follow its primary again; nil: the replica follows it now
	resumeReplication func() error
	lagging           replicaData        // what the lagging replica held when replication stopped
	awaitsAcks        bool               // clients wait for acknowledgements, so a replica follows a new primary
	witnesses         []*resp.Conn       // see WatchKeys
	monitors          map[int]*resp.Conn // see WatchScripts; by node
	marks             int                // see ScriptCalls
	clean             bool               // database 0 is empty
	Silence           resp.Silence       // shared by the connections to all nodes

	fixed      []*cluster.FixedClock // the servers' clocks, by cluster; nil: clocks cannot be set
	WhyNoClock string                // why clocks cannot be set; empty: clocks can be set
	missedTime time.Duration         // virtual time since replication stopped; 0 if clocks can be set

	changed settings
	Scripts *command.Scripts // every script that was seen
	Flushed bool             // the script cache was flushed and has to be filled again
}

// Options configures a server.
type Options struct {
	Binary   string            // path of redis-server; empty: the one that cluster.FindRedis finds
	Replicas bool              // the server has replicas, also after a failover
	Failover bool              // a lagging replica can be promoted
	Titles   map[string]string // names of scripts, by text
}

// Start starts a server. Call Stop to end it.
func Start(ctx context.Context, o Options) (_ *Server, err error) {
	s := &Server{awaitsAcks: o.Replicas, Scripts: command.NewScripts(o.Titles)}
	if err := s.start(ctx, o); err != nil {
		return nil, err
	}
	for _, c := range s.clusters() {
		err = errors.Join(err, s.dialNodes(c))
	}
	if err == nil {
		err = s.fixTime(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// Stop ends all nodes.
func (s *Server) Stop() error {
	s.closeWitnesses()
	for _, m := range s.monitors {
		m.Close()
	}
	for _, a := range s.admin {
		a.Close()
	}
	for _, clock := range s.fixed {
		clock.Close()
	}
	var errs []error
	if s.resumeReplication != nil {
		errs = append(errs, s.resumeReplication())
	}
	for _, c := range s.clusters() {
		errs = append(errs, c.Stop())
	}
	return errors.Join(errs...)
}

// start starts Redis. Its clocks can be set if there is a compiler to build the clock library.
func (s *Server) start(ctx context.Context, o Options) error {
	for _, clocks := range []bool{true, false} {
		with := cluster.Options{RedisServer: o.Binary, Clocks: clocks}
		s.Cluster = cluster.Standalone(with)
		if o.Replicas || o.Failover {
			s.Cluster = cluster.Replicated(with)
		}
		switch {
		case o.Failover && s.awaitsAcks:
			heir := with
			heir.Replicas = 1
			s.successor = cluster.Replicated(heir)
		case o.Failover:
			s.successor = cluster.Masters(1, with)
		}
		all := s.clusters()
		err := cmp.Or(await.All(len(all), func(i int) error { // every cluster fails for the same lack
			return all[i].Start(ctx, harness.NewClock(), func(harness.Event) {}, slog.New(slog.DiscardHandler))
		})...)
		if err == nil {
			return nil
		}
		for _, c := range all {
			err = errors.Join(err, c.Stop())
		}
		if !clocks || !errors.Is(err, cluster.ErrNoCompiler) {
			return err
		}
		s.WhyNoClock = err.Error()
	}
	return nil
}

func (s *Server) clusters() []*cluster.Cluster {
	if s.successor == nil {
		return []*cluster.Cluster{s.Cluster}
	}
	return []*cluster.Cluster{s.Cluster, s.successor}
}

func (s *Server) dialNodes(c *cluster.Cluster) error {
	for _, name := range c.RedisNodes() {
		socket, err := c.Socket(name)
		if err != nil {
			return err
		}
		admin, err := resp.Dial(socket, &s.Silence)
		if err != nil {
			return err
		}
		if c == s.successor {
			name = "heir " + name
		}
		s.Names, s.sockets, s.admin = append(s.Names, name), append(s.sockets, socket), append(s.admin, admin)
		// so that values can be read in a DUMP
		if _, err := s.Ask(len(s.admin)-1, "CONFIG", "SET", "rdbcompression", "no"); err != nil {
			return err
		}
	}
	return nil
}

// Ask sends one command to a node.
func (s *Server) Ask(node int, args ...string) ([]byte, error) {
	reply, err := s.admin[node].Ask(resp.Request(args...), 1)
	if err == nil && reply[0] == '-' {
		err = fmt.Errorf("explore: %s refused %s: %s", s.Names[node], args[0], resp.ReplyText(reply))
	}
	return reply, err
}

// HasCommand reports whether the server has a command.
func (s *Server) HasCommand(name string) bool {
	reply, err := s.Ask(s.Primary, "COMMAND", "INFO", name)
	return err == nil && !strings.HasPrefix(string(reply), "*1\r\n*-1") &&
		!strings.HasPrefix(string(reply), "*1\r\n$-1")
}

func (s *Server) askAll(node int, requests []byte, n int) (replies [][]byte, err error) {
	all, err := s.admin[node].Ask(requests, n)
	if err != nil {
		return nil, err
	}
	replies = resp.Split(all)
	for _, reply := range replies {
		if reply[0] == '-' {
			return nil, fmt.Errorf("explore: %s refused a command of the explorer's own: %s", s.Names[node],
				resp.ReplyText(reply))
		}
	}
	return replies, nil
}

// list runs a script that returns a list, and returns the elements as replies.
func (s *Server) list(node int, script string, args ...string) ([][]byte, error) {
	reply, err := s.Ask(node, append([]string{"EVAL", script, "0"}, args...)...)
	if err != nil {
		return nil, err
	}
	return resp.Elements(reply), nil
}

// DialNode connects to a node.
func (s *Server) DialNode(node int) (*resp.Conn, error) {
	return resp.Dial(s.sockets[node], &s.Silence)
}

// Kill makes a node close the connection with that ID, which may be closed already.
func (s *Server) Kill(node int, id string) error {
	_, err := s.admin[node].Ask(resp.Request("CLIENT", "KILL", "ID", id), 1)
	return err
}

// flushDB empties the node between schedules. It takes a third of the time of FLUSHALL, and clients use only database
// 0.
var flushDB = resp.Request("FLUSHDB")

// Reset restores what a schedule begins with: no keys, the first primary, and a cache with all scripts seen so far.
func (s *Server) Reset() error {
	if err := s.resumeIfStopped(); err != nil {
		return err
	}
	s.missedTime = 0
	if !s.clean || s.Primary != FirstPrimary {
		if _, err := s.admin[FirstPrimary].Ask(flushDB, 1); err != nil {
			return err
		}
	}
	s.clean = false
	s.SetTime(0)
	if s.Primary != FirstPrimary {
		s.Primary = FirstPrimary
		s.closeWitnesses()
	}
	if err := s.restoreSettings(); err != nil {
		return err
	}
	if !s.Flushed {
		return nil
	}
	for _, hash := range s.Scripts.Hashes() {
		if _, err := s.Ask(FirstPrimary, "SCRIPT", "LOAD", s.Scripts.TextOf(hash)); err != nil {
			return err
		}
	}
	s.Flushed = false
	return nil
}

// NoteWrites records that database 0 may no longer be empty. Call it before a command that may write.
func (s *Server) NoteWrites() { s.clean = false }

// SetsClocks reports whether the servers' clocks can be set. If not, WhyNoClock says why.
func (s *Server) SetsClocks() bool { return s.fixed != nil }

// HeldKeys lists the keys that the lagging replica had when replication stopped.
func (s *Server) HeldKeys() []keyspace.Key { return s.lagging.keys }

// Flush empties the script cache.
func (s *Server) Flush() error {
	s.Flushed = true
	_, err := s.Ask(s.Primary, "SCRIPT", "FLUSH")
	return err
}

// Post sends a request on a connection to a node and returns when Redis has read the request. To find out, it awaits
// the answer to a PING on another connection: Redis reads in the order in which bytes arrive. The answer to the request
// may come later.
func (s *Server) Post(to *resp.Conn, node int, request []byte) error {
	if err := to.Post(request); err != nil {
		return err
	}
	_, err := s.Ask(node, "PING")
	return err
}
