package workloads

import "time"

// Options shape a load, and what clients do in a search. Each family uses the options that concern it. Zero values mean
// the defaults.
type Options struct {
	Name string // name of the workload in reports; default: its family, such as "lock"
	Keys int    // number of locks to race for, default 5; or of sequences for each regime, default 1
	// TTL is the lease asked for, or how long a message stays marked. By default a load has leases of several lengths, see
	// [Locks]. The default for messages is 1.3s, so that a run of seconds outlives several windows.
	TTL    time.Duration
	Prefix string // prefix of every name of a lock, message, sequence or set
	Acks   int    // number of replicas that a variant with a WAIT waits for; default: the variant's own

	// Share is the share of one of several generators; default: the whole load. Each lock is held late (see lock_late.go)
	// by the clients of one generator only.
	Share Share

	Hold time.Duration // mean length of a usual hold of a lock; default 5ms
	// Resource gives each lock a value to guard. The lock's owner reads the value and thinks for about 5ms, but for at
	// most an eighth of the lease. Then it writes the value back with a number of its own added. The values live in the
	// harness, which records them at the end. With a [Fencer], reads and writes carry the token, and are refused if a
	// later token was seen.
	Resource bool

	FanOut int // how many workers receive each message at about the same time; default 8
	// AtMostOnce lets a search accept that a message is lost if its worker crashed or got no answer. A filter of one
	// step cannot avoid that. Even so, each mark has to end, and some worker has to be told that the message is new.
	// AtMostOnce has no effect on a Confirmer, which must lose nothing.
	AtMostOnce bool

	// Regime is what callers of a sequence propose. By default a load has every regime, each on sequences of its own, and
	// a search has Fixed.
	Regime Regime
	// OneKey says that the generator ignores the key, so there is only one sequence. Without a Regime, the regimes then
	// take turns of a fraction of a second each, and the store is emptied between two turns.
	OneKey bool

	Rounds RoundsOptions // settings of writes/rounds

	// Habits adds clients to a search that use their algorithm more than once: see habits.go. For each of these clients
	// the search has a separate part.
	Habits bool
	// Goroutines is how many clients of a search share one algorithm: see interleave.Program. 0 or 1: each has its own.
	Goroutines int
}
