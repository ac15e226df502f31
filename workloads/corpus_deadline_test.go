package workloads_test

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/workloads"
)

// This file has locks and sequences that compute with time themselves: deadlines in values, remaining times of leases,
// and TIME inside scripts.

// keepsUntil returns a script that takes a lock until a deadline, which it stores with the owner in a hash. The
// arguments are Lua expressions. until computes the deadline in ms, from now and ARGV[2]. still tells whether a lock is
// taken, from now and its stored deadline, kept.
func keepsUntil(until, still string) string {
	return nowMS + `local kept = tonumber(redis.call('hget', KEYS[1], 'until'))
if kept and ` + still + ` then return 0 end
redis.call('hset', KEYS[1], 'owner', ARGV[1], 'until', string.format('%.0f', ` + until + `)) return 1`
}

// takesInTwo returns a script that refuses a lock until two seconds after its lease. In the third second it executes
// inBetween first. After that the lock is free.
func takesInTwo(inBetween string) string {
	return nowMS + `local kept = redis.call('hmget', KEYS[1], 'until', 'free')
if kept[1] and now < tonumber(kept[1]) then return 0 end
if kept[2] and now < tonumber(kept[2]) then ` + inBetween + ` end
redis.call('hset', KEYS[1], 'owner', ARGV[1], 'until', string.format('%.0f', now + ARGV[2] + 2000),
'free', string.format('%.0f', now + ARGV[2] + 3000)) return 1`
}

const (
	deletes = `return redis.call('del', KEYS[1])`

	// takeScored begins a script that keeps the owner in a sorted set, scored by its deadline. More text has to follow.
	takeScored = nowMS + `redis.call('zremrangebyscore', KEYS[1], '-inf', now)
if redis.call('zcard', KEYS[1]) > 0 then return 0 end
redis.call('zadd', KEYS[1], now + ARGV[2] + `
)

// late is the reason why a load may miss a mistake: it shows only long after the lease.
const late = "owners have to be later than a deadline that is later than their lease"

