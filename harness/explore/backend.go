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

	// withWoken returns what a command touches together with the blocked commands that it wakes. access is what the
	// command alone touches.
	withWoken(access command.Access) command.Access

	// waitAccess returns what a client's blocked commands and subscriptions touch.
	waitAccess(client int) command.Access

	// giveUp turns an actor's next command into a late one. A command that is lost with its primary counts as arrived.
	giveUp(a *actor) (late lateCommand, event model.Event, err error)

	// execute executes a late command.
	execute(*lateCommand) error

	// change applies a choice to Redis: a step of a failover, or a script flush.
	change(interleave.Choice) error

	// endStep collects what the step has caused on other connections.
	endStep() error

	// noteLeases writes into the trace how the leases that ended operations gave to keys differ from the leases they
	// asked for.
	noteLeases(c interleave.Choice, ended []harness.Op) error

	// setTime sets the time that Redis shows. passTime lets it pass.
	setTime()
	passTime(from, to time.Duration) error

	// keyEnds lists when keys expire.
	keyEnds() ([]keyspace.End, error)

	// namedInstants lists the instants that are written in stored values.
	namedInstants() ([]time.Duration, error)

	// probe calls look, which reads the store for the program. firstEvent is the event with which the look begins.
	probe(ctx context.Context, firstEvent model.Event, look func(context.Context, *live)) error

	// fingerprintAfter returns the fingerprint that the schedule would have after a choice; 0: not available.
	fingerprintAfter(interleave.Choice) uint64

	// hasState reports whether the state of the schedule is fully known. If it is, describe appends the backend's part
	// of its description.
	hasState() (bool, error)
	describe([]byte) []byte

	// hasRealClients reports whether clients have to be ended when a schedule is not run to its end.
	hasRealClients() bool
}

var (
	_ backend = (*live)(nil)
	_ backend = (*recalled)(nil)
)
