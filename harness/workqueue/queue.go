package workqueue

import (
	"context"
	"errors"
	"time"
)

// Queue is a list of units, and of their outcomes, as its coordinator or one worker has it. All methods may be called
// by several goroutines, and return the error of ctx when it is canceled. Beside the errors that they name, they return
// ErrUnreachable, ErrFull and ErrOver.
type Queue interface {
	// Put adds a unit. It does nothing if the unit is there already, or has an outcome.
	Put(ctx context.Context, u Unit) error

	// Await waits for the outcome of a unit. It need not have been put yet.
	Await(ctx context.Context, id string) (Outcome, error)

	// Take waits for a unit and hands it out. The error is ErrOver when no unit is wanted any more.
	Take(ctx context.Context) (Job, error)

	// Look tells how a unit stands.
	Look(ctx context.Context, id string) (Standing, error)

	// HasOther reports whether another worker is there for which is holds.
	HasOther(ctx context.Context, is func(name string) bool) (bool, error)

	// Bar tells the coordinator why this worker takes no unit any more.
	Bar(ctx context.Context, why string) error

	// Watch returns what a coordinator can tell of the work now. A worker knows nothing of it.
	Watch() Watched

	// Disputed lists the units of which a second result contradicted the first, by their IDs, in order.
	Disputed(ctx context.Context) ([]string, error)

	// End says that no unit is wanted any more, and removes what is kept of them.
	End(ctx context.Context) error
}

// Standing is how a unit stands.
type Standing struct {
	Tries  []Try  // that came to nothing, or are under way, in order
	Worker string // who has done it; empty: nobody
	Over   bool   // it has an outcome: it was done, or given up
}

// Watched is what can be told of the work under way.
type Watched struct {
	Begun  []Begun           // units that were handed out and have no outcome, in order of Since
	Done   int               // units that have one
	Barred map[string]string // workers that are given no more work, or refuse it, each with why
}

// Begun is a unit that was handed out and has no outcome.
type Begun struct {
	ID     string
	Worker string    // who has it; empty: nobody, it waits for its next try
	Since  time.Time // when that was heard of
	Failed []string  // what became of its tries so far
}

// Job is a unit in the hands of a worker. One of Done, Fail and GiveBack ends it.
type Job interface {
	Unit() Unit

	// Tries returns the tries before this one.
	Tries() []Try

	// Alive says that the worker is at work, and renews its lease. The error is ErrOver if the unit is not wanted any
	// more. Any other says nothing about the unit: the worker goes on.
	Alive(ctx context.Context) error

	// Done hands in a result. It is kept if it is the first.
	Done(ctx context.Context, r Result) error

	// Fail says that this try came to nothing. After the last try the unit is given up. Otherwise it is handed out
	// again after RetryAfter.
	Fail(ctx context.Context, why string) error

	// GiveBack returns the unit as if it had not been handed out. It is handed out again after that time.
	GiveBack(ctx context.Context, after time.Duration) error
}

var (
	// ErrOver says that no unit is wanted any more.
	ErrOver = errors.New("the coordination is over")

	// ErrRefused marks what a worker must not do, or cannot: another worker may. It has the reason.
	ErrRefused = errors.New("this worker refuses the unit")

	// ErrBarred says that a worker fails where others do not.
	ErrBarred = errors.New("this worker fails where others do not, and takes no more work")

	// ErrUnreachable says that the queue could not be reached for so long that waiting was given up.
	ErrUnreachable = errors.New("the work queue cannot be reached")

	// ErrFull says that the queue has no room for a unit or a result.
	ErrFull = errors.New("the work queue is full")
)
