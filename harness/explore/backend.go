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

	// noteOutcome is called with a connection's next command before it is sent, lost or given up.
	noteOutcome(*command.Pending)

	// send sends an actor's next command to Redis and returns what the actor reads. blocks is true if Redis holds the
	// command back, so that there is no answer yet.
	send(a *actor) (event model.Event, blocks bool, err error)

	// sendUnanswered is send for an actor that gets no answer.
	sendUnanswered(a *actor) error

	// drop loses an actor's next command: Redis never gets it.
	drop(a *actor)

	// endWait ends an actor's wait and lets the actor run until it waits again. endedOp is true if an operation ended.
	endWait(c interleave.Choice, a *actor) (endedOp bool, err error)

	// withWoken extends a, which is what a command touches, by what the blocked commands touch that it would wake.
	withWoken(a command.Access) command.Access

	// waitAccess returns what a client's blocked commands and subscriptions touch.
	waitAccess(client int) command.Access

	// giveUp turns an actor's next command into a late one. If it is lost with its primary, it counts as arrived.
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

	// probe calls look, which reads the store for the program. began is the event that starts it.
	probe(ctx context.Context, began model.Event, look func(context.Context, *live)) error

	// fingerprintAfter returns the fingerprint that the schedule has after a choice; 0: not available.
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
