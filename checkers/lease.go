package checkers

import (
	"math"
	"strconv"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// forever is the end of a lease or window that never ends.
const forever = harness.Forever

// formatTime writes a time on the run's clock for a note. Times above a millisecond are rounded to the microsecond.
func formatTime(t time.Duration) string {
	switch {
	case t == forever:
		return "the end"
	case t > time.Millisecond:
		t = t.Round(time.Microsecond)
	}
	return t.String()
}

// formatOrdered writes times for a note in which their order matters. Times that differ look different, even if they
// are the same microsecond.
func formatOrdered(times ...time.Duration) []any {
	format := formatTime
	for i, t := range times {
		for _, other := range times[:i] {
			if t != other && formatTime(t) == formatTime(other) {
				format = exactTime
			}
		}
	}
	var all []any
	for _, t := range times {
		all = append(all, format(t))
	}
	return all
}

// exactTime writes a time on the run's clock to the nanosecond.
func exactTime(t time.Duration) string {
	if t == forever {
		return formatTime(t)
	}
	return t.String()
}

// leaseOver returns the latest time at which a lease or window that op asked for can end. It allows for the same clock
// errors as [harness.EarliestEnd]. It assumes that the server starts the lease at op.Return at the latest. An op in
// info may be executed later, so the caller has to know that the server executed it by op.Return or never will. A TTL
// of 0 never ends.
func leaseOver(op harness.Op, drift float64) time.Duration {
	length := float64(op.TTL) * (1 + drift)
	if op.TTL == 0 || length >= float64(forever-op.Return) {
		return forever
	}
	return op.Return + time.Duration(math.Ceil(length))
}

// lastKept returns the last instant at which a server may still keep a lease or window that op asked for. Like
// leaseOver it assumes that an op in info was executed by its Return or never will be. Redis counts in whole
// milliseconds and keeps a key until its last millisecond has passed, so the key may live up to a millisecond longer
// than its TTL. Redis has no TTL below a millisecond, so nothing is added to such a TTL.
func lastKept(op harness.Op, drift float64) time.Duration {
	if op.TTL < time.Millisecond || op.TTL == forever {
		return leaseOver(op, drift)
	}
	op.TTL += min(time.Millisecond, forever-op.TTL)
	if over := leaseOver(op, drift); over < forever {
		return over - 1
	}
	return forever
}

// earliestEndOfTTL returns the earliest time at which a key can expire, given the remaining time (ttl) that a command
// returned for the key. The parameter call is the time at which the command was sent. A ttl of one millisecond may
// stand for less: a remaining time is never recorded as 0, which means that the key has no end.
func earliestEndOfTTL(call, ttl time.Duration, drift float64) time.Duration {
	if ttl == time.Millisecond {
		return call
	}
	return harness.EarliestEnd(call, ttl, drift)
}

// setsLease reports whether x, an operation on a lock, may have started a new lease for its owner.
func setsLease(x harness.Op) bool {
	return (x.Kind == harness.Acquire || x.Kind == harness.Extend) && x.Outcome != harness.Fail
}

// renewedUntil returns the earliest end that x, an acquire or extend, may give to the earlier holds of its owner. The
// server executes x after its Call, so the end is not before x.Call.
func renewedUntil(x harness.Op, drift float64) time.Duration {
	return max(x.Call, x.HeldUntil(drift))
}

// owner identifies the holder of a lock: a worker with one token. The client id alone does not suffice, since a worker
// changes its id after an operation that ended in info. The token alone does not suffice either, since some locks use
// one token for everybody.
type owner struct {
	worker int
	token  string
}

// clientName names a client in a note.
func clientName(client int) string {
	if client == harness.HarnessClient {
		return "the harness"
	}
	return "client " + strconv.Itoa(client)
}

func ownerOf(op harness.Op, meta harness.Meta) owner {
	return owner{worker: meta.Worker(op.Client), token: op.Arg}
}