// deadlineLocks lists the locks by deadlines, broken ones first.
func deadlineLocks() []algorithm {
	blind := func(name, doc, until, still string) algorithm {
		return scriptLock(name, doc+"; a release deletes whatever is there", keepsUntil(until, still), deletes).says(
			finds(harness.StolenRelease, harness.DoubleGrant), misses(late))
	}
	compared := func(name, doc, until, still string) algorithm {
		return scriptLock(name, doc+"; a release compares the owner", keepsUntil(until, still), releaseOwner)
	}
	return []algorithm{
		blind("deadline-a-second-later", "a deadline in a field, a second later than the lease ends",
			"now + ARGV[2] + 1000", "kept > now"),
		blind("deadline-two-milliseconds-later", "a deadline in a field, 2 ms later than the lease ends",
			"now + ARGV[2] + 2", "kept > now"),
		blind("deadline-a-lease-later", "a deadline in a field, twice as far as the lease ends", "now + 2 * ARGV[2]",
			"kept > now"),
		blind("deadline-half-a-minute-later", "a deadline in a field, half a minute later than the lease ends",
			"now + ARGV[2] + 30000", "kept > now").says(
			finds(harness.StuckLock, harness.StolenRelease, harness.DoubleGrant), misses(late)),
		blind("deadline-in-whole-seconds-up", "a deadline in whole seconds, rounded up",
			"math.ceil((now + ARGV[2]) / 1000)", "kept > math.floor(now / 1000)"),
		blind("deadline-and-one", "a deadline in whole seconds, and one more", "math.floor((now + ARGV[2]) / 1000) + 1",
			"kept >= math.floor(now / 1000)"),
		blind("start-in-a-field", "the time of the grant in a field, which a rival adds a lease and a second to", "now",
			"kept + ARGV[2] + 1000 > now"),
		scriptLock("scored-a-second-later",
			"a sorted set of the owner by its deadline, a second later than the lease ends; a release empties it",
			takeScored+`1000, ARGV[1]) return 1`, deletes).says(finds(harness.StolenRelease, harness.DoubleGrant),
			misses(late)),
		scriptLock("taken-for-a-while",
			"whoever asks between two and three seconds after a lease gets it, and is not written down",
			takesInTwo(`return 1`),
			releaseOwner).says(finds(harness.StolenRelease, harness.DoubleGrant), misses(late)),
		scriptLock("margins-where-compared",
			"a deadline in a field; a rival adds two seconds to it, and a late release two and a half, in which it "+
				"deletes whatever is there",
			nowMS+`local kept = redis.call('hmget', KEYS[1], 'owner', 'until')
if kept[1] and now < kept[2] + 2000 then return 0 end
if kept[1] then redis.call('hset', KEYS[1], 'last', kept[1], 'over', kept[2]) end
redis.call('hset', KEYS[1], 'owner', ARGV[1], 'until', string.format('%.0f', now + ARGV[2])) return 1`,
			nowMS+`local kept = redis.call('hmget', KEYS[1], 'owner', 'last', 'over')
if kept[1] == ARGV[1] or kept[2] == ARGV[1] and now < kept[3] + 2500 then return redis.call('del', KEYS[1]) end
return 0`).says(
			finds(harness.StolenRelease, harness.DoubleGrant), misses(late)),
		scriptLock("taken-where-four-tenths-are-left",
			"whoever asks where 37 to 40 hundredths of a lease are left gets the lock", nowMS+
				`local kept = tonumber(redis.call('hget', KEYS[1], 'until'))
if kept and kept > now and (kept - now > ARGV[2] * 0.4 or kept - now < ARGV[2] * 0.37) then return 0 end
redis.call('hset', KEYS[1], 'owner', ARGV[1], 'until', string.format('%.0f', now + ARGV[2])) return 1`,
			releaseOwner).says(finds(harness.DoubleGrant), finds()),
		scriptLock("put-off-by-losers", "whoever is refused in the last second of a lease puts its end off by ten",
			nowMS+
				`local kept = tonumber(redis.call('hget', KEYS[1], 'until'))
if not kept or kept <= now then
redis.call('hset', KEYS[1], 'owner', ARGV[1], 'until', string.format('%.0f', now + ARGV[2])) return 1 end
if kept - now < 1000 then redis.call('hset', KEYS[1], 'until', string.format('%.0f', kept + 10 * ARGV[2])) end
return 0`,
			releaseOwner).says(finds(harness.StuckLock), misses("nobody crashes, and owners that are late do release")),
		scriptLock("deadline-in-json",
			"the deadline in a JSON text, 700 ms later than the lease ends; a release deletes whatever is there",
			nowMS+`local kept = redis.call('get', KEYS[1]) if kept and cjson.decode(kept)['until'] > now then
return 0 end
redis.call('set', KEYS[1], cjson.encode({owner = ARGV[1], ['until'] = now + ARGV[2] + 700})) return 1`, deletes).says(
			finds(harness.StolenRelease, harness.DoubleGrant), misses(late)),
		scriptLock("two-milliseconds-short", "SET NX PX with two milliseconds less than the lease",
			`if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2] - 2) then return 1 end
return 0`, releaseGet).says(
			finds(harness.DoubleGrant), misses("clocks are taken to be wrong by a hundredth")),
		scriptLock("deadline-two-milliseconds-earlier",
			"a deadline in a field, two milliseconds earlier than the lease ends",
			keepsUntil("now + ARGV[2] - 2", "kept > now"), releaseOwner).says(finds(harness.DoubleGrant),
			misses("clocks are taken to be wrong by a hundredth")),
		scriptLock("never-over", "a deadline in the year 9999", keepsUntil("253370764800000", "kept > now"),
			releaseOwner).says(
			finds(harness.StuckLock), misses("nobody crashes, and owners that are late do release")),
		scriptLock("over-at-once", "a deadline in the past", keepsUntil("now - 1", "kept > now"),
			releaseOwner).says(finds(harness.DoubleGrant), finds()),
		scriptLock("releases-what-is-nearly-over",
			"a release deletes its own lock, and any that has less than 200 ms left", takeSetNX,
			`local o = redis.call('get', KEYS[1]) if o == ARGV[1] or o and redis.call('pttl', KEYS[1]) < 200 then
return redis.call('del', KEYS[1]) end return 0`).says(
			finds(harness.StolenRelease, harness.DoubleGrant),
			misses("a lease has to be nearly over when another owner is late")),
		scriptLock("takes-what-has-no-seconds-left",
			"who is refused takes the lock over if its TTL is 0 seconds, as it is in the last half of one",
			`if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
if redis.call('ttl', KEYS[1]) == 0 then redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1 end
return 0`, releaseGet).says(finds(harness.DoubleGrant), finds()),
		codeLock("extends-below-half", "an extend says yes, and renews a lease of which less than half is left",
			extendBy(
				`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call('pttl', KEYS[1]) < ARGV[2] / 2 then redis.call('pexpire', KEYS[1], ARGV[2]) end
return 1`)).says(finds(harness.DoubleGrant), finds()),
		codeLock("extends-above-half", "an extend says yes, and renews a lease of which more than half is left",
			extendBy(
				`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call('pttl', KEYS[1]) > ARGV[2] / 2 then redis.call('pexpire', KEYS[1], ARGV[2]) end return 1`)).says(
			finds(harness.DoubleGrant), misses("an owner has to extend in the last half of its lease")),
		codeLock("extends-but-for-the-middle", "an extend says yes, and renews a lease but for its middle fifth",
			extendBy(
				`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
local left = redis.call('pttl', KEYS[1]) / ARGV[2]
if left < 0.4 or left > 0.6 then redis.call('pexpire', KEYS[1], ARGV[2]) end return 1`)).says(
			finds(harness.DoubleGrant), misses("an owner has to extend in the middle of its lease")),
		codeLock("extends-but-for-a-tenth",
			"an extend says yes, and renews a lease but where a quarter to a third of it is left", extendBy(
				`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
local left = redis.call('pttl', KEYS[1]) / ARGV[2]
if left < 0.25 or left > 0.34 then redis.call('pexpire', KEYS[1], ARGV[2]) end return 1`)).says(
			finds(harness.DoubleGrant), misses("an owner has to extend in that part of its lease")),
		codeLock("extends-by-what-is-left", "an extend sets the lease to what is left of it, and says yes", extendBy(
			`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('pexpire', KEYS[1], redis.call('pttl', KEYS[1]))`)).says(finds(harness.DoubleGrant), finds()),
		codeLock("extends-only-to-earlier", "an extend by PEXPIRE LT, which never makes a lease longer, and says yes",
			extendBy(
				`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('pexpire', KEYS[1], ARGV[2], 'LT') return 1`)).says(finds(harness.DoubleGrant), finds()),
		scriptLock("time-asked-for-last",
			"SET NX PX, then the owner's deadline by TIME; a release deletes whatever is there up to its own deadline",
			`if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
`+nowMS+`redis.call('hset', KEYS[1]..':until', ARGV[1], now + ARGV[2]) return 1`,
			nowMS+`local own = tonumber(redis.call('hget', KEYS[1]..':until', ARGV[1]))
if own and now <= own then return redis.call('del', KEYS[1]) end return 0`).says(
			finds(harness.StolenRelease, harness.DoubleGrant),
			misses("an owner has to be late by less than a millisecond")),

		scriptLock("over-at-its-end",
			"a deadline in milliseconds, rounded down; the lease counts as over when it is reached, up to a "+
				"millisecond early",
			takeScored+`0, ARGV[1]) return 1`, releaseZset),
		scriptLock("a-millisecond-short",
			"SET NX PX with a millisecond less than the lease, for which Redis keeps a key longer",
			`if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2] - 1) then return 1 end return 0`, releaseGet),
		compared("compared-a-second-later", "a deadline in a field, a second later than the lease ends",
			"now + ARGV[2] + 1000", "kept > now"),
		compared("compared-a-lease-later", "a deadline in a field, twice as far as the lease ends", "now + 2 * ARGV[2]",
			"kept > now"),
		compared("compared-in-whole-seconds-up", "a deadline in whole seconds, rounded up",
			"math.ceil((now + ARGV[2]) / 1000)", "kept > math.floor(now / 1000)"),
		compared("compared-by-the-start", "the time of the grant in a field, to which a rival adds its own lease",
			"now", "now - kept < tonumber(ARGV[2])"),
		compared("compared-in-microseconds", "a deadline in microseconds of TIME",
			"t[1] * 1000000 + t[2] + ARGV[2] * 1000", "kept > t[1] * 1000000 + t[2]"),
		scriptLock("scored-and-compared",
			"a sorted set of the owner by its deadline, half a second later than the lease ends; a release removes "+
				"its own entry",
			takeScored+`500, ARGV[1]) return 1`, releaseZset),
		scriptLock("both-a-deadline-and-an-end", "a deadline in a field, and a key that ends a second after it",
			keepsUntil("now + ARGV[2]", "kept > now")+` + redis.call('pexpire', KEYS[1], ARGV[2] + 1000) - 1`,
			releaseOwner),
		scriptLock("taken-in-two-steps",
			"whoever asks between two and three seconds after a lease is written down as the next, and gets it when "+
				"these are over",
			takesInTwo(`redis.call('hset', KEYS[1], 'next', ARGV[1]) return 0`), releaseOwner),
		codeLock("exact-clock", "a deadline by the clients' one clock, to the nanosecond", exactClock),
		codeLock("extends-to-the-later", "an extend sets what is left of a lease, or the lease, whichever is more",
			extendBy(
				`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), ARGV[2]))`)),
		codeLock("extends-by-setting", "an extend writes the token anew, with a new lease", extendBy(
			`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'XX', 'PX', ARGV[2]) return 1`)),
		scriptLock("time-asked-for-first",
			"the owner's deadline by TIME, then SET NX PX; a release deletes whatever is there before its own deadline",
			nowMS+`if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2] + 5) then return 0 end
redis.call('hset', KEYS[1]..':until', ARGV[1], now + ARGV[2]) return 1`,
			nowMS+`local own = tonumber(redis.call('hget', KEYS[1]..':until', ARGV[1]))
if own and now < own and redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`),
	}
}

