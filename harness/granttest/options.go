package granttest

import (
	"time"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/workloads"
)

// The interfaces of algorithms. See package workloads for what each method promises.
type (
	// Locker is a lock: Acquire(ctx, key, owner, ttl) (bool, error) and Release(ctx, key, owner) (bool, error).
	Locker = workloads.Locker
	// Extender is a Locker with Extend(ctx, key, owner, ttl) (bool, error). Clients then renew their leases.
	Extender = workloads.Extender
	// Fencer is a Locker with Fence() string, the fencing token of the last grant. Tokens have to grow.
	Fencer = workloads.Fencer
	// Deduper is a message filter: First(ctx, id, window) (bool, error).
	Deduper = workloads.Deduper
	// Confirmer is a Deduper with Lease and Confirm: it claims a message first and marks it after it was delivered.
	Confirmer = workloads.Confirmer
	// Inspector is a Deduper with Inspect, which shows a mark. The load then finds marks that never end.
	Inspector = workloads.Inspector
	// Sequencer is a number generator: Next(ctx, key, proposed) (string, error).
	Sequencer = workloads.Sequencer
)

// LockOptions shape the test of a lock. The zero value is right for most.
type LockOptions struct {
	TTL      time.Duration // lease that clients ask for; default 10.5s in the search, leases up to 1.337s in the load
	Hold     time.Duration // mean time for which an owner needs the lock in the load; default 5ms
	Keys     int           // locks that clients race for in the load; default 5
	Resource bool          // owners update something that the lock guards, with their fencing tokens if there are any

	Search Search
	Load   Load
}

// DedupOptions shape the test of a message filter. The zero value is right for most.
type DedupOptions struct {
	Window time.Duration // for how long a message stays marked; default 20.5s in the search, 250ms in the load
	FanOut int           // how many workers receive each message at about the same time in the load; default 8

	Search Search
	Load   Load
}

// SequenceOptions shape the test of a number generator. The zero value is right for most.
type SequenceOptions struct {
	Regime Regime // what callers propose; default: every regime, one after the other
	Keys   int    // sequences in the load, of each regime; default 1
	OneKey bool   // the generator ignores the key, so that there is one sequence only

	Search Search
	Load   Load
}

// Regime names how callers of a sequence choose the number that they propose.
type Regime = workloads.Regime

// The regimes. See package workloads for examples of each.
const (
	Fixed        = workloads.Fixed
	Timestamp17  = workloads.Timestamp17
	Growing      = workloads.Growing
	ClockBack    = workloads.ClockBack
	Beyond53     = workloads.Beyond53
	LeadingZeros = workloads.LeadingZeros
)

// Search shapes the search through every interleaving. A zero value means the default beside it.
type Search struct {
	Skip bool // no search: for an algorithm that works in goroutines or timers of its own

	// What may happen in one schedule: see interleave.Bounds. A negative number means none, but of clients, failovers and flushes.
	// Clients is the number of clients, 2 to 4; default 3. Two and three begin in every order. Four are taken to differ in their names only:
	// the search first has three in every order, then four that begin in one, and tries whether others in their places do the same.
	Clients   int
	Crashes   int // clients that crash; default 1, or none of values that are shared
	Expiries  int // times that a lease ends; default 1
	Failovers int // promotions of a replica that has not heard everything, 0 or 1; default none
	Flushes   int // times that the script cache is lost; default none

	// Commands that are executed without an answer to their client, that are never executed, and that are executed after their client has
	// gone on. If all three are 0, the search has a part of its own for one lost answer, and another for one late command.
	LostAnswers, LostCommands, Late int

	Skew time.Duration // how far the last client's clock is ahead of the others'; default 0, negative: behind
	For  time.Duration // the longest that the search may take; default 5 minutes

	// Minimize is the time for which the search goes on after it has found a violation, for the shortest schedule of each class;
	// default 2s, negative: not at all. A search that comes to its end in that time has the shortest there are. Otherwise the
	// failure says that there may be shorter ones.
	Minimize time.Duration

	// Goroutines is how many clients share one value that Shared's constructor makes; default 2. Of 3 clients two then are goroutines of
	// one process, and the third is a process of its own.
	Goroutines int

	Twice  int    // schedules that are run twice before the search, which fails if the algorithm does not do the same; default none
	Random Random // schedules at random, after every schedule was run; default none
}

// Random shapes schedules that are drawn at random. They may have more clients than a search that runs every schedule. A violation fails
// the test, with the counterexample shrunk; otherwise the log says what the schedules promise. A zero value means the default beside it.
type Random struct {
	Schedules int    // how many; default none
	Clients   int    // 2 to 16; default 8
	Strategy  string // "pct" or "pos": see the README of harness/explore; default "pct"
	Depth     int    // depth of the bugs to look for, 1 to 10; default 3. "pos" has none
	Seed      uint64 // the same seed draws the same schedules; default: drawn as well, and logged
}

// Load shapes the load. A zero value means the default beside it.
type Load struct {
	Skip bool // no load, as with -short

	Topology Topology      // default Standalone
	Faults   []Fault       // one after the other; default none
	Clients  int           // default 50
	Duration time.Duration // of the load, which a violation ends; default 1.5s, or longer where leases or windows ask for it

	// Thorough lets the load go on until each situation that it brings about has occurred 100 times, for 10s at least. Duration then bounds
	// it, by default 5 minutes, and so do four fifths of the time that go test leaves. A load that comes to its bound is unknown.
	Thorough bool

	CallTime time.Duration // the longest that one call of the algorithm may take; default 10s plus the longest lease or window

	Goroutines int // how many clients share one value that Shared's constructor makes; default 10

	Servers cluster.Options // versions, protections against the loss of writes, ...; the zero value is right for most
}

// Topology is a set of Redis servers.
type Topology string

// The topologies.
const (
	Standalone Topology = "standalone" // one Redis
	Sentinel   Topology = "sentinel"   // a primary with two replicas and three Sentinels
)
