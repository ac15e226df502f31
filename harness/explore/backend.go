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

// backend makes happen what a schedule says: with real clients and a real Redis (live), or from what earlier schedules
// showed (recalled). All else is the schedule's own and the same for both: the budget, time, the history, what can
// happen next.
type backend interface {
	// tell lets an actor read or notice something, and go on until it waits again.
	tell(a *actor, heard model.Event) error

	// crash tells all threads of a client that it has crashed.
	crash(client int) error

	// noteOutcome is told of the next command of a connection, before it is sent, lost or given up.
	noteOutcome(*command.Pending)

	// send brings the next command of an actor to Redis, and returns what the actor hears. kept is true if Redis keeps
	// the command, so that there is no answer yet.
	send(a *actor) (heard model.Event, kept bool, err error)

	// sendUnanswered does the same, and the actor gets no answer.
	sendUnanswered(a *actor) error

	// drop keeps the next command of an actor from Redis, for good.
	drop(a *actor)

	// endWait ends the wait of an actor, which then goes on until it waits again. It reports whether an operation ended
	// with that.
	endWait(c interleave.Choice, a *actor) (endedOp bool, err error)

	// withWoken returns what a command touches together with the waiting commands that it may wake. a is what it
	// touches itself.
	withWoken(a command.Access) command.Access

	// waitAccess returns what the waits of a client touch.
	waitAccess(client int) command.Access

	// giveUp makes the next command of an actor one that may come late. One that is lost with its primary counts as
	// arrived.
	giveUp(a *actor) (left lateCommand, heard model.Event, err error)

	// execute executes a late command.
	execute(*lateCommand) error

	// change does to Redis what a choice says: a step of a failover, or a script flush.
	change(interleave.Choice) error

	// endStep notes what a step has brought about elsewhere.
	endStep() error

	// noteLeases tells, where steps are written down, how the leases that a client's operations gave keys differ from
	// those they asked for.
	noteLeases(c interleave.Choice, ended []harness.Op) error

	// setTime sets the time that Redis shows, passTime lets it pass.
	setTime()
	passTime(from, to time.Duration) error

	// keyEnds lists the ends of keys.
	keyEnds() ([]keyspace.End, error)

	// namedInstants lists the instants that stored values name.
	namedInstants() ([]time.Duration, error)

	// look lets the program look at the store. began is the event with which the look begins.
	look(ctx context.Context, began model.Event, look func(context.Context, *live)) error

	// fingerprintAfter returns the fingerprint after a choice. 0: it has none.
	fingerprintAfter(interleave.Choice) uint64

	// hasState reports whether the state of the schedule can be told from others. describe then describes what the
	// backend knows of it.
	hasState() (bool, error)
	describe([]byte) []byte

	// lasts reports whether clients outlive a schedule that is not run to its end.
	lasts() bool
}

var (
	_ backend = (*live)(nil)
	_ backend = (*recalled)(nil)
)
