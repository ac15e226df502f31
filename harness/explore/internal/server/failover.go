package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
)

// This file promotes a replica that has not heard everything.
//
// Redis takes a whole synchronisation to make a promoted node a replica again, as long as a hundred steps. So the
// replica stays one. A primary of its own, the successor, gets what the replica holds, and clients go on there.

// Nodes of a server by their number. One without replicas has the first alone, one without failovers the first three.
const (
	FirstPrimary = iota
	Lagging      // its replica that hears nothing once replication has stopped
	Bystander    // its replica that hears everything, whose acknowledgement is all that WAIT 1 gets meanwhile
	Successor    // the primary after a promotion
	follower     // its replica, where clients wait for acknowledgements
)

// newHeirs makes the successor, and its replica if it is to have one.
func newHeirs(acknowledge bool, o cluster.Options) *cluster.Cluster {
	if acknowledge {
		return cluster.Masters(2, o) // joinHeirs makes the second a replica
	}
	return cluster.Masters(1, o)
}

// joinHeirs makes the follower, if there is one, a replica of the successor.
func (s *Server) joinHeirs(ctx context.Context) error {
	if s.heirs == nil || !s.awaitsAcks {
		return nil
	}
	names := s.heirs.RedisNodes()
	if err := s.heirs.Follow(ctx, names[1], names[0]); err != nil {
		return err
	}
	return s.heirs.AwaitReplicas(ctx, names[0], names[1])
}

// heldData is what a replica holds.
type heldData struct {
	keys      []keyspace.Key
	functions string // as FUNCTION DUMP writes them
}

// SettleWithin is the time in milliseconds that a replica has to acknowledge what it hears: far more than it needs.
const SettleWithin = "2000"

// settle has both replicas hear everything so far. WAIT counts from the last write of its own connection.
var settle = slices.Concat(resp.Request("SET", "{doublegrant}", ""), resp.Request("DEL", "{doublegrant}"),
	resp.Request("WAIT", "2", SettleWithin))

// StopReplication waits until the replicas have heard everything so far. From then on the one that may be promoted
// hears nothing.
func (s *Server) StopReplication() error {
	replies, err := s.askAll(FirstPrimary, settle, 3)
	if err != nil {
		return err
	}
	if n, err := resp.Integer(replies[2]); err != nil || n < 2 {
		return errors.Join(err, fmt.Errorf("explore: only %d of 2 replicas have heard everything", n))
	}
	if s.held.keys, err = s.StoredKeys(Lagging); err != nil {
		return err
	}
	reply, err := s.Ask(Lagging, "FUNCTION", "DUMP")
	if err != nil {
		return err
	}
	functions, _, err := resp.Bulk(reply)
	if err != nil {
		return err
	}
	s.held.functions = string(functions)
	s.resumeReplication, err = s.Cluster.Impair(
		harness.Between([]string{s.Names[Lagging]}, []string{s.Names[FirstPrimary]}), harness.Withhold())
	return err
}

// resumeIfStopped lets the replica that hears nothing, if there is one, hear its primary again.
func (s *Server) resumeIfStopped() error {
	if s.resumeReplication == nil {
		return nil
	}
	err := s.resumeReplication()
	s.resumeReplication = nil
	return err
}

// Promote gives the successor what the replica that hears nothing holds. Its script cache is empty, as that of every
// new primary. RESTORE drops a key that is in its last millisecond, so the servers' clocks go back for it.
func (s *Server) Promote(now time.Duration) error {
	s.SetTime(0)
	defer s.SetTime(now)
	all := slices.Concat(resp.Request("SCRIPT", "FLUSH"), flushDB,
		resp.Request("FUNCTION", "RESTORE", s.held.functions, "FLUSH"))
	for _, k := range s.held.keys {
		end := "0"
		if k.End != keyspace.NoEnd {
			end = strconv.FormatInt(keyspace.Epoch.Add(k.End).UnixMilli(), 10)
		}
		all = append(all, resp.Request("RESTORE", k.Name, end, k.Dump, "ABSTTL")...)
	}
	if _, err := s.askAll(Successor, all, 3+len(s.held.keys)); err != nil {
		return err
	}
	s.Primary = Successor
	s.closeWitnesses()
	if s.unheard > 0 { // keys of this replica age by the time that it did not hear of
		if err := s.ageKeys(s.unheard); err != nil {
			return err
		}
	}
	return s.resumeIfStopped()
}

// HearingReplicas returns the number of replicas that hear what is written now.
func (s *Server) HearingReplicas() int64 {
	return s.Hearing(s.resumeReplication != nil, s.Primary != FirstPrimary)
}

// Hearing returns the number of replicas that hear what is written while replication is stopped, after a promotion, or
// before both.
func (s *Server) Hearing(stopped, promoted bool) int64 {
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
