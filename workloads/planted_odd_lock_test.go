package workloads_test

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/workloads"
)

func oddLocks() []planted {
	lock := func(name, doc, acquire, release string) planted {
		return planted{name: name, doc: doc, as: workloads.Lock, script: workloads.Script{Source: acquire, Release: release}, sound: true, explorer: holds, load: holds}
	}
	return append([]planted{
		lock("stream", "the only entry of a stream is the owner; its id is the time of the grant, from which the end of the lease follows",
			nowMS+`redis.call('xtrim', KEYS[1], 'MINID', '=', now - ARGV[2])
if redis.call('xlen', KEYS[1]) > 0 then return 0 end redis.call('xadd', KEYS[1], '*', 'owner', ARGV[1]) return 1`,
			`for _, e in ipairs(redis.call('xrange', KEYS[1], '-', '+')) do if e[2][2] == ARGV[1] then return redis.call('xdel', KEYS[1], e[1]) end end return 0`),
		lock("pool", "a token in a list moves to its owner by LMOVE, and back when the lease is over; only its owner returns it",
			`if redis.call('exists', KEYS[1]..':lease') == 1 then return 0 end
redis.call('del', KEYS[1], KEYS[1]..':busy') redis.call('rpush', KEYS[1], 'token')
redis.call('lmove', KEYS[1], KEYS[1]..':busy', 'LEFT', 'RIGHT') redis.call('set', KEYS[1]..':lease', ARGV[1], 'PX', ARGV[2]) return 1`,
			`if redis.call('get', KEYS[1]..':lease') ~= ARGV[1] then return 0 end
redis.call('lmove', KEYS[1]..':busy', KEYS[1], 'LEFT', 'RIGHT') return redis.call('del', KEYS[1]..':lease')`),
		lock("json", "the owner is a field of a JSON text, which a release decodes and compares whole",
			`if redis.call('set', KEYS[1], cjson.encode({owner = ARGV[1], ttl = ARGV[2]}), 'NX', 'PX', ARGV[2]) then return 1 end return 0`,
			`local cur = redis.call('get', KEYS[1]) if cur and cjson.decode(cur).owner == ARGV[1] then return redis.call('unlink', KEYS[1]) end return 0`),
		lock("exat", "the lease ends at the second whole second of the server's clock from now",
			`local t = redis.call('time') if redis.call('set', KEYS[1], ARGV[1], 'NX', 'EXAT', t[1] + math.ceil(ARGV[2]/1000) + 1) then return 1 end return 0`, releaseGet),
		lock("copy", "SET of a private key with a lease, then COPY to the lock, which copies the lease too",
			`redis.call('set', KEYS[1]..':'..ARGV[1], ARGV[1], 'PX', ARGV[2])
local n = redis.call('copy', KEYS[1]..':'..ARGV[1], KEYS[1]) redis.call('del', KEYS[1]..':'..ARGV[1]) return n`, releaseGet),
		lock("generations", "the value is a counter and the token; a release compares what comes after the first colon",
			`if redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('set', KEYS[1], redis.call('incr', KEYS[1]..':grants')..':'..ARGV[1], 'PX', ARGV[2]) return 1`,
			`local cur = redis.call('get', KEYS[1]) if cur and string.match(cur, '^%d+:(.*)$') == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`),
		lock("group", "XGROUP CREATE: a group that exists is a lock that is held",
			`local r = redis.pcall('xgroup', 'create', KEYS[1], 'lock', '$', 'MKSTREAM') if r.err then return 0 end
redis.call('xadd', KEYS[1], '*', 'owner', ARGV[1]) redis.call('pexpire', KEYS[1], ARGV[2]) return 1`,
			`local e = redis.call('xrange', KEYS[1], '-', '+')[1] if e and e[2][2] == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`),
		lock("fair", "a client that is refused waits in a sorted set for a tenth of a second, and is served before later ones",
			nowMS+`redis.call('zremrangebyscore', KEYS[1]..':queue', '-inf', '('..now)
local first = redis.call('zrange', KEYS[1]..':queue', 0, 0)[1]
if (first and first ~= ARGV[1]) or not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  redis.call('zadd', KEYS[1]..':queue', 'NX', now + 100, ARGV[1]) redis.call('pexpire', KEYS[1]..':queue', 200) return 0
end
redis.call('zrem', KEYS[1]..':queue', ARGV[1]) return 1`, releaseGet),
		lock("sweeps-and-refuses", "a deadline by the server's clock; an acquire that finds it over deletes the lock and is refused, and the next one is granted",
			nowMS+`local d = redis.call('hget', KEYS[1], 'until')
if d then if tonumber(d) < now then redis.call('del', KEYS[1]) end return 0 end
redis.call('hset', KEYS[1], 'until', now + ARGV[2], 'owner', ARGV[1]) return 1`,
			`if redis.call('hget', KEYS[1], 'owner') == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`),
		lock("stream-trimmed-about", "as stream, but trimmed by MINID ~: a node of one entry is trimmed whole",
			nowMS+`redis.call('xtrim', KEYS[1], 'MINID', '~', now - ARGV[2])
if redis.call('xlen', KEYS[1]) > 0 then return 0 end redis.call('xadd', KEYS[1], '*', 'owner', ARGV[1]) return 1`,
			`for _, e in ipairs(redis.call('xrange', KEYS[1], '-', '+')) do if e[2][2] == ARGV[1] then return redis.call('xdel', KEYS[1], e[1]) end end return 0`),
		lock("cools-down", "after a release nobody gets the lock for a fiftieth of a second", takeSetNX,
			`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end redis.call('set', KEYS[1], 'nobody', 'PX', 20) return 1`),
		lock("refuses-by-error", "refuses by an error reply",
			`if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return redis.error_reply('HELD by another')`, releaseGet).of(2),
		lock("two-bits", "a bit says that the lock is held, a string says by whom; both have the lease and are deleted together",
			`if redis.call('getbit', KEYS[1], 7) == 1 then return 0 end
redis.call('setbit', KEYS[1], 7, 1) redis.call('pexpire', KEYS[1], ARGV[2]) redis.call('set', KEYS[1]..':by', ARGV[1], 'PX', ARGV[2]) return 1`,
			`if redis.call('get', KEYS[1]..':by') == ARGV[1] then return redis.call('del', KEYS[1], KEYS[1]..':by') - 1 end return 0`),
		lock("nearly-two-leases", "keeps the lock for nearly twice what was asked for, unless it is released",
			`if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', math.floor(ARGV[2]*1.9)) then return 1 end return 0`, releaseGet),
	}, oddLockers()...)
}

