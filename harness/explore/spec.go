package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// Program is what the clients of every schedule do. Package workloads makes programs of locks, message filters and
// sequence generators.
type Program struct {
	Name string
	// Kinds are the kinds of operation of which a meaningful search sees at least one that is ok.
	Kinds []harness.Kind
	// Lease is what clients ask for, and how far an expiry reaches where no key has a TTL.
	Lease time.Duration
	// Timeless says that nothing which clients rely on ends with time, so that an expiry is worth a try only when some
	// command may have set a TTL.
	Timeless bool
	// Symmetric says that to give clients each other's names changes nothing: that no name or token is compared with
	// another but for being the same. Then it does not matter which of them begins. It has to be known for certain: a
	// lock that compares tokens by their order or by their beginnings is not symmetric.
	Symmetric bool
	// Known says that clients start no goroutines and timers that outlive a command, and wait by nothing but
	// harness.Sleep. Without it the search looks for such work, and is Unknown if it finds any.
	Known bool
	// Replicas says that clients wait for the acknowledgement of replicas.
	Replicas bool
	// Retries is how often the clients' Redis client sends a command again that got no answer; 0: never. It does so at
	// once.
	Retries int
	// Scripts names the Lua scripts that clients run, by their text, for counterexamples. One without a name goes by its
	// first line.
	Scripts map[string]string
	// Hooks are installed in every client's connection.
	Hooks []redis.Hook
	// Open makes the client that takes place i, from 0 to MaxClients-1 however few clients there are, in one schedule. Its
	// Step is called once. Sleeping between two
	// operations takes no time, but is a place where the client may crash. All that it does has to follow from what it
	// reads: no clock but harness.Now, no waiting but harness.Sleep, no goroutine that acts on its own, no command that
	// waits for others. An operation that sends nothing and looks at no clock counts as called when it ends.
	Open func(i int, r redis.UniversalClient) harness.Client
	// Observe looks at the store when an operation of a client has ended, before anybody takes another step; nil: nobody
	// looks. It has r alone: the clients' own connections refuse it.
	Observe func(ctx context.Context, s *harness.Session, r redis.UniversalClient, op harness.Op)
	// Finally asks, when all clients are done or crashed, what shows only then; nil: nothing. Its operations are the
	// harness's own and come one after the other. Where it asks what checkers.Stuck judges, two leases have to have passed
	// before: a late command may have taken the lock at the very end.
	Finally func(ctx context.Context, s *harness.Session, r redis.UniversalClient, after *After) error
}

// Spec says what to search. Zero values mean the defaults named beside them.
type Spec struct {
	Program  Program
	Checkers []harness.Checker

	Clients   int // 2 to MaxClients; default 3
	Crashes   int // how many clients may crash in one schedule; default 1, negative: none
	Expiries  int // how often time may pass beyond the end of a lease, and as often to just before one; default 1, negative: never
	Failovers int // how often a replica that has not heard everything may be promoted: 0 or 1
	Flushes   int // how often the script cache may be flushed

	// Commands and answers that get lost, negative: none. If all three are 0, the search has three more parts, of clients
	// that do not crash, without failovers and script flushes; without expiries two: one in which time also passes to the last instant of a lease, with two clients if the first part
	// had more than three thousand schedules; and with two clients one with a lost answer, and one with a late command.
	LostAnswers  int // how many commands may be executed without an answer to their client
	LostCommands int // how many commands may get lost on their way
	Late         int // how many commands may be executed when their client has gone on without an answer

	Skew         time.Duration // how far the last client's clock is ahead of the others'
	MaxSchedules int           // 0: no limit
	For          time.Duration // 0: no limit
	First        bool          // stop at the first counterexample, which need not be the smallest
	Unpruned     bool          // run schedules that differ only in the order of independent commands, too
	Workers      int           // schedules that run at one time, each on a Redis of its own; default 2
	Redis        string        // redis-server binary; default as cluster.FindRedis
}

// ShortestLease is the shortest that a program may have: Redis's unit of time.
const ShortestLease = time.Millisecond

