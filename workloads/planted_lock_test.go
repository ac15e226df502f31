package workloads_test

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/workloads"
)

func plantedLocks() []planted { return append(brokenLocks(), oddLocks()...) }

// goLock is a Locker made of functions that cannot renew its lease.
type goLock struct{ take, give zooCall }

func (l goLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return l.take(ctx, key, owner, ttl)
}

func (l goLock) Release(ctx context.Context, key, owner string) (bool, error) {
	return l.give(ctx, key, owner, 0)
}

// pair returns a lock whose acquire and release are made for each connection.
func pair(take, give func(redis.UniversalClient) zooCall) func(redis.UniversalClient) workloads.Locker {
	return func(r redis.UniversalClient) workloads.Locker { return goLock{take(r), give(r)} }
}

// lua is a call that runs a script, for pair.
func luaCall(text string) func(redis.UniversalClient) zooCall {
	return func(r redis.UniversalClient) zooCall { return scripted(r, text) }
}

// nowMS begins scripts that read the server's clock.
const nowMS = `local t = redis.call('time') local now = t[1]*1000 + math.floor(t[2]/1000)
`

func brokenLocks() []planted {
	lock := func(name, doc, acquire, release string, explorer, load said) planted {
		return planted{name: name, doc: doc, as: workloads.Lock, script: workloads.Script{Source: acquire, Release: release}, explorer: explorer, load: load}
	}
	return append([]planted{
		lock("counter-given-back-late", "INCR is 1: granted; released by DECR, which after the lease leaves -1 for ever",
			`if redis.call('incr', KEYS[1]) == 1 then redis.call('pexpire', KEYS[1], ARGV[2]) return 1 end redis.call('decr', KEYS[1]) return 0`,
			`redis.call('decr', KEYS[1]) return 1`, finds(harness.StuckLock, harness.StolenRelease, harness.DoubleGrant), finds()),
		lock("hash-lease-of-the-first-owner", "a hash counts the grants and stays after a release; PEXPIRE NX then gives the next owner the end of the first owner's lease",
			`if redis.call('hsetnx', KEYS[1], 'owner', ARGV[1]) == 0 then return 0 end
redis.call('hincrby', KEYS[1], 'grants', 1) redis.call('pexpire', KEYS[1], ARGV[2], 'NX') return 1`,
			`if redis.call('hget', KEYS[1], 'owner') == ARGV[1] then return redis.call('hdel', KEYS[1], 'owner') end return 0`, finds(harness.DoubleGrant), finds()),
		lock("guard-deleted-blindly", "a guard key and an owner key; a release compares the owner, but deletes the guard in any case",
			`if not redis.call('set', KEYS[1], 1, 'NX', 'PX', ARGV[2]) then return 0 end
redis.call('set', KEYS[1]..':owner', ARGV[1], 'PX', ARGV[2]) return 1`,
			`redis.call('del', KEYS[1]) if redis.call('get', KEYS[1]..':owner') == ARGV[1] then return redis.call('del', KEYS[1]..':owner') end return 0`,
			finds(harness.StolenRelease, harness.DoubleGrant), finds()),
		lock("shared-reentry-count", "a re-entrant lock; a release lowers the count without comparing the owner",
			`local o = redis.call('hget', KEYS[1], 'owner') if o and o ~= ARGV[1] then return 0 end
redis.call('hset', KEYS[1], 'owner', ARGV[1]) redis.call('hincrby', KEYS[1], 'count', 1) redis.call('pexpire', KEYS[1], ARGV[2]) return 1`,
			`if redis.call('hincrby', KEYS[1], 'count', -1) <= 0 then redis.call('del', KEYS[1]) end return 1`, finds(harness.StolenRelease, harness.DoubleGrant), finds()),
		lock("set-of-owners", "granted if SADD of the owner is 1; it is 1 for every new owner, also where another is in the set",
			`if redis.call('sadd', KEYS[1], ARGV[1]) == 1 then redis.call('pexpire', KEYS[1], ARGV[2]) return 1 end return 0`,
			`return redis.call('srem', KEYS[1], ARGV[1])`, finds(harness.DoubleGrant), finds()),
		lock("queue-popped-blindly", "the first entry of a list is the owner; a release pops the first entry, whoever it is",
			`redis.call('rpush', KEYS[1], ARGV[1])
if redis.call('lindex', KEYS[1], 0) ~= ARGV[1] then redis.call('rpop', KEYS[1]) return 0 end
redis.call('pexpire', KEYS[1], ARGV[2]) return 1`,
			`if redis.call('lpop', KEYS[1]) then return 1 end return 0`, finds(harness.StolenRelease), finds()),
		lock("tokens-as-numbers", "tokens are compared as numbers; none of them is a number, so nil is compared with nil", takeSetNX,
			`if tonumber(redis.call('get', KEYS[1]) or '') == tonumber(ARGV[1]) then return redis.call('del', KEYS[1]) end return 0`, finds(harness.StolenRelease), finds()),
		lock("token-inside-json", "the owner is in a JSON text, and a release looks for its token anywhere in it",
			`if redis.call('set', KEYS[1], cjson.encode({owner = ARGV[1], ttl = ARGV[2]}), 'NX', 'PX', ARGV[2]) then return 1 end return 0`,
			`local cur = redis.call('get', KEYS[1]) if cur and string.find(cur, ARGV[1], 1, true) then return redis.call('del', KEYS[1]) end return 0`, finds(harness.StolenRelease), finds()),
		lock("token-ends-alike", "a release compares only the ends of tokens: its own, without the first seven characters, with as many last characters of the stored one", takeSetNX,
			`local cur = redis.call('get', KEYS[1]) local tail = string.sub(ARGV[1], 8) if cur and string.sub(cur, -#tail) == tail then return redis.call('del', KEYS[1]) end return 0`,
			finds(harness.StolenRelease), finds()),
		lock("token-without-case", "a release compares tokens as if upper and lower case were the same", takeSetNX,
			`local cur = redis.call('get', KEYS[1]) if cur and string.lower(cur) == string.lower(ARGV[1]) then return redis.call('del', KEYS[1]) end return 0`,
			finds(harness.StolenRelease), finds()),
		lock("bit", "granted if SETBIT found 0; a release clears the bit, whoever set it",
			`if redis.call('setbit', KEYS[1], 0, 1) == 1 then return 0 end redis.call('pexpire', KEYS[1], ARGV[2]) return 1`,
			`return redis.call('setbit', KEYS[1], 0, 0)`, finds(harness.StolenRelease), finds()),
		lock("milliseconds-for-seconds", "SET NX EX with the milliseconds of the lease: an owner that crashes keeps the lock a thousand times as long",
			`if redis.call('set', KEYS[1], ARGV[1], 'NX', 'EX', ARGV[2]) then return 1 end return 0`, releaseGet,
			finds(harness.StuckLock), misses("nobody crashes, and owners that are late do release")),
		lock("stream-of-seconds", "the first entry of a stream is the owner; XTRIM MINID should end leases, but its id is in seconds, so it never does",
			`local t = redis.call('time') redis.call('xtrim', KEYS[1], 'MINID', t[1] - math.ceil(ARGV[2]/1000))
if redis.call('xlen', KEYS[1]) > 0 then return 0 end redis.call('xadd', KEYS[1], '*', 'owner', ARGV[1]) return 1`,
			`for _, e in ipairs(redis.call('xrange', KEYS[1], '-', '+')) do if e[2][2] == ARGV[1] then return redis.call('xdel', KEYS[1], e[1]) end end return 0`,
			finds(harness.StuckLock), misses("nobody crashes, and owners that are late do release")),
		lock("slot-of-time", "time is cut into slots as long as the lease, each with its own key: the owner in the slot before may still hold the lock",
			nowMS+`if redis.call('set', KEYS[1]..':'..math.floor(now/ARGV[2]), ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0`,
			`local t = redis.call('time') local n = 0 for _, k in ipairs(redis.call('keys', KEYS[1]..':*')) do if redis.call('get', k) == ARGV[1] then n = redis.call('del', k) end end return n`,
			finds(harness.DoubleGrant), finds()),
		lock("seconds-since-midnight", "a deadline in whole seconds of the day, which starts again at midnight",
			`local t = redis.call('time') local now = t[1] % 86400
local d = redis.call('hget', KEYS[1], 'until')
if d and tonumber(d) >= now and tonumber(d) - now <= ARGV[2]/1000 + 1 then return 0 end
redis.call('hset', KEYS[1], 'until', now + math.ceil(ARGV[2]/1000), 'owner', ARGV[1]) return 1`,
			`if redis.call('hget', KEYS[1], 'owner') == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`,
			finds(harness.DoubleGrant), misses("it needs a load at midnight")),
		lock("deadline-in-seconds", "a deadline in whole seconds, all rounded down",
			`local t = redis.call('time') local now = tonumber(t[1])
local d = redis.call('hget', KEYS[1], 'until')
if d and tonumber(d) > now then return 0 end
redis.call('hset', KEYS[1], 'until', now + math.max(1, math.floor(ARGV[2]/1000)), 'owner', ARGV[1]) return 1`,
			`if redis.call('hget', KEYS[1], 'owner') == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`,
			finds(harness.DoubleGrant), finds()),
		lock("error-is-yes", "pcall returns the error of a bad lease as a table, which is true",
			`if redis.pcall('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]..'.0') then return 1 end return 0`, releaseGet,
			finds(harness.DoubleGrant), finds()),
		lock("pool-returned-late", "a list holds one token, which an acquire takes; a new one is added when the lease is over, and a late return makes two",
			`if redis.call('exists', KEYS[1]..':lease') == 0 and redis.call('llen', KEYS[1]) == 0 then redis.call('rpush', KEYS[1], 'token') end
if not redis.call('lpop', KEYS[1]) then return 0 end redis.call('set', KEYS[1]..':lease', ARGV[1], 'PX', ARGV[2]) return 1`,
			`redis.call('rpush', KEYS[1], 'token') if redis.call('get', KEYS[1]..':lease') == ARGV[1] then return redis.call('del', KEYS[1]..':lease') end return 0`,
			finds(harness.StolenRelease, harness.DoubleGrant), finds()),
		lock("one-end-for-all-locks", "one hash for all locks; it ends with the lease of the last grant, of whichever lock",
			`if redis.call('hsetnx', 'locks', KEYS[1], ARGV[1]) == 0 then return 0 end redis.call('pexpire', 'locks', ARGV[2]) return 1`,
			`if redis.call('hget', 'locks', KEYS[1]) == ARGV[1] then return redis.call('hdel', 'locks', KEYS[1]) end return 0`,
			misses("one lock only"), finds()),
		lock("releases-all-locks", "a release compares the owner, then deletes every lock whose name begins in the same way", takeSetNX,
			`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
for _, k in ipairs(redis.call('keys', string.sub(KEYS[1], 1, 4)..'*')) do redis.call('del', k) end return 1`,
			misses("one lock only"), finds()),
		lock("a-millisecond-short", "SET NX PX with a millisecond less than the lease",
			`if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2] - 1) then return 1 end return 0`, releaseGet,
			finds(harness.DoubleGrant), misses("clocks are taken to be wrong by a hundredth")),
		lock("over-at-its-end", "a deadline in milliseconds, rounded down; the lease counts as over when it is reached, up to a millisecond early",
			nowMS+`redis.call('zremrangebyscore', KEYS[1], '-inf', now) if redis.call('zcard', KEYS[1]) > 0 then return 0 end
redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1]) return 1`, releaseZset,
			finds(harness.DoubleGrant), misses("clocks are taken to be wrong by a hundredth")),
		lock("lease-of-last-asker", "an acquire that is refused sets the lease to what is left of it, in seconds",
			`if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
local left = redis.call('ttl', KEYS[1]) if left > 0 then redis.call('expire', KEYS[1], left - 1) end return 0`, releaseGet,
			finds(harness.DoubleGrant), finds()),
	}, brokenLockers()...)
}

