package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	// Alike says that clients differ in nothing but their names, so that it does not matter which of them begins.
	Alike bool
	// Replicas says that clients wait for the acknowledgement of replicas.
	Replicas bool
	// Scripts names the Lua scripts that clients run, by their text, for counterexamples. One without a name goes by its
	// first line.
	Scripts map[string]string
	// Hooks are installed in every client's connection.
	Hooks []redis.Hook
	// Open makes the client that takes place i, from 0, in one schedule. Its Step is called once. Sleeping between two
	// operations takes no time, but is a place where the client may crash. All that it does has to follow from what it
	// reads: no clock but harness.Now, no waiting but harness.Sleep, no goroutine that acts on its own, no command that
	// waits for others. An operation that sends nothing and looks at no clock counts as called when it ends.
	Open func(i int, r redis.UniversalClient) harness.Client
	// Observe looks at the store when an operation of a client has ended, before anybody takes another step; nil: nobody
	// looks.
	Observe func(ctx context.Context, s *harness.Session, r redis.UniversalClient, op harness.Op)
	// Finally asks, when all clients are done or crashed, what shows only then; nil: nothing. Its operations are the
	// harness's own and come one after the other.
	Finally func(ctx context.Context, s *harness.Session, r redis.UniversalClient, after *After) error
}

// Spec says what to search. Zero values mean the defaults named beside them.
type Spec struct {
	Program  Program
	Checkers []harness.Checker

	Clients   int // 2 to MaxClients; default 3
	Crashes   int // how many clients may crash in one schedule; default 1, negative: none
	Expiries  int // how often all leases may end; default 1, negative: never
	Failovers int // how often a replica that has not heard everything may be promoted: 0 or 1
	Flushes   int // how often the script cache may be flushed

	Skew         time.Duration // how far the last client's clock is ahead of the others'
	MaxSchedules int           // 0: no limit
	For          time.Duration // 0: no limit
	First        bool          // stop at the first counterexample, which need not be the smallest
	Unpruned     bool          // run schedules that differ only in the order of independent commands, too
	Workers      int           // schedules that run at one time, each on a Redis of its own; default 2
	Redis        string        // redis-server binary; default as cluster.FindRedis
}

// ErrSpec marks a Spec that cannot be searched as it stands.
var ErrSpec = errors.New("bad exploration")

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
	case len(s.Checkers) == 0:
		return refuse("no checkers, so nothing would be judged")
	case s.Clients < 2 || s.Clients > MaxClients:
		return refuse("%d clients: ask for 2 to %d", s.Clients, MaxClients)
	case s.Failovers < 0 || s.Failovers > 1:
		return refuse("%d failovers: there is one replica to promote, so ask for 0 or 1", s.Failovers)
	case s.Flushes < 0 || s.MaxSchedules < 0 || s.For < 0 || s.Workers < 0:
		return refuse("flushes, limits and workers cannot be negative")
	}
	return s, nil
}

// budget is what one schedule may use.
func (s Spec) budget() Budget {
	return Budget{Clients: s.Clients, Crashes: s.Crashes, Expiries: s.Expiries, Failovers: s.Failovers, Flushes: s.Flushes}
}

// After is what Finally may look at and do.
type After struct{ ex *execution }

// Ops are the operations so far.
func (a *After) Ops() []harness.Op { return a.ex.ops }

// Pass lets time pass: d, and every key with no more than that to live is gone.
func (a *After) Pass(d time.Duration) error {
	_, _, err := a.ex.w.expire(d)
	a.ex.pass(d)
	return err
}

// PassAll lets time pass: d, and returns how many keys are left. If none is, all is as in the beginning.
func (a *After) PassAll(d time.Duration) (left int, err error) {
	n, err := a.ex.w.expireAll(d)
	a.ex.pass(d)
	return int(n), err
}
