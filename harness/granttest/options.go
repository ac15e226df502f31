package granttest

import (
	"time"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/workloads"
)

// Interfaces of algorithms. Package workloads has the contract of each method.
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

// LockOptions shape the test of a lock. The zero value suits most locks.
type LockOptions struct {
	TTL      time.Duration // lease that clients request; default 10.5s in the search, up to 1.337s in the load
	Hold     time.Duration // mean time that an owner keeps the lock in the load; default 5ms
	Keys     int           // locks that clients race for in the load; default 5
	Resource bool          // owners update a resource that the lock guards, with their fencing tokens if there are any

	Search Search
	Load   Load
}

// DedupOptions shape the test of a message filter. The zero value suits most filters.
type DedupOptions struct {
	Window time.Duration // how long a message stays marked; default 20.5s in the search, 250ms in the load
	FanOut int           // how many workers receive each message at about the same time in the load; default 8

	Search Search
	Load   Load
}

// SequenceOptions shape the test of a number generator. The zero value suits most generators.
type SequenceOptions struct {
	Regime Regime // what callers propose; default: every regime, one after the other
	Keys   int    // number of sequences in the load, for each regime; default 1
	OneKey bool   // the generator ignores the key, so that there is only one sequence

	Search Search
	Load   Load
}

// Regime names how callers of a sequence choose the numbers that they propose.
type Regime = workloads.Regime

// Regimes. Package workloads has examples of each.
const (
	Fixed        = workloads.Fixed
	Timestamp17  = workloads.Timestamp17
	Growing      = workloads.Growing
	ClockBack    = workloads.ClockBack
	Beyond53     = workloads.Beyond53
	LeadingZeros = workloads.LeadingZeros
)

// Search shapes the search through all interleavings. Zero values are the defaults named beside them.
type Search struct {
	Skip bool // no search, for an algorithm with its own goroutines or timers

	// Bounds on what may happen in one schedule: see interleave.Bounds. A negative number means none, except for
	// clients, failovers and flushes.
	//
	// Clients is the number of clients, 2 to 4; default 3. Two or three begin in every order. Four are assumed to
	// differ in their names only. The search then runs three clients in every order, then four that begin in one order.
	// It checks the assumption on the way.
	Clients   int
	Crashes   int // clients that crash; default 1, or none with shared values
	Expiries  int // leases that end; default 1
	Failovers int // promotions of a replica that lacks some writes, 0 or 1; default none
	Flushes   int // times that the script cache is lost; default none

	// How many commands may be executed without an answer (LostAnswers), never be executed (LostCommands), and be
	// executed after their client has gone on (Late). If all three are 0, the search has one part with a lost answer,
	// and another with a late command.
	LostAnswers, LostCommands, Late int

	Skew time.Duration // lead of the last client's clock over the others'; default 0; negative: that clock is behind
	For  time.Duration // time limit of all searches together; default 5 minutes

	// Minimize is how long the search goes on after a violation, for the shortest schedule of each class; default 2s,
	// negative: not at all. If the search completes within that time, the schedules are the shortest. Otherwise the
	// failure says that there may be shorter ones.
	Minimize time.Duration

	// Goroutines is how many clients share one value of Shared's constructor; default 2. Of 3 clients, two are then
	// goroutines of one process, and the third is a process of its own.
	Goroutines int

	Twice  int    // schedules to run twice before the search; the test fails if two runs of one differ; default none
	Random Random // random schedules after the search; default none
}

// Random shapes random schedules, which may have more clients than a full search. A violation fails the test with a
// shrunk counterexample. Otherwise the log says what the schedules guarantee. Zero values are the defaults named beside
// them.
type Random struct {
	Schedules int    // number of schedules; default none
	Clients   int    // clients of a schedule, 2 to 16; default 8
	Strategy  string // "pct" or "pos": see the README of harness/explore; default "pct"
	Depth     int    // depth of the bugs to look for, 1 to 10; default 3; not used by "pos"
	Seed      uint64 // the same seed draws the same schedules; default: random, and logged
}

// Load shapes the load. Zero values are the defaults named beside them.
type Load struct {
	Skip bool // no load, as with -short

	Topology Topology // the servers; default Standalone
	Faults   []Fault  // faults that happen one after the other; default none
	Clients  int      // number of clients; default 50
	// How long the load lasts unless it finds a violation; default 1.5s, or longer if leases or windows need it.
	Duration time.Duration

	// Thorough continues the load for at least 10s, until each situation that it brings about has occurred 100 times.
	// It lasts for at most Duration, 5 minutes by default, and at most four fifths of the time that go test has left. A
	// load that reaches this limit is unknown.
	Thorough bool

	CallTime time.Duration // time limit of one call of the algorithm; default 10s plus the longest lease or window

	Goroutines int // clients that share one value of Shared's constructor; default 10

	Servers cluster.Options // versions, protections against lost writes, ...; the zero value suits most loads
}

// Topology is a set of Redis servers.
type Topology string

// Topologies.
const (
	Standalone Topology = "standalone" // one Redis
	Sentinel   Topology = "sentinel"   // a primary with two replicas and three Sentinels
)
