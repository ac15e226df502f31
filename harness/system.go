package harness

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

// System is what clients race on and nemeses break.
type System interface {
	// Start brings the system up and returns when it is whole. From then on it reports what it does to events, stamped
	// with clock, until Stop.
	Start(ctx context.Context, clock Clock, events func(Event), log *slog.Logger) error
	// AwaitWhole returns when nothing is broken any more: one primary, every replica in step, every watcher agreeing.
	AwaitWhole(ctx context.Context) error
	// Stop ends everything that Start began. It is safe to call twice and after a failed Start.
	Stop() error
	// Groups is the number of client groups, each with an address of its own.
	Groups() int
}

// Workload makes clients.
type Workload interface {
	Name() string
	// Kinds are the kinds of operation of which a meaningful run has at least one that is ok.
	Kinds() []Kind
	// Open returns a client for a worker of the given group. It is called once a worker before the load starts, and again,
	// while others work, for a worker whose client has crashed.
	Open(ctx context.Context, group int) (Client, error)
}

// Client does the work of one worker; it is used by one goroutine at a time.
type Client interface {
	// Step does one unit of work, such as acquire, hold and release, and records each operation through s. It returns
	// soon after the load has ended (see Session.Sleep). ctx ends only when the whole run is abandoned.
	Step(ctx context.Context, s *Session)
}

// Finisher is a Workload with something to record after the load has ended and the system is whole again, such as a
// final read.
type Finisher interface {
	Finish(ctx context.Context, s *Session) error
}

// SituationPromiser is a Workload that says what its load brings about, if it lasts long enough. A run that did not meet
// it has shown too little to be Valid.
type SituationPromiser interface {
	Situations() []SituationName
}

// Rider is a second workload on the same system, with clients of its own.
type Rider struct {
	Workload Workload
	Clients  int
}

// Nemesis injects one kind of fault.
type Nemesis interface {
	Name() string
	// Inject breaks the system and returns once a probe has shown that the fault bites. Whatever it returns, a non-nil
	// Heal in it is called, on every path out of the run.
	Inject(ctx context.Context, rng *rand.Rand) (Injection, error)
}

// Injection is a fault in force.
type Injection struct {
	Targets []string
	Groups  []int  // client groups on the minority side of a partition
	Frozen  []int  // client groups that can do nothing while the fault is in force
	Bite    string // what the probe saw
	// Prove waits for the fault's consequence, such as a promotion, and says what it saw. nil: the bite is proof enough.
	Prove func(ctx context.Context) (string, error)
	// Touched says, once, just before the heal, what the fault has done to traffic of the system. An error says that there was
	// none to touch: then the fault is not proved, whatever was seen of the harness's own. nil: nothing is counted.
	Touched func() (string, error)
	// Heal undoes the fault. It must work after the run's own context has ended.
	Heal func(ctx context.Context) error
}

// FaultStep is one fault of a sequence.
type FaultStep struct {
	Nemesis Nemesis
	// After is the load without this sequence's faults before the fault: since the load began, or since the step before
	// had healed and, if no other sequence had a fault in force then, the system was whole again. 0: Spec.QuietPeriod.
	After time.Duration
	For   time.Duration // how long the fault stays in force, from its bite to its heal
}
