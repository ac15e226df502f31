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

	// noteOutcome records whether the outcome of a connection's next command can be known from the state of the schedule.
	// It is called before the command is sent, lost or given up.
	noteOutcome(*command.Pending)

	// send sends an actor's next command to Redis and returns what the actor reads. blocks is true if Redis holds the
	// command back, so that there is no answer yet.
	send(a *actor) (event model.Event, blocks bool, err error)

	// sendUnanswered sends an actor's next command and loses its answer.
	sendUnanswered(a *actor) error

	// drop loses an actor's next command: Redis never gets it.
	drop(a *actor)

	// endWait ends an actor's wait and lets the actor run until it waits again. endedOp is true if an operation ended.
	endWait(c interleave.Choice, a *actor) (endedOp bool, err error)

	// withWoken returns access, which is what a command touches, plus what those blocked commands touch that the command
	// wakes.
	withWoken(access command.Access) command.Access

	// waitAccess returns what a client's blocked commands and subscriptions touch.
	waitAccess(client int) command.Access

	// giveUp makes an actor's next command a late one, and returns what the actor reads instead of an answer. If the
	// command is lost with its primary, late.arrived is true.
	giveUp(a *actor) (late lateCommand, event model.Event, err error)

	// execute executes a late command.
	execute(*lateCommand) error

	// change applies a choice to Redis: a step of a failover, or a script flush.
	change(interleave.Choice) error

	// endStep collects what the step has caused on other connections.
	endStep() error

	// noteLeases compares the leases that keys got from the operations in ended with the leases that these operations
	// asked for. It writes differences into the trace.
	noteLeases(c interleave.Choice, ended []harness.Op) error

	// setTime makes Redis show the schedule's time, after a reading of a clock.
	setTime()

	// passTime makes Redis notice that time has passed.
	passTime(from, to time.Duration) error

	// keyEnds lists when keys expire.
	keyEnds() ([]keyspace.End, error)

	// namedInstants lists the instants that are written in stored values.
	namedInstants() ([]time.Duration, error)

	// probe runs look, which calls Program.Observe or Program.Finally. firstEvent says which, and after which operation.
	probe(ctx context.Context, firstEvent model.Event, look func(context.Context, *live)) error

	// fingerprintAfter returns the fingerprint that the schedule would have after a choice; 0: unknown.
	fingerprintAfter(interleave.Choice) uint64

	// hasState reports whether everything is known that decides how the schedule goes on. If so, describe appends the
	// backend's part of it, to be hashed.
	hasState() (bool, error)
	describe([]byte) []byte

	// hasRealClients is true for live. Its clients are goroutines with connections, which have to be brought to an end if
	// a schedule stops early.
	hasRealClients() bool
}

var (
	_ backend = (*live)(nil)
	_ backend = (*recalled)(nil)
)