func oddLockers() []planted {
	lock := func(name, doc string, l func(redis.UniversalClient) workloads.Locker) planted {
		return planted{name: name, doc: doc, as: workloads.Lock, locker: l, sound: true, explorer: holds, load: holds, clients: 2}
	}
	release := luaCall(releaseGet)
	return []planted{
		lock("rename", "SET of a private key with a lease, then RENAMENX to the lock", pair(func(r redis.UniversalClient) zooCall {
			return func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
				mine := key + ":" + owner
				if err := r.Set(ctx, mine, owner, ttl).Err(); err != nil {
					return false, err
				}
				ok, err := r.RenameNX(ctx, mine, key).Result()
				if err != nil && strings.Contains(err.Error(), "no such key") {
					return false, nil // it took so long that the lease is over
				}
				if err == nil && !ok {
					err = r.Del(ctx, mine).Err()
				}
				return ok, err
			}
		}, release)),
		lock("waits-for-it", "an acquire asks up to three times, half a lease apart", pair(func(r redis.UniversalClient) zooCall {
			return func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
				for range 2 {
					if ok, err := r.SetNX(ctx, key, owner, ttl).Result(); ok || err != nil {
						return ok, err
					}
					if err := harness.Sleep(ctx, ttl/2); err != nil {
						return false, err
					}
				}
				return r.SetNX(ctx, key, owner, ttl).Result()
			}
		}, release)),
		lock("asks-who-has-it", "an acquire without an answer is sent again, and a refusal is taken for its own grant only if the stored token is its own", pair(func(r redis.UniversalClient) zooCall {
			return func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
				ok, err := r.SetNX(ctx, key, owner, ttl).Result()
				if err == nil {
					return ok, nil
				}
				return scripted(r, `local cur = redis.call('get', KEYS[1]) if cur and cur ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`)(ctx, key, owner, ttl)
			}
		}, release)),
		lock("pending-then-held", "takes the lock as pending, then confirms it by a compare-and-set that starts the lease anew", pair(func(r redis.UniversalClient) zooCall {
			held := scripted(r, `if redis.call('get', KEYS[1]) ~= 'pending:'..ARGV[1] then return 0 end redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`)
			return func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
				if ok, err := r.SetNX(ctx, key, "pending:"+owner, ttl).Result(); err != nil || !ok {
					return false, err
				}
				return held(ctx, key, owner, ttl)
			}
		}, release)),
		lock("extends-before-it-looks", "an extend renews whatever lease is there before it compares the owner: another owner's lease gets longer, which harms nobody", extendBy(
			`local cur = redis.call('getex', KEYS[1], 'PX', ARGV[2]) if cur == ARGV[1] then return 1 end return 0`)),
		lock("extends-only-to-later", "an extend by PEXPIRE GT never makes a lease shorter", extendBy(
			`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end redis.call('pexpire', KEYS[1], ARGV[2], 'GT') return 1`)),
		lock("transaction-of-refused", "MULTI SETNX PEXPIRE: an acquire that is refused makes the owner's lease longer", pair(func(r redis.UniversalClient) zooCall {
			return func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
				var got *redis.BoolCmd
				_, err := r.TxPipelined(ctx, func(p redis.Pipeliner) error {
					got = p.SetNX(ctx, key, owner, 0)
					return p.PExpire(ctx, key, ttl).Err()
				})
				return err == nil && got.Val(), err
			}
		}, release)),
		lock("fence-of-time", "fencing tokens are the server's microseconds, or one more than the last", func(r redis.UniversalClient) workloads.Locker {
			return &fenced{redis: r, release: scripted(r, releaseGet), counter: `local t = redis.call('time') local n = t[1]*1000000 + t[2]
n = string.format('%.0f', math.max(n, tonumber(redis.call('get', KEYS[1]..':fence') or '0') + 1)) redis.call('set', KEYS[1]..':fence', n) return n`}
		}),
	}
}
