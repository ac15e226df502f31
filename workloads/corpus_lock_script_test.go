package workloads_test

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// lockScripts lists locks in Lua, broken ones first.
func lockScripts() []algorithm {
	return []algorithm{
		scriptLock("counter-given-back-late",
			"INCR is 1: granted; released by DECR, which after the lease leaves -1 for ever",
			`if redis.call('incr', KEYS[1]) == 1 then redis.call('pexpire', KEYS[1], ARGV[2]) return 1 end
redis.call('decr', KEYS[1]) return 0`,
			`redis.call('decr', KEYS[1]) return 1`).says(finds(harness.StuckLock, harness.StolenRelease,
			harness.DoubleGrant), finds()),
		scriptLock("hash-lease-of-the-first-owner",
			"a hash counts the grants and stays after a release; PEXPIRE NX then gives the next owner the end of the "+
				"first owner's lease",
			`if redis.call('hsetnx', KEYS[1], 'owner', ARGV[1]) == 0 then return 0 end
redis.call('hincrby', KEYS[1], 'grants', 1) redis.call('pexpire', KEYS[1], ARGV[2], 'NX') return 1`,
			`if redis.call('hget', KEYS[1], 'owner') == ARGV[1] then return redis.call('hdel', KEYS[1], 'owner') end
return 0`).says(finds(harness.DoubleGrant), finds()),
		scriptLock("guard-deleted-blindly",
			"a guard key and an owner key; a release compares the owner, but deletes the guard in any case",
			`if not redis.call('set', KEYS[1], 1, 'NX', 'PX', ARGV[2]) then return 0 end
redis.call('set', KEYS[1]..':owner', ARGV[1], 'PX', ARGV[2]) return 1`,
			`redis.call('del', KEYS[1]) if redis.call('get', KEYS[1]..':owner') == ARGV[1] then
return redis.call('del', KEYS[1]..':owner') end
return 0`).says(finds(harness.StolenRelease, harness.DoubleGrant), finds()),
		scriptLock("shared-reentry-count", "a re-entrant lock; a release lowers the count without comparing the owner",
			`local o = redis.call('hget', KEYS[1], 'owner') if o and o ~= ARGV[1] then return 0 end
redis.call('hset', KEYS[1], 'owner', ARGV[1]) redis.call('hincrby', KEYS[1], 'count', 1)
redis.call('pexpire', KEYS[1], ARGV[2]) return 1`,
			`if redis.call('hincrby', KEYS[1], 'count', -1) <= 0 then redis.call('del', KEYS[1]) end
return 1`).says(finds(harness.StolenRelease, harness.DoubleGrant), finds()),
		scriptLock("queue-popped-blindly",
			"the first entry of a list is the owner; a release pops the first entry, whoever it is",
			`redis.call('rpush', KEYS[1], ARGV[1])
if redis.call('lindex', KEYS[1], 0) ~= ARGV[1] then redis.call('rpop', KEYS[1]) return 0 end
redis.call('pexpire', KEYS[1], ARGV[2]) return 1`,
			`if redis.call('lpop', KEYS[1]) then return 1 end return 0`).says(finds(harness.StolenRelease), finds()),
		scriptLock("tokens-as-numbers",
			"tokens are compared as numbers; none of them is a number, so nil is compared with nil", takeSetNX,
			`if tonumber(redis.call('get', KEYS[1]) or '') == tonumber(ARGV[1]) then
return redis.call('del', KEYS[1]) end return 0`).says(finds(harness.StolenRelease), finds()),
		scriptLock("token-inside-json", "the owner is in a JSON text, and a release looks for its token anywhere in it",
			`if redis.call('set', KEYS[1], cjson.encode({owner = ARGV[1], ttl = ARGV[2]}), 'NX', 'PX', ARGV[2]) then
return 1 end return 0`,
			`local cur = redis.call('get', KEYS[1]) if cur and string.find(cur, ARGV[1], 1, true) then
return redis.call('del', KEYS[1]) end return 0`).says(finds(harness.StolenRelease), finds()),
		scriptLock("token-ends-alike",
			"a release compares only the ends of tokens: its own, without the first seven characters, with as many "+
				"last characters of the stored one", takeSetNX,
			`local cur = redis.call('get', KEYS[1]) local tail = string.sub(ARGV[1], 8)
if cur and string.sub(cur, -#tail) == tail then return redis.call('del', KEYS[1]) end
return 0`).says(finds(harness.StolenRelease), finds()),
		scriptLock("token-without-case", "a release compares tokens as if upper and lower case were the same",
			takeSetNX,
			`local cur = redis.call('get', KEYS[1]) if cur and string.lower(cur) == string.lower(ARGV[1]) then
return redis.call('del', KEYS[1]) end return 0`).says(finds(harness.StolenRelease), finds()),
		scriptLock("bit", "granted if SETBIT found 0; a release clears the bit, whoever set it",
			`if redis.call('setbit', KEYS[1], 0, 1) == 1 then return 0 end redis.call('pexpire', KEYS[1], ARGV[2])
return 1`,
			`return redis.call('setbit', KEYS[1], 0, 0)`).says(finds(harness.StolenRelease), finds()),
		scriptLock("milliseconds-for-seconds",
			"SET NX EX with the milliseconds of the lease: an owner that crashes keeps the lock a thousand times as "+
				"long",
			`if redis.call('set', KEYS[1], ARGV[1], 'NX', 'EX', ARGV[2]) then return 1 end return 0`,
			releaseGet).says(finds(harness.StuckLock), misses("nobody crashes, and owners that are late do release")),
		scriptLock("stream-of-seconds",
			"the first entry of a stream is the owner; XTRIM MINID should end leases, but its id is in seconds, so it "+
				"never does",
			`local t = redis.call('time') redis.call('xtrim', KEYS[1], 'MINID', t[1] - math.ceil(ARGV[2]/1000))
if redis.call('xlen', KEYS[1]) > 0 then return 0 end redis.call('xadd', KEYS[1], '*', 'owner', ARGV[1]) return 1`,
			`for _, e in ipairs(redis.call('xrange', KEYS[1], '-', '+')) do if e[2][2] == ARGV[1] then
return redis.call('xdel', KEYS[1], e[1]) end end
return 0`).says(finds(harness.StuckLock), misses("nobody crashes, and owners that are late do release")),
		scriptLock("slot-of-time",
			"time is cut into slots as long as the lease, each with its own key: the owner in the slot before may "+
				"still hold the lock",
			nowMS+`if redis.call('set', KEYS[1]..':'..math.floor(now/ARGV[2]), ARGV[1], 'NX', 'PX', ARGV[2]) then
return 1 end return 0`,
			`local t = redis.call('time') local n = 0 for _, k in ipairs(redis.call('keys', KEYS[1]..':*')) do
if redis.call('get', k) == ARGV[1] then n = redis.call('del', k) end end
return n`).says(finds(harness.DoubleGrant), finds()),
		scriptLock("seconds-since-midnight", "a deadline in whole seconds of the day, which starts again at midnight",
			`local t = redis.call('time') local now = t[1] % 86400
local d = redis.call('hget', KEYS[1], 'until')
if d and tonumber(d) >= now and tonumber(d) - now <= ARGV[2]/1000 + 1 then return 0 end
redis.call('hset', KEYS[1], 'until', now + math.ceil(ARGV[2]/1000), 'owner', ARGV[1]) return 1`,
			releaseOwner).says(finds(harness.DoubleGrant), misses("it needs a load at midnight")),
		scriptLock("deadline-in-seconds", "a deadline in whole seconds, all rounded down",
			`local t = redis.call('time') local now = tonumber(t[1])
local d = redis.call('hget', KEYS[1], 'until')
if d and tonumber(d) > now then return 0 end
redis.call('hset', KEYS[1], 'until', now + math.max(1, math.floor(ARGV[2]/1000)), 'owner', ARGV[1]) return 1`,
			releaseOwner).says(finds(harness.DoubleGrant), finds()),
		scriptLock("error-is-yes", "pcall returns the error of a bad lease as a table, which is true",
			`if redis.pcall('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]..'.0') then return 1 end return 0`,
			releaseGet).says(finds(harness.DoubleGrant), finds()),
		scriptLock("pool-returned-late",
			"a list holds one token, which an acquire takes; a new one is added when the lease is over, and a late "+
				"return makes two",
			`if redis.call('exists', KEYS[1]..':lease') == 0 and redis.call('llen', KEYS[1]) == 0 then
redis.call('rpush', KEYS[1], 'token') end
if not redis.call('lpop', KEYS[1]) then return 0 end redis.call('set', KEYS[1]..':lease', ARGV[1], 'PX', ARGV[2])
return 1`,
			`redis.call('rpush', KEYS[1], 'token') if redis.call('get', KEYS[1]..':lease') == ARGV[1] then
return redis.call('del', KEYS[1]..':lease') end
return 0`).says(finds(harness.StolenRelease, harness.DoubleGrant), finds()),
		scriptLock("one-end-for-all-locks",
			"one hash for all locks; it ends with the lease of the last grant, of whichever lock",
			`if redis.call('hsetnx', 'locks', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('pexpire', 'locks', ARGV[2]) return 1`,
			`if redis.call('hget', 'locks', KEYS[1]) == ARGV[1] then return redis.call('hdel', 'locks', KEYS[1]) end
return 0`).says(misses("one lock only"), misses("nobody else may be granted any lock for a short lease")),
		scriptLock("releases-all-locks",
			"a release compares the owner, then deletes every lock whose name begins in the same way", takeSetNX,
			`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
for _, k in ipairs(redis.call('keys', string.sub(KEYS[1], 1, 4)..'*')) do redis.call('del', k) end
return 1`).says(finds(harness.DoubleGrant), finds()),
		scriptLock("lease-of-last-asker", "an acquire that is refused sets the lease to what is left of it, in seconds",
			`if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
local left = redis.call('ttl', KEYS[1]) if left > 0 then redis.call('expire', KEYS[1], left - 1) end
return 0`, releaseGet).says(finds(harness.DoubleGrant), finds()),
		scriptLock("three-hundredths-short", "SET NX PX with 97 hundredths of the lease",
			`if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', math.floor(ARGV[2]*0.97)) then return 1 end return 0`,
			releaseGet).says(finds(harness.DoubleGrant), finds()),
		scriptLock("seconds-rounded-down", "SET NX EX with the whole seconds of the lease",
			`if redis.call('set', KEYS[1], ARGV[1], 'NX', 'EX', math.max(1, math.floor(ARGV[2]/1000))) then return 1 end
return 0`, releaseGet).leased(9900*time.Millisecond).steps(3).says(finds(harness.DoubleGrant), finds()),
		scriptLock("smaller-name-takes-it", "who has the smaller name takes the lock from its owner",
			`local cur = redis.call('get', KEYS[1]) if cur and ARGV[1] >= cur then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`, releaseGet).steps(2).says(finds(harness.DoubleGrant), finds()),
		scriptLock("taken-near-its-end", "who asks in the last 20 ms of a lease takes the lock over",
			`if redis.call('exists', KEYS[1]) == 1 and redis.call('pttl', KEYS[1]) > 20 then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`, releaseGet).steps(5).says(finds(harness.DoubleGrant), finds()),
		scriptLock("owner-compared-in-part", "re-entrant; the owner's token is compared as far as the asker's goes",
			`local cur = redis.call('get', KEYS[1]) if cur and string.sub(cur, 1, #ARGV[1]) ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`, releaseGet).says(finds(harness.DoubleGrant), finds()),
		scriptLock("asker-compared-in-part", "re-entrant; the asker's token is compared as far as the owner's goes",
			`local cur = redis.call('get', KEYS[1]) if cur and string.sub(ARGV[1], 1, #cur) ~= cur then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`, releaseGet).says(finds(harness.DoubleGrant), finds()),
		scriptLock("asker-without-case", "re-entrant; tokens are compared as if upper and lower case were the same",
			`local cur = redis.call('get', KEYS[1]) if cur and string.upper(cur) ~= string.upper(ARGV[1]) then
return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`, releaseGet).says(finds(harness.DoubleGrant), finds()),
		scriptLock("token-begins-alike", "a release compares the stored token as far as its own goes", takeSetNX,
			`local cur = redis.call('get', KEYS[1])
if cur and string.sub(cur, 1, #ARGV[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
return 0`).says(finds(harness.StolenRelease), finds()),
		scriptLock("token-as-long", "a release compares the lengths of tokens", takeSetNX,
			`local cur = redis.call('get', KEYS[1]) if cur and #cur == #ARGV[1] then
return redis.call('del', KEYS[1]) end return 0`).says(finds(harness.StolenRelease), finds()),
		scriptLock("token-not-smaller", "a release deletes the lock if the stored token is its own or a larger one",
			takeSetNX,
			`local cur = redis.call('get', KEYS[1]) if cur and cur >= ARGV[1] then return redis.call('del', KEYS[1]) end
return 0`).steps(5).says(finds(harness.StolenRelease, harness.DoubleGrant), finds()),
		scriptLock("semaphore-of-two", "a sorted set of owners and the ends of their leases, of whom there may be two",
			nowMS+`redis.call('zremrangebyscore', KEYS[1], '-inf', now) if redis.call('zcard', KEYS[1]) > 1 then
return 0 end
redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1]) return 1`, releaseZset).says(finds(harness.DoubleGrant), finds()),
		scriptLock("refuses-everybody", "never grants anything", `return 0`, releaseGet).says(
			cannot("no acquire ever succeeded"), cannot("no acquire was ok")),

		scriptLock("stream",
			"the only entry of a stream is the owner; its id is the time of the grant, from which the end of the "+
				"lease follows",
			nowMS+`redis.call('xtrim', KEYS[1], 'MINID', '=', now - ARGV[2])
if redis.call('xlen', KEYS[1]) > 0 then return 0 end redis.call('xadd', KEYS[1], '*', 'owner', ARGV[1]) return 1`,
			`for _, e in ipairs(redis.call('xrange', KEYS[1], '-', '+')) do if e[2][2] == ARGV[1] then
return redis.call('xdel', KEYS[1], e[1]) end end return 0`),
		scriptLock("pool",
			"a token in a list moves to its owner by LMOVE, and back when the lease is over; only its owner returns it",
			`if redis.call('exists', KEYS[1]..':lease') == 1 then return 0 end
redis.call('del', KEYS[1], KEYS[1]..':busy') redis.call('rpush', KEYS[1], 'token')
redis.call('lmove', KEYS[1], KEYS[1]..':busy', 'LEFT', 'RIGHT')
redis.call('set', KEYS[1]..':lease', ARGV[1], 'PX', ARGV[2]) return 1`,
			`if redis.call('get', KEYS[1]..':lease') ~= ARGV[1] then return 0 end
redis.call('lmove', KEYS[1]..':busy', KEYS[1], 'LEFT', 'RIGHT') return redis.call('del', KEYS[1]..':lease')`),
		scriptLock("json", "the owner is a field of a JSON text, which a release decodes and compares whole",
			`if redis.call('set', KEYS[1], cjson.encode({owner = ARGV[1], ttl = ARGV[2]}), 'NX', 'PX', ARGV[2]) then
return 1 end return 0`,
			`local cur = redis.call('get', KEYS[1]) if cur and cjson.decode(cur).owner == ARGV[1] then
return redis.call('unlink', KEYS[1]) end return 0`),
		scriptLock("exat", "the lease ends at the second whole second of the server's clock from now",
			`local t = redis.call('time')
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'EXAT', t[1] + math.ceil(ARGV[2]/1000) + 1) then return 1 end
return 0`, releaseGet),
		scriptLock("copy", "SET of a private key with a lease, then COPY to the lock, which copies the lease too",
			`redis.call('set', KEYS[1]..':'..ARGV[1], ARGV[1], 'PX', ARGV[2])
local n = redis.call('copy', KEYS[1]..':'..ARGV[1], KEYS[1]) redis.call('del', KEYS[1]..':'..ARGV[1])
return n`, releaseGet),
		scriptLock("generations",
			"the value is a counter and the token; a release compares what comes after the first colon",
			`if redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('set', KEYS[1], redis.call('incr', KEYS[1]..':grants')..':'..ARGV[1], 'PX', ARGV[2]) return 1`,
			`local cur = redis.call('get', KEYS[1]) if cur and string.match(cur, '^%d+:(.*)$') == ARGV[1] then
return redis.call('del', KEYS[1]) end return 0`),
		scriptLock("group", "XGROUP CREATE: a group that exists is a lock that is held",
			`local r = redis.pcall('xgroup', 'create', KEYS[1], 'lock', '$', 'MKSTREAM') if r.err then return 0 end
redis.call('xadd', KEYS[1], '*', 'owner', ARGV[1]) redis.call('pexpire', KEYS[1], ARGV[2]) return 1`,
			`local e = redis.call('xrange', KEYS[1], '-', '+')[1] if e and e[2][2] == ARGV[1] then
return redis.call('del', KEYS[1]) end return 0`),
		scriptLock("fair",
			"a client that is refused waits in a sorted set for a tenth of a second, and is served before later ones",
			nowMS+`redis.call('zremrangebyscore', KEYS[1]..':queue', '-inf', '('..now)
local first = redis.call('zrange', KEYS[1]..':queue', 0, 0)[1]
if (first and first ~= ARGV[1]) or not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  redis.call('zadd', KEYS[1]..':queue', 'NX', now + 100, ARGV[1]) redis.call('pexpire', KEYS[1]..':queue', 200) return 0
end
redis.call('zrem', KEYS[1]..':queue', ARGV[1]) return 1`, releaseGet),
		scriptLock("sweeps-and-refuses",
			"a deadline by the server's clock; an acquire that finds it over deletes the lock and is refused, and the "+
				"next one is granted",
			nowMS+`local d = redis.call('hget', KEYS[1], 'until')
if d then if tonumber(d) < now then redis.call('del', KEYS[1]) end return 0 end
redis.call('hset', KEYS[1], 'until', now + ARGV[2], 'owner', ARGV[1]) return 1`,
			releaseOwner),
		scriptLock("stream-trimmed-about", "as stream, but trimmed by MINID ~: a node of one entry is trimmed whole",
			nowMS+`redis.call('xtrim', KEYS[1], 'MINID', '~', now - ARGV[2])
if redis.call('xlen', KEYS[1]) > 0 then return 0 end redis.call('xadd', KEYS[1], '*', 'owner', ARGV[1]) return 1`,
			`for _, e in ipairs(redis.call('xrange', KEYS[1], '-', '+')) do if e[2][2] == ARGV[1] then
return redis.call('xdel', KEYS[1], e[1]) end end return 0`),
		scriptLock("cools-down", "after a release nobody gets the lock for a fiftieth of a second", takeSetNX,
			`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end redis.call('set', KEYS[1], 'nobody', 'PX', 20)
return 1`),
		scriptLock("refuses-by-error", "refuses by an error reply",
			`if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
return redis.error_reply('HELD by another')`, releaseGet).of(2),
		scriptLock("two-bits",
			"a bit says that the lock is held, a string says by whom; both have the lease and are deleted together",
			`if redis.call('getbit', KEYS[1], 7) == 1 then return 0 end
redis.call('setbit', KEYS[1], 7, 1) redis.call('pexpire', KEYS[1], ARGV[2])
redis.call('set', KEYS[1]..':by', ARGV[1], 'PX', ARGV[2]) return 1`,
			`if redis.call('get', KEYS[1]..':by') == ARGV[1] then
return redis.call('del', KEYS[1], KEYS[1]..':by') - 1 end return 0`),
		scriptLock("nearly-two-leases", "keeps the lock for nearly twice what was asked for, unless it is released",
			`if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', math.floor(ARGV[2]*1.9)) then return 1 end return 0`,
			releaseGet),
		scriptLock("set-nx-px", "SET NX PX, and a compare-and-delete: the right lock, which others here change",
			takeSetNX, releaseGet),
		scriptLock("for-a-millisecond", "the same, of a lease of a millisecond", takeSetNX,
			releaseGet).leased(time.Millisecond),
		scriptLock("for-a-year", "the same, of a lease of a year", takeSetNX, releaseGet).leased(365 * 24 * time.Hour),
		scriptLock("reentrant", "a hash counts the grants of its owner, whose next acquire renews the lease",
			`if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('hincrby', KEYS[1], ARGV[1], 1) redis.call('pexpire', KEYS[1], ARGV[2]) return 1`,
			`if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then return redis.call('del', KEYS[1]) end return 0`),
		scriptLock("deadline", "a deadline by the server's clock, in milliseconds; the lock is free one later",
			nowMS+`local d = redis.call('hget', KEYS[1], 'until') if d and tonumber(d) >= now then return 0 end
redis.call('hset', KEYS[1], 'until', now + ARGV[2], 'owner', ARGV[1]) return 1`, releaseOwner),
		scriptLock("sorted-set", "a sorted set of one owner and the end of its lease",
			nowMS+`redis.call('zremrangebyscore', KEYS[1], '-inf', '('..now) if redis.call('zcard', KEYS[1]) > 0 then
return 0 end
redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1]) return 1`, releaseZset),
		scriptLock("pxat", "SET NX PXAT by the server's clock, a millisecond later for the rounding",
			nowMS+`if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PXAT', now + 1 + ARGV[2]) then return 1 end return 0`,
			releaseGet),
		scriptLock("one-hash-for-all-locks",
			"a hash has the owner of every lock, and its deadline by the server's clock",
			nowMS+`local v = redis.call('hget', KEYS[1], ARGV[1])
if v and tonumber(string.match(v, '^(%d+) ')) >= now then return 0 end
redis.call('hset', KEYS[1], ARGV[1], (now + ARGV[3])..' '..ARGV[2]) return 1`,
			`local v = redis.call('hget', KEYS[1], ARGV[1])
if v and string.match(v, '^%d+ (.*)$') == ARGV[2] then return redis.call('hdel', KEYS[1], ARGV[1]) end return 0`).given(
			[]string{"all"}, "{key}", "{owner}", "{ttl_ms}"),
		scriptLock("one-lock-for-all-keys", "SET NX PX of a key that is the same for every lock", takeSetNX,
			releaseGet).given(
			[]string{"one"}, "{owner}", "{ttl_ms}"),
	}
}
