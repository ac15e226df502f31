package workqueue

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// Queue is a list of units and their outcomes, as used by its coordinator or one worker. Its methods are safe for
// concurrent use, and return the error of ctx when it is canceled. Besides the errors that they document, they return
// ErrUnreachable, ErrFull and ErrOver.
type Queue interface {
	// Put adds a unit. It does nothing if the unit is there already or has an outcome.
	Put(ctx context.Context, u Unit) error

	// Await waits for the outcome of a unit. The unit may be put later.
	Await(ctx context.Context, id string) (Outcome, error)

	// Take waits for a unit and hands it out. The error is ErrOver when no more units are needed.
	Take(ctx context.Context) (Job, error)

	// State returns the state of a unit.
	State(ctx context.Context, id string) (UnitState, error)

	// HasOtherWorker reports whether there is another worker for whose name the given function returns true.
	HasOtherWorker(ctx context.Context, suits func(name string) bool) (bool, error)

	// Withdraw tells the coordinator why this worker takes no more units.
	Withdraw(ctx context.Context, why string) error

	// Watch returns the state of the work. It is only for the coordinator.
	Watch() WorkState

	// Disputed lists the IDs of units with contradicting results, sorted.
	Disputed(ctx context.Context) ([]string, error)

	// End says that no more units are needed, and removes what is stored.
	End(ctx context.Context) error
}

// UnitState is the state of a unit.
type UnitState struct {
	Tries  []Try  // tries that had no result or are under way, in order
	Worker string // worker that did the unit; empty: nobody has done it
	Over   bool   // the unit has an outcome: it was done or given up
}

// WorkState is the state of the work.
type WorkState struct {
	Begun     []OpenUnit        // units that were handed out and have no outcome, ordered by OpenUnit.Since
	Done      int               // number of units with an outcome
	Withdrawn map[string]string // reasons why workers get no more work or refuse it, by the worker's name
}

// OpenUnit is a unit that was handed out and has no outcome.
type OpenUnit struct {
	ID     string
	Worker string    // worker that holds the unit; empty: the unit waits for its next try
	Since  time.Time // when the current state became known
	Failed []string  // what became of the unit's tries so far
}

// Job is a unit held by a worker. Done, Fail or GiveBack ends it.
type Job interface {
	Unit() Unit

	// Tries returns the earlier tries.
	Tries() []Try

	// Renew says that the worker is at work, and renews its lease. The error is ErrOver if the unit is no longer
	// needed. After any other error the worker should go on.
	Renew(ctx context.Context) error

	// Done hands in a result. The first result of a unit is kept.
	Done(ctx context.Context, r Result) error

	// Fail ends a try without a result. After the last try the unit is given up. Otherwise it is handed out again after
	// RetryAfter.
	Fail(ctx context.Context, why string) error

	// GiveBack returns the unit as if it had not been handed out. It is handed out again after the given time.
	GiveBack(ctx context.Context, after time.Duration) error
}

var (
	// ErrOver says that no more units are needed.
	ErrOver = errors.New("the coordination is over")

	// ErrRefused marks a unit that a worker may not or cannot do, while another might. The wrapping error gives the
	// reason.
	ErrRefused = errors.New("this worker refuses the unit")

	// ErrBarred says that a worker fails where others succeed.
	ErrBarred = errors.New("this worker fails where others do not, and takes no more work")

	// ErrUnreachable says that the queue could not be reached for as long as the patience allows.
	ErrUnreachable = errors.New("the work queue cannot be reached")

	// ErrFull says that the queue has no room for a unit or a result.
	ErrFull = errors.New("the work queue is full")
)

// Compare orders units by Since, then by ID.
func (u OpenUnit) Compare(other OpenUnit) int {
	return cmp.Or(u.Since.Compare(other.Since), cmp.Compare(u.ID, other.ID))
}
