package explore

import (
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file lets time pass in a schedule and reads its clocks.

// timeMoves lists the moves in which time passes. Time does not pass twice in a row, since it could have passed to the
// second instant at once.
func (ex *execution) timeMoves() (out []schedule.Move, err error) {
	if ex.remaining.Expiries == 0 && ex.remaining.Approaches == 0 || len(ex.path) == 0 ||
		ex.path[len(ex.path)-1].IsTime() {
		return nil, nil
	}
	if ex.spec.Program.Timeless && !ex.TTLSet && !ex.ClockRead {
		return nil, nil
	}
	instants, err := ex.Instants()
	for _, t := range instants {
		if t.BeyondEnd && ex.remaining.Expiries > 0 || !t.BeyondEnd && ex.remaining.Approaches > 0 {
			out = append(out, schedule.Move{Choice: t.Choice, Cost: 1, World: true})
		}
	}
	return out, err
}

// Instants lists the instants to which time can pass. These include fineInstants if the next step of some actor reads a
// clock or a TTL.
func (ex *execution) Instants() ([]schedule.Instant, error) {
	instants, err := ex.reachableInstants()
	if err != nil {
		return nil, err
	}
	var clock, ttl bool
	for _, a := range ex.ableActors() {
		seesClock, seesTTL := ex.readsTime(a)
		clock, ttl = clock || seesClock, ttl || seesTTL
	}
	if !clock && !ttl {
		return instants, nil
	}
	ex.TellsTime = true
	fine, err := ex.fineInstants()
	switch ends, err := ex.leaseEnds(); {
	case err != nil:
		return nil, err
	case !clock && len(ends) == 0: // no lease is there to ask about
		return instants, nil
	case !clock: // a TTL says nothing about deadlines in values
		fine = slices.DeleteFunc(fine, func(t schedule.Instant) bool { return t.BeyondEnd })
	}
	return append(instants, fine...), err
}

// readsTime reports whether an actor's next step depends on the time of day, or on a remaining TTL.
func (ex *execution) readsTime(a *actor) (clock, ttl bool) {
	switch {
	case a.waits():
		return false, false
	case a.parkedAt.Kind == model.InClock, a.parkedAt.Kind == model.InMillis:
		return true, false
	case a.parkedAt.Kind == model.InCommand:
		next, on := a.parkedAt.Pending.Next(), a.parkedAt.Pending
		return ex.readsClock(next, on), ex.asksTTL(next, on)
	}
	return false, false
}

// passToInstant lets time pass to the instant of a choice. It reports whether a lease ends on the way.
func (ex *execution) passToInstant(c interleave.Choice) (ends bool, err error) {
	list := ex.reachableInstants
	if c.Kind() == interleave.PassesFine {
		list = ex.fineInstants
	}
	instants, err := list()
	if err != nil {
		return false, err
	}
	n := c.Number()
	if n >= len(instants) {
		return false, fmt.Errorf("%w: there is no instant %d to which time could pass", schedule.ErrNotRepeated, n+1)
	}
	t := instants[n]
	if ends, err = ex.leaseEndsBefore(t.At.Truncate(keyspace.Grain)); err != nil {
		return false, err
	}
	if ex.trace != nil {
		if err := ex.tracePassing(t); err != nil {
			return false, err
		}
	}
	if t.BeyondEnd {
		ex.remaining.Expiries--
	} else {
		ex.remaining.Approaches--
	}
	ex.Expired = ex.Expired || ends
	return ends, ex.passTo(t.At)
}

// tracePassing writes into the trace how much time passes and which keys end.
func (ex *execution) tracePassing(t schedule.Instant) error {
	ends, err := ex.backend.keyEnds()
	if err != nil {
		return err
	}
	var ended, aboutToEnd []string
	timeLeft := ""
	for _, e := range ends {
		switch {
		case keyspace.HasEnded(e.At, ex.now):
		case keyspace.HasEnded(e.At, t.At):
			ended = append(ended, e.Key)
		case keyspace.HasEnded(e.At, t.At+2*keyspace.Grain):
			timeLeft = fmt.Sprintf("%v remains of", e.At-t.At.Truncate(keyspace.Grain))
			aboutToEnd = append(aboutToEnd, e.Key)
		}
	}
	ex.trace.Passed(t.At-ex.now, ended, timeLeft, aboutToEnd)
	return nil
}

// passTo lets time pass to an instant of the schedule.
func (ex *execution) passTo(t time.Duration) error {
	if t <= ex.now {
		return nil
	}
	from := ex.now
	ex.now = t
	return ex.backend.passTime(from, t)
}

// nextMillisecond returns the middle of the next millisecond.
func (ex *execution) nextMillisecond() time.Duration { return middleOf(ex.now + keyspace.Grain) }

// tickClock moves time on by a tick, for one reading of a clock.
func (ex *execution) tickClock() {
	ex.now += tick
	ex.backend.setTime()
}

// readClientClock returns the reading of an actor's clock.
func (ex *execution) readClientClock(a *actor) time.Duration {
	ex.ClockRead = true
	if a.parkedAt.Kind == model.InMillis {
		at := ex.clock(a.index)
		// the clock may show a time before virtual time 0
		return (at + 24*time.Hour).Truncate(keyspace.Grain) - 24*time.Hour
	}
	ex.tickClock()
	return ex.clock(a.index)
}

// readServerClock moves time on by a tick if the command that is about to be executed reads the time of day.
func (ex *execution) readServerClock(c *command.Command, on *command.Pending) {
	if ex.readsClock(c, on) {
		ex.tickClock()
	}
}

// readsClock reports whether the outcome of a command, or of the transaction that it executes, depends on the exact
// time of day.
func (ex *execution) readsClock(c *command.Command, on *command.Pending) bool {
	if c.Meaning != nil { // computed before
		return c.Meaning.Exact
	}
	return ex.anyCommand(c, on, ex.w.Scripts.ReadsClock)
}

// anyCommand reports whether a command passes the given test or, if it is an EXEC, whether a command of its transaction
// does.
func (ex *execution) anyCommand(c *command.Command, on *command.Pending, matches func(args [][]byte) bool) bool {
	return matches(c.Args) ||
		command.Name(c.Args) == "exec" && slices.ContainsFunc(resp.ParseAll(on.OpenTransaction()), matches)
}

// clock returns the virtual time on a client's clock. The clock of the last client is ahead by Spec.Skew.
func (ex *execution) clock(client int) time.Duration {
	if client == ex.budget.Clients-1 {
		return ex.now + ex.spec.Skew
	}
	return ex.now
}
