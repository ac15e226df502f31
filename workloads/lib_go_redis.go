package workloads

import "github.com/doublegrant/doublegrant/harness"

// lib/go-redis-lock is lock/set-nx-px on go-redis with its default options.
//
// Source: go-redis, which resends a command without an answer up to three times; redis/go-redis#2985. A SET NX that was
// executed is then refused because of the key that it set itself. Its caller is told that somebody else has the lock,
// and nobody has it until the lease is over.
func libGoRedisLock() Variant {
	return lockVariant("lib/go-redis-lock", newSetNXPX, Variant{
		Doc:     "SET NX PX and a compare-and-delete script, on go-redis with its default retries",
		Source:  "github.com/redis/go-redis; issue 2985",
		Claim:   OneNode,
		Retries: goRedisRetries,
		Flaws:   []Flaw{{harness.DoubleGrant, Failover}},
	})
}

// lib/go-redis-dedup is dedup/set-nx-ex on go-redis with its default options.
//
// Source: as lib/go-redis-lock. A claim whose answer was lost is sent again and meets its own mark. Its caller is told
// that somebody else has the message, and nobody delivers it.
func libGoRedisDedup() Variant {
	return dedupVariant("lib/go-redis-dedup", newDedupSetNXEX, Variant{
		Doc:     "SET NX EX, on go-redis with its default retries",
		Source:  "github.com/redis/go-redis; issue 2985",
		Claim:   OneNode,
		Retries: goRedisRetries,
		Flaws: []Flaw{
			{harness.LostMessage, AnswerLost},
			{harness.LostMessage, Crash},
			{harness.DuplicateDelivery, Failover},
		},
	})
}
