package explore

import (
	"slices"

	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
)

// This file tells which actors can take a step.

const (
	// maxEarlyWakes bounds the waits of one schedule that time out although other actors could run. Without it, a
	// watchdog that renews a lease for ever beside an idle client would never let a schedule end.
	maxEarlyWakes = 1

	// maxIdleLeases bounds, in leases, how long clients may go on waiting while no operation ends. After that a waiting
	// client counts as waiting for ever.
	maxIdleLeases = 4
)

// readiness is when an actor can take its next step.
type readiness uint8

const (
	blocked readiness = iota // the actor can go on after a step of another actor
	byTime                   // the actor can go on after a step of another actor, or when time passes
	ready                    // the actor can go on now, or sleeps in an operation and its client has one thread
)

// readiness returns when an actor can take its next step.
func (ex *execution) readiness(a *actor) readiness {
	switch {
	case a.done:
		return blocked
	case a.subscriptionConn != nil:
		return readyIf(len(a.subscriptionConn.Queue) > 0)
	}
	switch at := a.parkedAt; {
	case at.Kind == model.InMemory:
		return blocked
	case at.Kind == model.InJoin:
		return readyIf(at.thread.done)
	case at.Kind == model.InNap && (at.isCancelled() || ex.isUp(a)),
		at.waitsForRedis() && at.conn.hasArrived(), at.isStopped():
		return ready
	case at.Kind == model.InNap, at.waitsForRedis() && !ex.isUp(a):
		return byTime
	case at.waitsForRedis():
		return readyIf(a.wakeAt > 0) // its time-out has passed
	}
	return ready
}

// isUp reports whether the time for which an actor waits has come. It compares milliseconds: the microseconds that
// steps take should not decide which of two waits ends first.
func (ex *execution) isUp(a *actor) bool { return a.wakeAt.Truncate(keyspace.Grain) <= ex.now }

func readyIf(yes bool) readiness {
	if yes {
		return ready
	}
	return blocked
}

// waitsForRedis reports whether the actor waits for an answer that Redis may send at any time.
func (p parked) waitsForRedis() bool {
	return p.conn != nil && (p.Kind == model.InRead || p.conn.blockedID != "")
}

// hasArrived reports whether there is something for the waiting client: an answer, a message or an error.
func (c *conn) hasArrived() bool {
	return c.failed != nil || len(c.inbox) > 0
}

// ableActors lists the actors that can take a step, in the order in which they started. Those that first need time to
// pass are at the end.
func (ex *execution) ableActors() (out []*actor) {
	var waiting []*actor
	for _, a := range ex.all {
		switch ex.readiness(a) {
		case ready:
			out = append(out, a)
		case byTime:
			waiting = append(waiting, a)
		}
	}
	if len(waiting) == 0 || ex.clientsDone() || ex.idleFor >= maxIdleLeases*ex.spec.Program.Lease {
		return out
	}
	for _, a := range waiting {
		if ex.earlyWakes < maxEarlyWakes || !ex.wakesEarly(a) {
			out = append(out, a)
		} else {
			ex.WakesCut = true
		}
	}
	return out
}

// clientsDone reports whether every client's first thread is done. After that, the schedule lets no time pass for the
// waits of other threads.
func (ex *execution) clientsDone() bool {
	return !slices.ContainsFunc(ex.actors, func(a *actor) bool { return !a.done })
}

// wakesEarly reports whether an actor's wait would time out although another actor can take a step now, or wakes
// earlier.
func (ex *execution) wakesEarly(a *actor) bool {
	for _, b := range ex.all {
		switch ex.readiness(b) {
		case ready:
			if b.wakeAt < a.wakeAt.Truncate(keyspace.Grain) || !b.parkedAt.sleepsLazily() {
				return true
			}
		case byTime:
			if b.wakeAt < a.wakeAt.Truncate(keyspace.Grain) {
				return true
			}
		}
	}
	return false
}

// sleepsLazily reports whether a sleeping actor wakes as a part of its next step, and not in a step of its own.
func (p parked) sleepsLazily() bool {
	return (p.Kind == model.InCommand || p.Kind == model.InSleep || p.Kind == model.InClock ||
		p.Kind == model.InMillis || p.Kind == model.InWork) && !p.waitsForRedis()
}

// waits reports whether the actor's next step is the end of a wait, and not a command, a clock reading or work.
func (a *actor) waits() bool {
	return a.subscriptionConn != nil || a.parkedAt.Kind == model.InStart || a.parkedAt.Kind == model.InJoin ||
		a.parkedAt.Kind == model.InNap || a.parkedAt.waitsForRedis()
}
