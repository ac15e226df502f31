package harness

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

// System is the system under test: clients race on it and nemeses break it.
type System interface {
	// Start starts the system and returns when it is whole. From then on, until Stop, it passes what it observes to the
	// function events, with times on the given clock.
	Start(ctx context.Context, clock Clock, events func(Event), log *slog.Logger) error
	// AwaitWhole returns when the system is whole: there is one primary, every replica is in sync, and all Sentinels
	// agree.
	AwaitWhole(ctx context.Context) error
	// Stop ends everything that Start began. It is safe to call twice and after a failed Start.
	Stop() error
	// Groups returns the number of client groups. Each has its own address.
	Groups() int
}

// Workload makes clients.
type Workload interface {
	Name() string
	// Kinds lists the kinds of operation that the clients record. A meaningful run has at least one operation of each
	// kind that ended in OK.
	Kinds() []Kind
	// Open returns a client for a worker of the given group. It is called once for each worker before the load starts.
	// During the load it is called again for a worker whose client has crashed.
	Open(ctx context.Context, group int) (Client, error)
}

// Client does the work of one worker. One goroutine at a time uses it.
type Client interface {
	// Step does one unit of work, such as acquire, hold and release, and records each operation through s. It returns
	// soon after the load has ended (see Session.Sleep). ctx ends only when the run gives up waiting.
	Step(ctx context.Context, s *Session)
}

// Finisher is a Workload that records something after the load has ended and the system is whole again, such as a final
// read.
type Finisher interface {
	Finish(ctx context.Context, s *Session) error
}

// Observer is a Workload with a Finish that depends on what its clients did. In a run with generators, it observes the
// clients of all generators.
type Observer interface {
	// Observe gets every operation of the run, in order of Return, from one goroutine, before Finish is called.
	Observe(op Op)
}

// SituationPromiser is a Workload that lists the situations that its load causes if it lasts long enough. A run that
// did not meet them has shown too little to be Valid.
type SituationPromiser interface {
	Situations() []SituationName
}

// Rider is a second workload on the same system, with its own clients.
type Rider struct {
	Workload Workload
	Clients  int
}

// Nemesis injects one kind of fault. The run calls, in this order:
//
//  1. Inject, which breaks the system. The fault is in force.
//  2. Injection.Prove, which waits for the consequence, for no longer than the fault is to stay in force.
//  3. Injection.Touched, once the fault has had its time.
//  4. Injection.Heal, on every path, even after an error of Inject.
//  5. System.AwaitWhole, if no other fault is in force.
type Nemesis interface {
	Name() string
	// Inject breaks the system and returns once a probe has shown that the fault acts. If Inject returns an error, the
	// Heal of the Injection undoes what Inject had done before.
	Inject(ctx context.Context, rng *rand.Rand) (Injection, error)
}

// Injection is a fault in force.
type Injection struct {
	Targets []string
	Groups  []int  // client groups on the minority side of a partition
	Frozen  []int  // client groups that can do nothing while the fault is in force
	Bite    string // what the probe saw
	// Prove waits for the fault's consequence, such as a promotion, and says what it saw. nil: Bite is proof enough.
	Prove func(ctx context.Context) (string, error)
	// Touched says what the fault has done to the system's own traffic. It is called once, just before the heal. It
	// returns an error if there was no traffic to touch. In that case the fault is not proved, whatever probes saw.
	// nil: traffic is not counted.
	Touched func() (string, error)
	// Heal undoes the fault. It must work after the run's own context has ended. nil: nothing was done.
	Heal func(ctx context.Context) error
}

// TimedFault is one fault of a sequence.
type TimedFault struct {
	Nemesis Nemesis
	// After is the calm before the fault, in which this sequence has no fault; 0: Spec.QuietPeriod. The calm begins
	// with the load, or with the heal of the previous fault. If that heal left no fault in force, it begins when the
	// system is whole again.
	After time.Duration
	For   time.Duration // how long the fault stays in force, from the end of Inject to its heal
}
