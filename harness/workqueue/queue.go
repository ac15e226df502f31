package workqueue

import (
	"context"
	"errors"
)

// Queue is a list of units, and of their outcomes. All methods may be called by several goroutines, and return the error of ctx when it
// is canceled. Beside the errors that they name, they return ErrUnreachable and ErrFull.
type Queue interface {
	// Put adds a unit. It does nothing if the unit is there already, or has an outcome.
	Put(ctx context.Context, u Unit) error

	// Await waits for the outcome of a unit. It need not have been put yet.
	Await(ctx context.Context, id string) (Outcome, error)

	// Take waits for a unit and hands it out. The error is ErrOver when no unit is wanted any more.
	Take(ctx context.Context) (Job, error)

	// Disputed lists the units of which a second result contradicted the first, by their IDs, in order.
	Disputed(ctx context.Context) ([]string, error)

	// End says that no unit is wanted any more. Outcomes stay readable until the queue is closed.
	End(ctx context.Context) error
}

// Job is a unit in the hands of a worker. One of Done, Fail and GiveBack ends it.
type Job interface {
	Unit() Unit

	// Alive says that the worker is at work, and renews its lease. The error is ErrOver if the unit is not wanted any more. Any other
	// says nothing about the unit: the worker goes on.
	Alive(ctx context.Context) error

	// Done hands in a result. It is kept if it is the first.
	Done(ctx context.Context, r Result) error

	// Fail says that this try came to nothing. After the last try the unit is given up, otherwise another worker takes it.
	Fail(ctx context.Context, why string) error

	// GiveBack returns the unit as if it had not been handed out.
	GiveBack(ctx context.Context) error
}

var (
	// ErrOver says that no unit is wanted any more.
	ErrOver = errors.New("the coordination is over")

	// ErrRefused marks what a worker must not do, or cannot: another worker may. It has the reason.
	ErrRefused = errors.New("this worker refuses the unit")

	// ErrUnreachable says that the queue could not be reached for so long that waiting was given up.
	ErrUnreachable = errors.New("the work queue cannot be reached")

	// ErrFull says that the queue has no room for a unit or a result.
	ErrFull = errors.New("the work queue is full")
)
