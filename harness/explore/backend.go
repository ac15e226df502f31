package explore

import (
	"context"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// backend carries out what a schedule says: with real clients and a real Redis (live), or from what earlier schedules
// showed (recalled). The budget, time, history and possible moves belong to the schedule and are the same for both.
type backend interface {
	// notify gives an actor something to read or notice, and lets it run until it waits again.
	notify(a *actor, event model.Event) error

	// crash notifies all threads of a client that it has crashed.
	crash(client int) error

	// noteOutcome records whether the state of the schedule decides the outcome of a connection's next command. Call it
	// before the command is sent, lost or given up.
	noteOutcome(*command.Pending)

	// send sends an actor's next command to Redis and returns what the actor reads. It also reports whether Redis
	// blocks the command, so that there is no answer yet.
	send(a *actor) (event model.Event, blocks bool, err error)

	// sendUnanswered sends an actor's next command and loses its answer.
	sendUnanswered(a *actor) error

	// drop loses an actor's next command: Redis never gets it.
	drop(a *actor)

	// endWait ends an actor's wait and lets the actor run until it waits again. The choice c may say that the awaited
	// answer is lost. The result endedOp is true if an operation ended.
	endWait(c interleave.Choice, a *actor) (endedOp bool, err error)

	// withWoken gets what a command touches, and adds what is touched by the blocked commands that it wakes.
	withWoken(access command.Access) command.Access

	// waitAccess returns what a client's blocked commands and subscriptions touch.
	waitAccess(client int) command.Access

	// giveUp lets an actor go on without an answer to its next command, which becomes a late command. The result event
	// is what the actor reads instead of the answer. late.arrived is true if the command was lost with its primary, so
	// that it is never executed.
	giveUp(a *actor) (late lateCommand, event model.Event, err error)

	execute(*lateCommand) error

	// change applies a choice to Redis: a step of a failover, or a script flush.
	change(interleave.Choice) error

	// endStep collects what the step has caused on other connections.
	endStep() error

	// noteLeases compares the leases that operations asked for with the leases that keys got, and writes differences
	// into the trace. It is called after the step of choice c, with the operations that ended in this step.
	noteLeases(c interleave.Choice, ended []harness.Op) error

	// setTime sets Redis's clock to the schedule's time, which a reading of a clock has just moved on.
	setTime()

	// passTime lets time pass in Redis, from one virtual time to another.
	passTime(from, to time.Duration) error

	// keyEnds lists when keys expire.
	keyEnds() ([]keyspace.End, error)

	// namedInstants lists the instants that are written in stored values.
	namedInstants() ([]time.Duration, error)

	// probe runs the function look, which calls Program.Observe or Program.Finally. firstEvent says which of the two,
	// and for Observe after which operation. In a schedule from memory, the function is not run: what it did before is
	// repeated.
	probe(ctx context.Context, firstEvent model.Event, look func(context.Context, *live)) error

	// fingerprintAfter returns the fingerprint (see execution.fingerprint) that the schedule would have after a choice;
	// 0: unknown.
	fingerprintAfter(interleave.Choice) uint64

	// hasState reports whether everything that decides how the schedule goes on is known, so that the schedule's state
	// can be looked up among those of other schedules. If so, describe appends the backend's part of this state.
	hasState() (bool, error)
	describe([]byte) []byte

	// hasRealClients is true for live: clients are goroutines with connections, which have to be brought to an end if a
	// schedule stops early.
	hasRealClients() bool
}

var (
	_ backend = (*live)(nil)
	_ backend = (*recalled)(nil)
)
