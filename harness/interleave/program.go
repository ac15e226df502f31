package interleave

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// Program says what the clients of every schedule do. Package workloads makes programs of locks, message filters and
// sequence generators. Open and Lease are needed. Every other field may be left at its zero value.
type Program struct {
	// Name names the program in reports.
	Name string
	// Kinds lists the kinds of operation of which a search has to see at least one that is ok. A search that does not
	// is unknown.
	Kinds []harness.Kind
	// Lease is the lease that clients ask for, 1 ms or more.
	Lease time.Duration
	// Timeless promises that nothing which clients rely on ends with time. An expiry is then tried only when some
	// command may have set a TTL.
	Timeless bool
	// Symmetric promises that nothing changes if clients swap their names: names and tokens are compared for equality
	// only. The search uses this symmetry: it lets clients begin in their order only. A lock that compares tokens by
	// their order or by their beginnings is not symmetric. The search tries the promise, and drops it where it does not
	// hold. If in doubt leave it false.
	Symmetric bool
	// NoBackgroundWork promises that clients start no goroutines and timers that outlive a command other than by
	// harness.Go, and wait in memory only by harness.Sleep. Without the promise the search looks for such work, and is
	// unknown if it finds any.
	NoBackgroundWork bool
	// Fenced promises that grants have fencing tokens, in the Result of ok acquires. A search in which none has is
	// unknown.
	Fenced bool
	// RealClock says that clients read the machine's clock, which does not pass as the schedule's does. A search in
	// which time passes is then refused.
	RealClock bool
	// Replicas says that clients wait for the acknowledgement of replicas. A search sees it by itself, at the price of
	// beginning again.
	Replicas bool
	// Retries is the number of times that the clients' Redis client sends a command again that got no answer, without a
	// pause. 0: never.
	Retries int
	// Scripts names the Lua scripts that clients run, for counterexamples. The key is the script's text, the value its
	// name. A script that is not here goes by its first line.
	Scripts map[string]string
	// Hooks are installed in the connection of every client.
	Hooks []redis.Hook
	// Open makes the client at place i for one schedule. Places from 0 to MaxClients-1 are of clients that do the same,
	// and a schedule with fewer clients may leave some out: see Budget.Place. Those of Apart follow. The search calls
	// Step of the client once.
	//
	// What the client does has to follow from what it reads alone. It reads no clock but harness.Now, and waits only by
	// harness.Sleep, by what harness.Go returns, and by Redis: BLPOP and its like, XREAD BLOCK, and messages of a
	// subscription. It starts goroutines that act on their own by harness.Go, and reads a subscription in one of these
	// or in the goroutine in which it was called. Sleeping between two operations takes no time, but the client may
	// crash there. An operation that sends nothing and looks at no clock counts as called when it ends.
	Open func(i int, r redis.UniversalClient) harness.Client
	// Apart lists places, from MaxClients on, whose clients do something else than the others. A search that has a part
	// of its own for lost answers has one for each of them as well: of the client at place 0 and that one, with as many
	// expiries as the first part. nil: there are none.
	Apart []int
	// Goroutines is the number of clients that are goroutines of one process: the first so many, the next so many, and
	// so on. They share memory, a Redis client, and a crash, which ends all of them. The explorer lets one of them go
	// on at a time, from one command to the next. One that waits in memory for another goes on when that one lets it. 0
	// or 1: each client is a process of its own.
	Goroutines int
	// Process takes the place of Open where Goroutines is more than 1: it makes what the clients of one process share,
	// and returns what makes each of them.
	Process func(r redis.UniversalClient) func(i int) harness.Client
	// Gate is the way by which clients reach Redis. With any but InProcess, OpenAt takes the place of Open.
	Gate Gate
	// OpenAt makes the client at place i for one schedule, as Open does, of a program outside this process that reaches
	// Redis at address, and nowhere else. The address of a client is the same in every schedule, and its connections
	// may stay open from one to the next. A connection that the gate closes is an answer that never comes: what was
	// asked may have happened. The client sends one command, pipeline or transaction at a time, and none between its
	// operations. It takes no longer than 2 s of real time for what it does without Redis. What it does in the
	// background cannot be seen from here, so NoBackgroundWork has to be promised. The client panics with an error that
	// wraps ErrOutside if the program breaks down.
	OpenAt func(i int, address string) harness.Client
	// Announced is called with the text of each "ECHO dg TEXT" that comes from the client at address, and returns when
	// the client may go on. Such a command is no step, and never comes to Redis. nil: it is a command like any other.
	Announced func(address, text string)
	// Kill is called when the client at address has crashed, before its connections are closed. nil: a crash cuts it
	// off from Redis only.
	Kill func(address string)
	// Observe looks at the store when an operation of a client has ended, before anybody takes another step. It has r
	// alone: the clients' own connections refuse it. nil: nobody looks.
	//
	// What Observe and Finally do may depend on what they read and on the operations, but not on the times of
	// operations.
	Observe func(ctx context.Context, s *harness.Session, r redis.UniversalClient, op harness.Op)
	// Finally looks at the store when all clients are done or crashed. Its operations are the harness's own, one after
	// the other. Before those that checkers.Stuck judges, it has to let two leases pass: a late command may have taken
	// the lock at the very end. nil: nobody looks.
	Finally func(ctx context.Context, s *harness.Session, r redis.UniversalClient, after After) error
}

// After lists what Program.Finally may look at and do. The explorer implements it.
type After interface {
	// Ops returns the operations so far, in order of Return. The caller does not change them.
	Ops() []harness.Op
	// OwnerRefused reports whether the last owner was refused a release or an extend inside its lease, and that lease
	// is not over now.
	OwnerRefused() bool
	// Pass lets d of virtual time pass. Keys whose TTL is d or less are gone then. An error says that the harness
	// failed.
	Pass(d time.Duration) error
	// PassAll does what Pass does and returns how many keys are left. With none left the store is as it was in the
	// beginning.
	PassAll(d time.Duration) (left int, err error)
}
