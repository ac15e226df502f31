package interleave

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// Program is what the clients of every schedule do. Package workloads makes programs of locks, message filters and
// sequence generators. Open and Lease are required; other fields may be zero.
type Program struct {
	// Name names the program in reports.
	Name string
	// Kinds lists the kinds of operation that have to succeed at least once. If one kind never does, the search is
	// unknown.
	Kinds []harness.Kind
	// Lease is the lease that clients ask for, 1 ms or more.
	Lease time.Duration
	// Timeless promises that clients rely on nothing that ends with time. The search then lets time pass beyond the end
	// of a lease only if a command may have set a TTL.
	Timeless bool
	// Symmetric promises that swapping the names of clients changes nothing: names and tokens are only compared for
	// equality. Then the search lets clients begin in one order only. A lock that compares tokens by order or by prefix is
	// not symmetric. The search tests the promise, and ignores it if it does not hold. If in doubt, leave Symmetric false.
	Symmetric bool
	// NoBackgroundWork promises two things. Goroutines and timers that outlive a command are started only by
	// harness.Go, and clients wait for time to pass only by harness.Sleep. Without the promise the search looks for
	// background work, and is unknown if it finds any.
	NoBackgroundWork bool
	// Fenced promises fencing tokens, in the Result of successful acquires. If no grant has one, the search is unknown.
	Fenced bool
	// RealClock says that clients read the machine's clock, which does not follow the schedule's time. A search in which
	// time passes is refused for such clients.
	RealClock bool
	// Replicas says that clients wait for acknowledgements of replicas. If it is false and a client does wait for them,
	// the search has to begin again.
	Replicas bool
	// Retries is how often a client's Redis client sends an unanswered command again, without a pause. 0: never.
	Retries int
	// Scripts names Lua scripts in counterexamples, by text. A script without a name is shown by its first line.
	Scripts map[string]string
	// Hooks are installed in every client's Redis client.
	Hooks []redis.Hook
	// Open makes the client at place i for one schedule. Clients at places 0 to MaxClients-1 do the same; a schedule may
	// leave out some places, see Budget.Place. Places from MaxClients on are listed in SpecialPlaces. The search calls the
	// client's Step once.
	//
	// What the client does has to follow from what it reads. It reads no clock but harness.Now. It waits only by
	// harness.Sleep, by what harness.Go returns, and by Redis: BLPOP and the like, XREAD BLOCK, and messages of a
	// subscription. It starts goroutines only by harness.Go. Only these goroutines and the one that called Step may read a
	// subscription. Sleeping between two operations takes no time, but the client may crash there. An operation that sends
	// nothing and reads no clock counts as called when it ends.
	Open func(i int, r redis.UniversalClient) harness.Client
	// SpecialPlaces lists places, from MaxClients on, whose clients do something that the clients at other places do not.
	// A search with separate parts for lost answers also has a part for each special place. That part has two clients, one
	// at place 0 and one at the special place, and as many expiries as the first part. nil: none.
	SpecialPlaces []int
	// Roles says in a few words what the clients of SpecialPlaces do, by place: "uses two locks". May be nil.
	Roles map[int]string
	// Goroutines is how many clients run as goroutines of one process. With 2, clients 0 and 1 are one process, clients
	// 2 and 3 the next, and so on. The clients of a process share memory and a Redis client, and crash together. The
	// explorer lets one of them run at a time, from one command to the next. A client that waits for another client of
	// its process, such as for a mutex, runs on when that client wakes it. 0 or 1: each client is its own process.
	Goroutines int
	// Process replaces Open if Goroutines is more than 1. It makes what the clients of one process share, and returns the
	// constructor of these clients.
	Process func(r redis.UniversalClient) func(i int) harness.Client
	// Gate is how clients reach Redis. With any Gate except InProcess, OpenAt replaces Open.
	Gate Gate
	// OpenAt makes the client at place i for one schedule, like Open. An adapter does the client's work. The adapter
	// reaches Redis only at address, which is the same in every schedule. Connections may stay open between schedules. A
	// connection that the gate closes counts as a lost answer: the command may have been executed. The adapter sends one
	// command, pipeline or transaction at a time, and none between operations. It takes at most 2 s of real time for what
	// it does without Redis. The search cannot see its background work, so NoBackgroundWork has to be promised. An error
	// ends the search. If the adapter breaks down later, the client calls harness.Abandon with an error that wraps
	// ErrAdapter.
	OpenAt func(i int, address string) (harness.Client, error)
	// Announced is called with the text of each "ECHO dg TEXT" that the client at address sends. The client may go on when
	// Announced returns. This command is not a step and never reaches Redis. nil: it is an ordinary command.
	Announced func(address, text string)
	// Kill is called when the client at address has crashed, before its connections are closed. nil: a crash only
	// closes the connections.
	Kill func(address string)
	// Observe looks at the store when an operation of a client has ended, before another step is taken. It may use only r,
	// since the clients' connections refuse its commands. May be nil.
	//
	// What Observe and Finally do may depend on what they read and on operations, but not on the times of operations.
	Observe func(ctx context.Context, s *harness.Session, r redis.UniversalClient, op harness.Op)
	// Finally looks at the store when all clients are done or have crashed. Its operations are the harness's own. It has
	// to let two leases pass before an operation that checkers.Stuck judges, since a late command may have taken the lock
	// at the very end. May be nil.
	Finally func(ctx context.Context, s *harness.Session, r redis.UniversalClient, after After) error
}

// After is what Program.Finally may look at and do. The explorer implements it.
type After interface {
	// Ops returns the operations so far in order of Return. Do not change them.
	Ops() []harness.Op
	// OwnerRefused reports whether the last owner was refused a release or an extend within its lease, and the lease is
	// not over yet.
	OwnerRefused() bool
	// Pass lets d of virtual time pass. Keys with a TTL of d or less are gone afterwards. An error says that the
	// harness failed.
	Pass(d time.Duration) error
	// PassAll is like Pass, and returns how many keys remain. If no key remains, the store is as it was at the beginning.
	PassAll(d time.Duration) (left int, err error)
}

// Gate names how a program's clients reach Redis: within this process, or at an address that an adapter is given.
type Gate uint8

// Kinds of Gate. All except InProcess are for adapters: each client gets an address, and connections to that address
// are the client's. Connections speak RESP 2 or 3 in arrays of bulk strings, as client libraries do.
const (
	InProcess Gate = iota // the go-redis client that Program.Open is given
	TCP                   // a port of 127.0.0.1; the address is "127.0.0.1:PORT"
	Unix                  // a Unix socket; the address is its path
)

// ErrAdapter says that a client's adapter has broken down: it died, or sent something that makes no sense. The search
// then ends with this error. A breakdown is not a violation.
var ErrAdapter = errors.New("the adapter has broken down")

// forAdapter is the context key of ForAdapter.
type forAdapter struct{}

// ForAdapter returns a context for dialling a connection for an adapter.
func ForAdapter(ctx context.Context) context.Context {
	return context.WithValue(ctx, forAdapter{}, true)
}

// IsForAdapter reports whether ctx comes from ForAdapter.
func IsForAdapter(ctx context.Context) bool { return ctx.Value(forAdapter{}) != nil }