// longestLease is the longest that a program may have: all that passes in one schedule has to fit into a time.Duration, 292
// years. Some more leases than may expire go by before the last question is asked.
func (s Spec) longestLease() time.Duration {
	return (math.MaxInt64 / time.Duration(s.Expiries+4)).Truncate(time.Hour)
}

// ErrSpec marks a Spec that cannot be searched as it stands.
var ErrSpec = errors.New("this cannot be explored")

func (s Spec) withDefaults() (Spec, error) {
	s.Clients = cmp.Or(s.Clients, 3)
	s.Crashes = max(0, cmp.Or(s.Crashes, 1))
	s.Expiries = max(0, cmp.Or(s.Expiries, 1))
	s.Workers = cmp.Or(s.Workers, 2)
	refuse := func(format string, args ...any) (Spec, error) {
		return s, fmt.Errorf("%w: %s", ErrSpec, fmt.Sprintf(format, args...))
	}
	switch {
	case s.Program.Open == nil:
		return refuse("the program has no clients")
	case s.Program.Lease <= 0:
		return refuse("the program has no lease")
	case s.Program.Lease < ShortestLease || s.Program.Lease > s.longestLease():
		return refuse("a lease of %v: with expiries of %d ask for %v to %v", s.Program.Lease, s.Expiries, ShortestLease, s.longestLease())
	case len(s.Checkers) == 0:
		return refuse("no checkers, so nothing would be judged")
	case s.Clients < 2 || s.Clients > MaxClients:
		return refuse("%d clients: ask for 2 to %d", s.Clients, MaxClients)
	case s.Failovers < 0 || s.Failovers > 1:
		return refuse("%d failovers: there is one replica to promote, so ask for 0 or 1", s.Failovers)
	case s.Late > group:
		return refuse("%d late commands: a schedule has room for %d", s.Late, group)
	case s.Flushes < 0 || s.MaxSchedules < 0 || s.For < 0 || s.Workers < 0:
		return refuse("flushes, limits and workers cannot be negative")
	}
	return s, nil
}

// parts are the budgets of the searches that make up the whole.
func (s Spec) parts() []Budget {
	base := Budget{
		Clients: s.Clients, Crashes: s.Crashes, Expiries: s.Expiries, Failovers: s.Failovers, Flushes: s.Flushes,
		LostAnswers: max(0, s.LostAnswers), LostCommands: max(0, s.LostCommands), Late: max(0, s.Late),
	}
	if s.LostAnswers != 0 || s.LostCommands != 0 || s.Late != 0 {
		base.Approaches = s.Expiries
		return []Budget{base}
	}
	fewer := Budget{Clients: 2, Expiries: s.Expiries, Place: MaxClients - 2}
	lost, late := fewer, fewer
	lost.LostAnswers, late.Late = 1, 1
	near := Budget{Clients: s.Clients, Expiries: s.Expiries, Approaches: s.Expiries}
	if s.Expiries == 0 {
		return []Budget{base, lost, late}
	}
	return []Budget{base, near, lost, late}
}

// many is how many schedules the first part of a search may have for another part to have as many clients.
const many = 3000

// fitted is the budget of a part, with fewer clients if the first part had so many schedules.
func (b Budget) fitted(schedules int) Budget {
	if b.Approaches > 0 && schedules > many {
		b.Clients = 2
	}
	return b
}

// After is what Finally may look at and do.
type After struct{ ex *execution }

// Ops are the operations so far.
func (a *After) Ops() []harness.Op { return a.ex.ops }

// Pass lets time pass: d, and every key with no more than that to live is gone.
func (a *After) Pass(d time.Duration) error {
	defer a.ex.w.takeTurn()()
	return a.ex.passTo(a.ex.now + d)
}

// PassAll lets time pass: d, and returns how many keys are left. If none is, all is as in the beginning.
func (a *After) PassAll(d time.Duration) (left int, err error) {
	if err := a.Pass(d); err != nil {
		return 0, err
	}
	defer a.ex.w.takeTurn()()
	return a.ex.w.count()
}