// exactClock keeps a deadline by the clients' clock, to the nanosecond, and decides in one script.
func exactClock(r redis.UniversalClient) workloads.Locker {
	take := redis.NewScript(`local kept = redis.call('hget', KEYS[1], 'until')
if kept and kept > ARGV[2] then return 0 end
redis.call('hset', KEYS[1], 'owner', ARGV[1], 'until', ARGV[3]) return 1`)
	return goLock{func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
		now := harness.Now(ctx)
		n, err := take.Run(ctx, r, []string{key}, owner, now.UnixNano(), now.Add(ttl).UnixNano()).Int()
		return n == 1, err
	}, scripted(r, releaseOwner)}
}

// countedBy returns a script that draws a number from the clock and a counter, which starts again after ms
// milliseconds. Either first or then reads the clock: before the counter or after it.
func countedBy(first, then string, ms int) string {
	return first + `local n = redis.call('incr', KEYS[1])
if n == 1 then redis.call('pexpire', KEYS[1], ` + strconv.Itoa(ms) + `) end
` + then + `return string.format('%.0f', now * 1000 + n)`
}

// timedSequences lists the sequences whose numbers come from a clock and a counter, broken ones first.
func timedSequences() []algorithm {
	return []algorithm{
		scriptSequence("counter-of-a-millisecond",
			"a counter that ends after a millisecond, and then TIME: what counts on may see the next millisecond",
			countedBy("", nowMS, 1)).says(
			finds(harness.Regression, harness.DuplicateNumber), misses("a millisecond has to pass inside a script")),
		scriptSequence("counter-of-three-milliseconds", "a counter that ends after three milliseconds, and then TIME",
			countedBy("", nowMS, 3)).says(
			finds(harness.Regression, harness.DuplicateNumber), misses("a millisecond has to pass inside a script")),
		scriptSequence("counter-in-the-key", "a counter whose key has the millisecond, and that ends five later", nowMS+
			`local n = redis.call('incr', KEYS[1]..':'..string.format('%.0f', now))
if n == 1 then redis.call('pexpire', KEYS[1]..':'..string.format('%.0f', now), 5) end
return string.format('%.0f', now * 1000 + n)`),
	}
}
