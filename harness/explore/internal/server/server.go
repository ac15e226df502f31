// Package server runs the Redis of one worker of a search: its nodes and their clocks, what is stored there, the
// promotion of a replica that has not heard everything.
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

// Server is the Redis of one worker: its nodes and their clocks, what is stored there, and what may happen to it. One
// goroutine uses it at a time.
type Server struct {
	Cluster           *cluster.Cluster // the first primary and its replicas
	heirs             *cluster.Cluster // the successor and its replica; nil without failovers
	Names             []string         // of the nodes, by number
	sockets           []string
	admin             []*resp.Conn       // the explorer's own connections, one to each node
	Primary           int                // number of the node that clients talk to
	resumeReplication func() error       // lets the replica hear its primary again; nil: it does
	held              heldData           // what that replica held when replication was stopped
	awaitsAcks        bool               // clients wait for acknowledgements: a replica follows a new primary
	witnesses         []*resp.Conn       // see WatchKeys
	monitors          map[int]*resp.Conn // by node: see WatchScripts
	marks             int                // see ScriptCalls
	clean             bool               // database 0 is empty
	Silence           resp.Silence       // of its nodes

	fixed      []*cluster.FixedClock // the servers' time of day, by cluster; nil: it cannot be set
	WhyNoClock string                // why it cannot be set; empty: it can
	unheard    time.Duration         // virtual time that passed since replication stopped; 0 if clocks can be set

	set     settings
	Scripts *command.Scripts // all that were seen
	Flushed bool             // the script cache was flushed and is to be filled again
}

// Options says what kind of server it is.
type Options struct {
	Binary   string            // path of redis-server; empty: the one that cluster.FindRedis finds
	Replicas bool              // it has replicas, also after a failover
	Failover bool              // a replica can be promoted that has not heard everything
	Titles   map[string]string // names of scripts, by their text
}

// Start starts a server. The caller calls Stop.
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

// start starts Redis, with clocks that can be set if there is a compiler to make them.
func (s *Server) start(ctx context.Context, o Options) error {
	for _, clocks := range []bool{true, false} {
		with := cluster.Options{RedisServer: o.Binary, Clocks: clocks}
		s.Cluster = cluster.Standalone(with)
		if o.Replicas || o.Failover {
			s.Cluster = cluster.Replicated(with)
		}
		if o.Failover {
			s.heirs = newHeirs(s.awaitsAcks, with)
		}
		all := s.clusters()
		err := cmp.Or(await.All(len(all), func(i int) error { // what one cluster lacks the other lacks as well
			return all[i].Start(ctx, harness.NewClock(), func(harness.Event) {}, slog.New(slog.DiscardHandler))
		})...)
		if err == nil {
			err = s.joinHeirs(ctx)
		}
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

// clusters lists the clusters of the server.
func (s *Server) clusters() []*cluster.Cluster {
	if s.heirs == nil {
		return []*cluster.Cluster{s.Cluster}
	}
	return []*cluster.Cluster{s.Cluster, s.heirs}
}

// dialNodes connects to each node of a cluster.
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
		if c == s.heirs {
			name = "heir " + name
		}
		s.Names, s.sockets, s.admin = append(s.Names, name), append(s.sockets, socket), append(s.admin, admin)
		// so that what is in a value can be read in its DUMP
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

// Knows reports whether the server has a command.
func (s *Server) Knows(name string) bool {
	reply, err := s.Ask(s.Primary, "COMMAND", "INFO", name)
	return err == nil && !strings.HasPrefix(string(reply), "*1\r\n*-1") &&
		!strings.HasPrefix(string(reply), "*1\r\n$-1")
}

// askAll sends several commands to a node, and returns the reply to each.
func (s *Server) askAll(node int, requests []byte, n int) (replies [][]byte, err error) {
	all, err := s.admin[node].Ask(requests, n)
	for len(all) > 0 && err == nil {
		size, _ := resp.ReplySize(all) // ask has measured it
		if all[0] == '-' {
			return nil, fmt.Errorf("explore: %s refused a command of the explorer's own: %s", s.Names[node],
				resp.ReplyText(all[:size]))
		}
		replies, all = append(replies, all[:size]), all[size:]
	}
	return replies, err
}

// list runs a script that lists something, and returns the elements of its reply, and how many there are.
func (s *Server) list(node int, script string, args ...string) (elements []byte, n int, err error) {
	reply, err := s.Ask(node, append([]string{"EVAL", script, "0"}, args...)...)
	if err != nil {
		return nil, 0, err
	}
	header, at := resp.Line(reply)
	n, err = resp.ArrayLength(header)
	return reply[at:], n, err
}

// DialNode connects to a node.
func (s *Server) DialNode(node int) (*resp.Conn, error) {
	return resp.Dial(s.sockets[node], &s.Silence)
}

// Kill ends a connection at a node by its id. It may be gone already.
func (s *Server) Kill(node int, id string) error {
	_, err := s.admin[node].Ask(resp.Request("CLIENT", "KILL", "ID", id), 1)
	return err
}

// flushDB empties the node between schedules. It takes a third of the time of FLUSHALL, and clients use database 0
// only.
var flushDB = resp.Request("FLUSHDB")

// Reset empties the server: no keys, the first primary, and in its cache the scripts that were seen so far.
func (s *Server) Reset() error {
	if err := s.resumeIfStopped(); err != nil {
		return err
	}
	s.unheard = 0
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

// NoteWrites notes that a command is sent which may write.
func (s *Server) NoteWrites() { s.clean = false }

// SetsClocks reports whether the servers' clocks can be set. If not, WhyNoClock says why.
func (s *Server) SetsClocks() bool { return s.fixed != nil }

// HeldKeys lists the keys that the replica held when replication was stopped.
func (s *Server) HeldKeys() []keyspace.Key { return s.held.keys }

// Flush empties the script cache.
func (s *Server) Flush() error {
	s.Flushed = true
	_, err := s.Ask(s.Primary, "SCRIPT", "FLUSH")
	return err
}

// Post sends a request on a connection to a node, which may answer when it likes, and returns when Redis has read it.
// Redis reads in the order in which bytes come in, so when it has answered the PING, it has read the request.
func (s *Server) Post(to *resp.Conn, node int, request []byte) error {
	if err := to.Post(request); err != nil {
		return err
	}
	_, err := s.Ask(node, "PING")
	return err
}
