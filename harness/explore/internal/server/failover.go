package server

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
)

// This file promotes a replica that lags.
//
// Making a promoted node a replica again takes a full synchronisation, as long as a hundred steps. So the replica is
// not promoted itself. Another primary, the successor, gets what the replica holds, and clients continue there.

// Nodes of a server, by number. A server without replicas has only the first. A server without failovers has the first
// three.
const (
	FirstPrimary = iota
	Lagging      // a replica of FirstPrimary. It gets nothing once replication has stopped
	Bystander    // the other replica. It gets everything; once replication has stopped, it alone acknowledges a WAIT
	Successor    // the primary after a promotion
	follower     // the replica of Successor, if clients wait for acknowledgements
)

// replicaData is the content of a replica.
type replicaData struct {
	keys      []keyspace.Key
	functions string // in the format of FUNCTION DUMP
}

// AckWithinMillis is how long a replica may take to acknowledge, in milliseconds: far more than it needs.
const AckWithinMillis = "2000"

// replicateAll waits until both replicas have acknowledged everything so far. It begins with a write, since WAIT counts
// from the last write of its own connection.
var replicateAll = slices.Concat(resp.Request("SET", "{doublegrant}", ""), resp.Request("DEL", "{doublegrant}"),
	resp.Request("WAIT", "2", AckWithinMillis))

// StopReplication waits until both replicas have everything. From then on the lagging replica gets nothing.
func (s *Server) StopReplication() error {
	replies, err := s.askAll(FirstPrimary, replicateAll, 3)
	if err != nil {
		return err
	}
	if n, err := resp.Integer(replies[2]); err != nil || n < 2 {
		return errors.Join(err, fmt.Errorf("explore: only %d of 2 replicas have heard everything", n))
	}
	if s.lagging.keys, err = s.StoredKeys(Lagging); err != nil {
		return err
	}
	reply, err := s.Ask(Lagging, "FUNCTION", "DUMP")
	if err != nil {
		return err
	}
	if s.lagging.functions, err = resp.Text(reply); err != nil {
		return err
	}
	s.resumeReplication, err = s.Cluster.Impair(
		harness.Between([]string{s.Names[Lagging]}, []string{s.Names[FirstPrimary]}), harness.Withhold())
	return err
}

// resumeIfStopped resumes replication, if it was stopped.
func (s *Server) resumeIfStopped() error {
	if s.resumeReplication == nil {
		return nil
	}
	err := s.resumeReplication()
	s.resumeReplication = nil
	return err
}

// Promote copies the lagging replica's content to the successor. The successor's script cache is empty, like that of
// any new primary. RESTORE drops a key in its last millisecond, so the servers' clocks are set back meanwhile.
func (s *Server) Promote(now time.Duration) error {
	s.SetTime(0)
	defer s.SetTime(now)
	all := slices.Concat(resp.Request("SCRIPT", "FLUSH"), flushDB,
		resp.Request("FUNCTION", "RESTORE", s.lagging.functions, "FLUSH"))
	for _, k := range s.lagging.keys {
		end := "0"
		if k.End != keyspace.NoEnd {
			end = strconv.FormatInt(keyspace.Epoch.Add(k.End).UnixMilli(), 10)
		}
		all = append(all, resp.Request("RESTORE", k.Name, end, k.Dump, "ABSTTL")...)
	}
	if _, err := s.askAll(Successor, all, 3+len(s.lagging.keys)); err != nil {
		return err
	}
	s.Primary = Successor
	s.closeWitnesses()
	if s.missedTime > 0 { // the successor's keys age by the time that passed since replication stopped
		if err := s.ageKeys(s.missedTime); err != nil {
			return err
		}
	}
	return s.resumeIfStopped()
}

// HearingReplicas returns the number of replicas that now get what is written to the primary.
func (s *Server) HearingReplicas() int64 {
	return s.Followers(s.resumeReplication != nil, s.Primary != FirstPrimary)
}

// Followers returns the number of replicas that get what is written to the primary. The parameter stopped says whether
// replication to the lagging replica is stopped. The parameter promoted says whether the successor is the primary.
func (s *Server) Followers(stopped, promoted bool) int64 {
	switch {
	case len(s.Names) == 1:
		return 0
	case stopped:
		return 1 // the bystander
	case !promoted:
		return 2
	case s.awaitsAcks:
		return 1 // the follower
	}
	return 0
}
