package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
)

// This file promotes a replica that has not heard everything.
//
// Redis takes a whole synchronisation to make a promoted node a replica again, as long as a hundred steps. So the replica stays
// one. A primary of its own, the successor, gets what the replica holds, and clients go on there.

// Nodes of a world by their number. One without replicas has the first alone, one without failovers the first three.
const (
	firstPrimary = iota
	lagging      // its replica that hears nothing once replication has stopped
	bystander    // its replica that hears everything, whose acknowledgement is all that WAIT 1 gets meanwhile
	successor    // the primary after a promotion
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
func (w *world) joinHeirs(ctx context.Context) error {
	if w.heirs == nil || !w.awaitsAcks {
		return nil
	}
	names := w.heirs.RedisNodes()
	if err := w.heirs.Follow(ctx, names[1], names[0]); err != nil {
		return err
	}
	return w.heirs.AwaitReplicas(ctx, names[0], names[1])
}

// heldData is what a replica holds.
type heldData struct {
	keys      []storedKey
	functions string // as FUNCTION DUMP writes them
}

// settleWithin is the time in milliseconds that a replica has to acknowledge what it hears: far more than it needs.
const settleWithin = "2000"

// settle has both replicas hear everything so far. WAIT counts from the last write of its own connection.
var settle = slices.Concat(request("SET", "{doublegrant}", ""), request("DEL", "{doublegrant}"), request("WAIT", "2", settleWithin))

// stopReplication waits until the replicas have heard everything so far. From then on the one that may be promoted hears
// nothing.
func (w *world) stopReplication() error {
	replies, err := w.askAll(firstPrimary, settle, 3)
	if err != nil {
		return err
	}
	if n, err := integer(replies[2]); err != nil || n < 2 {
		return errors.Join(err, fmt.Errorf("explore: only %d of 2 replicas have heard everything", n))
	}
	if w.held.keys, err = w.storedKeys(lagging); err != nil {
		return err
	}
	reply, err := w.ask(lagging, "FUNCTION", "DUMP")
	if err != nil {
		return err
	}
	functions, _, err := bulk(reply)
	if err != nil {
		return err
	}
	w.held.functions = string(functions)
	w.resumeReplication, err = w.cluster.Impair(harness.Between([]string{w.names[lagging]}, []string{w.names[firstPrimary]}), harness.Withhold())
	return err
}

// resumeIfStopped lets the replica that hears nothing, if there is one, hear its primary again.
func (w *world) resumeIfStopped() error {
	if w.resumeReplication == nil {
		return nil
	}
	err := w.resumeReplication()
	w.resumeReplication = nil
	return err
}

// promote gives the successor what the replica that hears nothing holds. Its script cache is empty, as that of every new primary.
// RESTORE drops a key that is in its last millisecond, so the servers' clocks go back for it.
func (w *world) promote(now time.Duration) error {
	w.setTime(0)
	defer w.setTime(now)
	all := slices.Concat(request("SCRIPT", "FLUSH"), flushDB, request("FUNCTION", "RESTORE", w.held.functions, "FLUSH"))
	for _, k := range w.held.keys {
		end := "0"
		if k.end != noKeyEnd {
			end = strconv.FormatInt(epoch.Add(k.end).UnixMilli(), 10)
		}
		all = append(all, request("RESTORE", k.name, end, k.dump, "ABSTTL")...)
	}
	if _, err := w.askAll(successor, all, 3+len(w.held.keys)); err != nil {
		return err
	}
	w.primary = successor
	w.closeWitnesses()
	if w.unheard > 0 { // keys of this replica age by the time that it did not hear of
		if err := w.ageKeys(w.unheard); err != nil {
			return err
		}
	}
	return w.resumeIfStopped()
}

// hearingReplicas returns the number of replicas that hear what is written now.
func (w *world) hearingReplicas() int64 {
	return w.hearing(w.resumeReplication != nil, w.primary != firstPrimary)
}

// hearingReplicas does the same in the course of a schedule, whether it is really run or from memory.
func (ex *execution) hearingReplicas() int64 { return ex.w.hearing(ex.replicationStopped, ex.promoted) }

// hearing returns the number of replicas that hear what is written while replication is stopped, after a promotion, or before both.
func (w *world) hearing(stopped, promoted bool) int64 {
	switch {
	case len(w.names) == 1:
		return 0
	case stopped:
		return 1 // the bystander
	case !promoted:
		return 2
	case w.awaitsAcks:
		return 1 // the follower
	}
	return 0
}