// brokenLockers lists the broken locks in Go: those of several commands, and those that keep something in memory.
func brokenLockers() []planted {
	lock := func(name, doc string, l func(redis.UniversalClient) workloads.Locker, explorer, load said) planted {
		return planted{name: name, doc: doc, as: workloads.Lock, locker: l, explorer: explorer, load: load}
	}
	release := luaCall(releaseGet)
	return []planted{
		lock("extend-in-seconds", "an extend passes the lease in seconds to PEXPIRE, which takes milliseconds", extendBy(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], math.ceil(ARGV[2]/1000)) end return 0`),
			finds(harness.DoubleGrant), finds()),
		lock("extends-once", "the first extend works; each later one does nothing and says yes", extendBy(
			`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call('set', KEYS[1]..':extended', ARGV[1], 'NX', 'PX', ARGV[2]) then redis.call('pexpire', KEYS[1], ARGV[2]) end return 1`),
			finds(harness.DoubleGrant), finds()),
		lock("remembers-its-grant", "a client keeps in memory that it has the lock; a release that fails does not clear that, and the next acquire asks nobody", func(r redis.UniversalClient) workloads.Locker {
			take, give, mine := scripted(r, takeSetNX), scripted(r, releaseGet), map[string]bool{}
			return goLock{func(ctx context.Context, key, owner string, ttl time.Duration) (ok bool, err error) {
				if !mine[key] {
					mine[key], err = take(ctx, key, owner, ttl)
				}
				return mine[key], err
			}, func(ctx context.Context, key, owner string, _ time.Duration) (bool, error) {
				ok, err := give(ctx, key, owner, 0)
				if ok {
					mine[key] = false
				}
				return ok, err
			}}
		}, cannot("without any command"), finds()),
		lock("extend-of-another-key", "an extend renews a key that no acquire looks at", func(r redis.UniversalClient) workloads.Locker {
			return zooLock{scripted(r, `if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end redis.call('set', KEYS[1]..':alive', 1, 'PX', ARGV[2]) return 1`),
				scripted(r, `if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('pexpire', KEYS[1]..':alive', ARGV[2]) return 1 end return 0`),
				scripted(r, releaseGet)}
		}, finds(harness.DoubleGrant), finds()),
		lock("extend-drops-the-end", "an extend that writes the token anew forgets the lease", extendBy(`if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('set', KEYS[1], ARGV[1]) return 1 end return 0`),
			finds(harness.StuckLock), misses("nobody crashes, and owners that are late do release")),
		lock("fence-that-ends", "the counter of fencing tokens has a lease as well, and begins again", func(r redis.UniversalClient) workloads.Locker {
			return &fenced{redis: r, release: scripted(r, releaseGet), counter: `local n = redis.call('incr', KEYS[1]..':fence') redis.call('pexpire', KEYS[1]..':fence', ARGV[2]) return tostring(n)`}
		}, finds(harness.FenceRegression), misses("a lock that is in use all the time renews the counter")),
		lock("fence-drawn-first", "the fencing token is drawn before the lock is asked for: who draws first may be granted last", func(r redis.UniversalClient) workloads.Locker {
			return &fencedFirst{fenced{redis: r, release: scripted(r, releaseGet)}}
		}, finds(harness.FenceRegression), finds()),
		lock("fence-drawn-late", "the fencing token is drawn when the lock was granted, by a command of its own: the lease may be over by then", func(r redis.UniversalClient) workloads.Locker {
			return &fencedLate{fenced{redis: r, release: scripted(r, releaseGet)}}
		}, finds(harness.FenceRegression), misses("a lease would have to end between two commands")),
		lock("watch-after-the-look", "GET, then WATCH, then MULTI SET: a change between GET and WATCH is not noticed", pair(func(r redis.UniversalClient) zooCall {
			return func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
				n, err := r.Exists(ctx, key).Result()
				if err != nil || n > 0 {
					return false, err
				}
				err = r.Watch(ctx, func(tx *redis.Tx) error {
					_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, key, owner, ttl).Err() })
					return err
				}, key)
				if err == redis.TxFailedErr {
					return false, nil
				}
				return err == nil, err
			}
		}, release), finds(harness.DoubleGrant), finds()),
		lock("getdel-and-back", "a release by GETDEL, which puts the token back if it is another owner's: the lock is free meanwhile", pair(luaCall(takeSetNX), func(r redis.UniversalClient) zooCall {
			return func(ctx context.Context, key, owner string, _ time.Duration) (bool, error) {
				left, err := r.PTTL(ctx, key).Result()
				if err != nil || left < 0 {
					return false, err
				}
				cur, err := r.GetDel(ctx, key).Result()
				if err == redis.Nil || err == nil && cur == owner {
					return err == nil, nil
				}
				if err != nil {
					return false, err
				}
				return false, r.SetNX(ctx, key, cur, left).Err()
			}
		}), finds(harness.DoubleGrant, harness.StolenRelease), finds()),
		lock("owner-is-the-connection", "the owner is CLIENT ID, the same for each attempt of a client: a late release removes that client's next grant", func(r redis.UniversalClient) workloads.Locker {
			id := ""
			as := func(text string) zooCall {
				call := scripted(r, text)
				return func(ctx context.Context, key, _ string, ttl time.Duration) (bool, error) {
					if id == "" {
						n, err := r.ClientID(ctx).Result()
						if err != nil {
							return false, err
						}
						id = strconv.FormatInt(n, 10)
					}
					return call(ctx, key, id, ttl)
				}
			}
			return goLock{as(takeSetNX), as(releaseGet)}
		}, finds(harness.DoubleGrant, harness.StolenRelease), misses("it needs a command that is late, or a crash of the connection")),
		lock("unanswered-so-mine", "an acquire without an answer is sent again, and a refusal is then taken for its own earlier grant", pair(func(r redis.UniversalClient) zooCall {
			return func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
				ok, err := r.SetNX(ctx, key, owner, ttl).Result()
				if err == nil {
					return ok, nil
				}
				if _, err := r.SetNX(ctx, key, owner, ttl).Result(); err != nil {
					return false, err
				}
				return true, nil
			}
		}, release), finds(harness.DoubleGrant), misses("no answer gets lost")),
		lock("repairs-locks-without-end", "SETNX, then EXPIRE; an acquire deletes a lock without an end, also one whose EXPIRE is still to come", pair(func(r redis.UniversalClient) zooCall {
			return func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
				if ok, err := r.SetNX(ctx, key, owner, 0).Result(); err != nil || ok {
					if err == nil {
						err = r.PExpire(ctx, key, ttl).Err()
					}
					return err == nil, err
				}
				left, err := r.PTTL(ctx, key).Result()
				if err == nil && left == -1 {
					err = r.Del(ctx, key).Err()
				}
				return false, err
			}
		}, release), finds(harness.DoubleGrant, harness.StuckLock), finds()),
		lock("end-by-a-second-script", "ZADD NX in one script, PEXPIRE in the next: who crashes between leaves the lock for ever", pair(func(r redis.UniversalClient) zooCall {
			end := scripted(r, `return redis.call('pexpire', KEYS[1], ARGV[2])`)
			take := scripted(r, `if redis.call('exists', KEYS[1]) == 1 then return 0 end return redis.call('zadd', KEYS[1], 'NX', 0, ARGV[1])`)
			return func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
				if ok, err := take(ctx, key, owner, ttl); err != nil || !ok {
					return false, err
				}
				return end(ctx, key, owner, ttl)
			}
		}, luaCall(releaseZset)), finds(harness.StuckLock), misses("nobody crashes")),
		lock("fischer", "Fischer's algorithm: SET if the lock is free, wait, and own it if the value is still mine; right only if a command takes less time than the wait", pair(func(r redis.UniversalClient) zooCall {
			return func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
				if n, err := r.Exists(ctx, key).Result(); err != nil || n > 0 {
					return false, err
				}
				if err := r.Set(ctx, key, owner, ttl+time.Second).Err(); err != nil {
					return false, err
				}
				if err := harness.Sleep(ctx, 20*time.Millisecond); err != nil {
					return false, err
				}
				cur, err := r.Get(ctx, key).Result()
				if err == redis.Nil {
					return false, nil
				}
				return err == nil && cur == owner, err
			}
		}, release), finds(harness.DoubleGrant), misses("commands take less time than the wait")),
		lock("tickets-without-leases", "INCR draws a ticket, and a release calls the next number: after a crash all wait for ever", pair(func(r redis.UniversalClient) zooCall {
			return scripted(r, `if redis.call('incr', KEYS[1]..':next') == tonumber(redis.call('get', KEYS[1]..':served') or '0') + 1 then return 1 end
redis.call('decr', KEYS[1]..':next') return 0`)
		}, func(r redis.UniversalClient) zooCall {
			return scripted(r, `redis.call('incr', KEYS[1]..':served') return 1`)
		}), finds(harness.StuckLock, harness.DoubleGrant, harness.StolenRelease), misses("nobody crashes")),
		lock("expires-to-release", "a release is GET, compare, PEXPIRE 1: the lock may have ended between them, and be another's", pair(luaCall(takeSetNX), func(r redis.UniversalClient) zooCall {
			return func(ctx context.Context, key, owner string, _ time.Duration) (bool, error) {
				cur, err := r.Get(ctx, key).Result()
				if err == redis.Nil || err == nil && cur != owner {
					return false, nil
				}
				if err != nil {
					return false, err
				}
				return r.PExpire(ctx, key, -time.Millisecond).Result()
			}
		}), finds(harness.StolenRelease, harness.DoubleGrant), misses("the lease has to end between two commands")),
	}
}

// fenced is a lock by SET NX PX that draws a fencing token from a script when it is granted.
type fenced struct {
	redis   redis.UniversalClient
	release zooCall
	counter string
	token   string
}

func (l *fenced) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	token, err := redis.NewScript(`if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return '' end `+l.counter).
		Run(ctx, l.redis, []string{key}, owner, ttl.Milliseconds()).Text()
	if err != nil || token == "" {
		return false, err
	}
	l.token = token
	return true, nil
}

func (l *fenced) Release(ctx context.Context, key, owner string) (bool, error) {
	return l.release(ctx, key, owner, 0)
}

func (l *fenced) Fence() string { return l.token }

// fencedLate draws its token by a command of its own, when it has got the lock.
type fencedLate struct{ fenced }

func (l *fencedLate) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	granted, err := l.redis.SetNX(ctx, key, owner, ttl).Result()
	if err != nil || !granted {
		return false, err
	}
	n, err := l.redis.Incr(ctx, key+":fence").Result()
	l.token = strconv.FormatInt(n, 10)
	return err == nil, err
}

// fencedFirst draws its token by a command of its own, before it asks for the lock.
type fencedFirst struct{ fenced }

func (l *fencedFirst) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	n, err := l.redis.Incr(ctx, key+":fence").Result()
	if err != nil {
		return false, err
	}
	l.token = strconv.FormatInt(n, 10)
	return l.redis.SetNX(ctx, key, owner, ttl).Result()
}
