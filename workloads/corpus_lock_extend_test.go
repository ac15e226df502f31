package workloads_test

import (
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/workloads"
)

// extendingLocks lists locks that differ in how they extend a lease, broken ones first.
func extendingLocks() []algorithm {
	return []algorithm{
		codeLock("extend-takes-a-free-lock",
			"an extend takes the lock again if its lease is over and nobody else has it, whoever had it meanwhile",
			extendBy(
				`local cur = redis.call('get', KEYS[1]) if cur and cur ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`)).says(finds(harness.SilentReacquire), finds()),
		scriptLock("loser-writes-its-name",
			"an acquire that is refused writes its own name over the owner's, who cannot release then",
			`if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
redis.call('set', KEYS[1], ARGV[1], 'KEEPTTL') return 0`,
			releaseGet).says(finds(harness.RefusedRelease), finds()),
		scriptLock("owner-overwritten",
			"GETSET: whoever finds that the lock is taken has written its name over the owner's; two clients, so that "+
				"no third one sees that it stays taken",
			`local left = redis.call('pttl', KEYS[1])
if redis.call('getset', KEYS[1], ARGV[1]) then redis.call('pexpire', KEYS[1], left) return 0 end
redis.call('pexpire', KEYS[1], ARGV[2]) return 1`,
			releaseGet).of(2).says(finds(harness.RefusedRelease), finds()),
		codeLock("extend-takes-back-its-own",
			"an extend takes the lock anew where it is free, if nobody else has had it meanwhile",
			func(r redis.UniversalClient) workloads.Locker {
				take := scripted(r, `if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
redis.call('set', KEYS[1]..':last', ARGV[1]) return 1`)
				return extendingLock{goLock{take, scripted(r, releaseGet)}, scripted(r,
					`local v = redis.call('get', KEYS[1])
if not v and redis.call('get', KEYS[1]..':last') == ARGV[1] then
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1 end
if v == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0`)}
			}),
		codeLock("extend-in-seconds", "an extend passes the lease in seconds to PEXPIRE, which takes milliseconds",
			extendBy(`if redis.call('get', KEYS[1]) == ARGV[1] then
return redis.call('pexpire', KEYS[1], math.ceil(ARGV[2]/1000)) end
return 0`)).says(finds(harness.DoubleGrant), finds()),
		codeLock("extends-once", "the first extend works; each later one does nothing and says yes", extendBy(
			`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call('set', KEYS[1]..':extended', ARGV[1], 'NX', 'PX', ARGV[2]) then
redis.call('pexpire', KEYS[1], ARGV[2]) end return 1`)).says(finds(harness.DoubleGrant), finds()),
		codeLock("extend-of-another-key", "an extend renews a key that no acquire looks at",
			func(r redis.UniversalClient) workloads.Locker {
				take := scripted(r, `if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
redis.call('set', KEYS[1]..':alive', 1, 'PX', ARGV[2]) return 1`)
				return extendingLock{goLock{take, scripted(r, releaseGet)}, scripted(r,
					`if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('pexpire', KEYS[1]..':alive', ARGV[2])
return 1 end return 0`)}
			}).says(finds(harness.DoubleGrant), finds()),
		codeLock("extend-drops-the-end", "an extend that writes the token anew forgets the lease",
			extendBy(`if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('set', KEYS[1], ARGV[1]) return 1 end
return 0`)).says(finds(harness.StuckLock), misses("nobody crashes, and owners that are late do release")),
		codeLock("extends-any", "an extend renews whatever lease is there",
			extendBy(`return redis.call('pexpire', KEYS[1], ARGV[2])`)).says(
			finds(harness.DoubleGrant, harness.RefusedRelease), finds()),
		codeLock("extends-a-prefix", "an extend compares the stored token as far as its own goes", extendBy(`local cur =
redis.call('get', KEYS[1])
if cur and string.sub(cur, 1, #ARGV[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
return 0`)).says(
			finds(harness.DoubleGrant, harness.RefusedRelease), finds()),
		codeLock("extend-says-yes-always", "an extend compares the owner, and says yes all the same", extendBy(
			`if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('pexpire', KEYS[1], ARGV[2]) end return 1`)).says(
			finds(harness.DoubleGrant, harness.SilentReacquire), finds()),
		codeLock("extend-takes-it", "an extend takes the lock from whoever has it", extendBy(
			`redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`)).says(finds(harness.DoubleGrant,
			harness.SilentReacquire), finds()),
		codeLock("extend-in-two-steps", "an extend is GET, compare, a pause, PEXPIRE: the lease may end between them",
			getCompareExtend(time.Millisecond)).says(
			finds(harness.DoubleGrant), finds()),
		codeLock("extends-with-time-to-spare", "an extend refuses what has less than a tenth left, and renews the rest",
			extendBy(
				`if redis.call('get', KEYS[1]) ~= ARGV[1] or redis.call('pttl', KEYS[1]) < ARGV[2] / 10 then
return 0 end
return redis.call('pexpire', KEYS[1], ARGV[2])`)).says(finds(harness.RefusedRelease),
			misses("others have to be refused in the last tenth of a lease, after its owner was")),
		codeLock("extend-refuses-always", "no lease is ever renewed",
			extendBy(`return 0`)).says(finds(harness.RefusedRelease), finds()),

		codeLock("extends-before-it-looks",
			"an extend renews whatever lease is there before it compares the owner: another owner's lease gets "+
				"longer, which harms nobody", extendBy(
				`local cur = redis.call('getex', KEYS[1], 'PX', ARGV[2]) if cur == ARGV[1] then return 1 end
return 0`)),
		codeLock("extends-only-to-later", "an extend by PEXPIRE GT never makes a lease shorter", extendBy(
			`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end redis.call('pexpire', KEYS[1], ARGV[2], 'GT')
return 1`)),
		codeLock("extend", "an extend by compare-and-PEXPIRE, and a release by compare-and-delete",
			extendBy(extendGet)),
	}
}
