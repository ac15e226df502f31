package workloads_test

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/workloads"
)

// codeLocks lists the locks written in Go, broken ones first. They send several commands, or keep something in memory.
func codeLocks() []algorithm {
	release := luaCall(releaseGet)
	return []algorithm{
		codeLock("remembers-its-grant",
			"a client keeps in memory that it has the lock; a release that fails does not clear that, and the next "+
				"acquire asks nobody", func(r redis.UniversalClient) workloads.Locker {
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
			}).says(cannot("without any command"), finds()),
		codeLock("fence-that-ends", "the counter of fencing tokens has a lease as well, and begins again",
			func(r redis.UniversalClient) workloads.Locker {
				return &fenced{redis: r, release: scripted(r, releaseGet),
					counter: `local n = redis.call('incr', KEYS[1]..':fence')
redis.call('pexpire', KEYS[1]..':fence', ARGV[2]) return tostring(n)`}
			}).says(finds(harness.FenceRegression), misses("a lock that is in use all the time renews the counter")),
		codeLock("fence-drawn-first",
			"the fencing token is drawn before the lock is asked for: who draws first may be granted last",
			func(r redis.UniversalClient) workloads.Locker {
				return &fencedFirst{fenced{redis: r, release: scripted(r, releaseGet)}}
			}).says(finds(harness.FenceRegression), finds()),
		codeLock("fence-drawn-late",
			"the fencing token is drawn when the lock was granted, by a command of its own: the lease may be over by "+
				"then", func(r redis.UniversalClient) workloads.Locker {
				return &fencedLate{fenced{redis: r, release: scripted(r, releaseGet)}}
			}).says(finds(harness.FenceRegression), misses("a lease would have to end between two commands")),
		codeLock("watch-after-the-look",
			"GET, then WATCH, then MULTI SET: a change between GET and WATCH is not noticed",
			acquiring(func(ctx context.Context, r redis.UniversalClient, key, owner string, ttl time.Duration) (bool,
				error) {
				n, err := r.Exists(ctx, key).Result()
				if err != nil || n > 0 {
					return false, err
				}
				err = r.Watch(ctx, func(tx *redis.Tx) error {
					_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
						return p.Set(ctx, key, owner,
							ttl).Err()
					})
					return err
				}, key)
				if err == redis.TxFailedErr {
					return false, nil
				}
				return err == nil, err
			})).says(finds(harness.DoubleGrant), finds()),
		codeLock("getdel-and-back",
			"a release by GETDEL, which puts the token back if it is another owner's: the lock is free meanwhile",
			pair(luaCall(takeSetNX), func(r redis.UniversalClient) lockCall {
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
			})).says(finds(harness.DoubleGrant, harness.StolenRelease, harness.RefusedRelease), finds()),
		codeLock("owner-is-the-connection",
			"the owner is CLIENT ID, the same for each attempt of a client: a late release removes that client's "+
				"next grant", func(r redis.UniversalClient) workloads.Locker {
				id := ""
				as := func(text string) lockCall {
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
			}).says(finds(harness.DoubleGrant, harness.StolenRelease),
			misses("it needs a command that is late, or a crash of the connection")),
		codeLock("unanswered-so-mine",
			"an acquire without an answer is sent again, and a refusal is then taken for its own earlier grant",
			acquiring(func(ctx context.Context, r redis.UniversalClient, key, owner string, ttl time.Duration) (bool,
				error) {
				ok, err := r.SetNX(ctx, key, owner, ttl).Result()
				if err == nil {
					return ok, nil
				}
				if _, err := r.SetNX(ctx, key, owner, ttl).Result(); err != nil {
					return false, err
				}
				return true, nil
			})).says(finds(harness.DoubleGrant), misses("no answer gets lost")),
		codeLock("repairs-locks-without-end",
			"SETNX, then EXPIRE; an acquire deletes a lock without an end, also one whose EXPIRE is still to come",
			acquiring(func(ctx context.Context, r redis.UniversalClient, key, owner string, ttl time.Duration) (bool,
				error) {
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
			})).says(finds(harness.DoubleGrant, harness.StuckLock), finds()),
		codeLock("end-by-a-second-script",
			"ZADD NX in one script, PEXPIRE in the next: who crashes between leaves the lock for ever", pair(inSteps(
				`if redis.call('exists', KEYS[1]) == 1 then return 0 end
return redis.call('zadd', KEYS[1], 'NX', 0, ARGV[1])`,
				`return redis.call('pexpire', KEYS[1], ARGV[2])`), luaCall(releaseZset))).says(finds(harness.StuckLock),
			misses("nobody crashes")),
		codeLock("fischer",
			"Fischer's algorithm: SET if the lock is free, wait, and own it if the value is still mine; right only "+
				"if a command takes less time than the wait",
			acquiring(func(ctx context.Context, r redis.UniversalClient,
				key, owner string, ttl time.Duration) (bool, error) {
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
			})).says(finds(harness.DoubleGrant), misses("commands take less time than the wait")),
		codeLock("tickets-without-leases",
			"INCR draws a ticket, and a release calls the next number: after a crash all wait for ever",
			pair(luaCall(
				`if redis.call('incr', KEYS[1]..':next') == tonumber(redis.call('get', KEYS[1]..':served') or '0') + 1
then return 1 end
redis.call('decr', KEYS[1]..':next') return 0`), luaCall(`redis.call('incr', KEYS[1]..':served')
return 1`))).says(finds(harness.StuckLock, harness.DoubleGrant, harness.StolenRelease), misses("nobody crashes")),
		codeLock("expires-to-release",
			"a release is GET, compare, PEXPIRE 1: the lock may have ended between them, and be another's",
			pair(luaCall(takeSetNX), inSteps(
				`if redis.call('get', KEYS[1]) == ARGV[1] then return 1 end return 0`,
				`return redis.call('pexpire', KEYS[1], -1)`))).says(finds(harness.StolenRelease, harness.DoubleGrant),
			misses("the lease has to end between two commands")),

		codeLock("rename", "SET of a private key with a lease, then RENAMENX to the lock",
			acquiring(func(ctx context.Context, r redis.UniversalClient, key, owner string, ttl time.Duration) (bool,
				error) {
				mine := key + ":" + owner
				if err := r.Set(ctx, mine, owner, ttl).Err(); err != nil {
					return false, err
				}
				ok, err := r.RenameNX(ctx, mine, key).Result()
				if err != nil && strings.Contains(err.Error(), "no such key") {
					return false, nil // it took so long that the lease has ended
				}
				if err == nil && !ok {
					err = r.Del(ctx, mine).Err()
				}
				return ok, err
			})),
		codeLock("waits-for-it", "an acquire asks up to three times, half a lease apart",
			acquiring(func(ctx context.Context, r redis.UniversalClient, key, owner string, ttl time.Duration) (bool,
				error) {
				for range 2 {
					if ok, err := r.SetNX(ctx, key, owner, ttl).Result(); ok || err != nil {
						return ok, err
					}
					if err := harness.Sleep(ctx, ttl/2); err != nil {
						return false, err
					}
				}
				return r.SetNX(ctx, key, owner, ttl).Result()
			})),
		codeLock("asks-who-has-it",
			"an acquire without an answer is sent again, and a refusal is taken for its own grant only if the stored "+
				"token is its own", pair(func(r redis.UniversalClient) lockCall {
				return func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
					ok, err := r.SetNX(ctx, key, owner, ttl).Result()
					if err == nil {
						return ok, nil
					}
					return scripted(r, `local cur = redis.call('get', KEYS[1]) if cur and cur ~= ARGV[1] then
return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`)(ctx, key, owner, ttl)
				}
			}, release)),
		codeLock("pending-then-held",
			"takes the lock as pending, then confirms it by a compare-and-set that starts the lease anew", pair(inSteps(
				`if redis.call('set', KEYS[1], 'pending:'..ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0`,
				`if redis.call('get', KEYS[1]) ~= 'pending:'..ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`), release)),
		codeLock("transaction-of-refused",
			"MULTI SETNX PEXPIRE: an acquire that is refused makes the owner's lease longer",
			acquiring(func(ctx context.Context, r redis.UniversalClient, key, owner string, ttl time.Duration) (bool,
				error) {
				var got *redis.BoolCmd
				_, err := r.TxPipelined(ctx, func(p redis.Pipeliner) error {
					got = p.SetNX(ctx, key, owner, 0)
					return p.PExpire(ctx, key, ttl).Err()
				})
				return err == nil && got.Val(), err
			})),
		codeLock("fence-of-time", "fencing tokens are the server's microseconds, or one more than the last",
			func(r redis.UniversalClient) workloads.Locker {
				return &fenced{redis: r, release: scripted(r, releaseGet), counter: `local t = redis.call('time')
local n = t[1]*1000000 + t[2]
n = string.format('%.0f', math.max(n, tonumber(redis.call('get', KEYS[1]..':fence') or '0') + 1))
redis.call('set', KEYS[1]..':fence', n) return n`}
			}),
	}
}

// fenced is a lock by SET NX PX that draws a fencing token from a script when it is granted.
type fenced struct {
	redis   redis.UniversalClient
	release lockCall
	counter string
	token   string
}

func (l *fenced) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	token, err := redis.NewScript(forOneServer(`if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
return '' end `+l.counter)).
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

// fencedLate draws its token by a separate command after it was granted the lock.
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

// fencedFirst draws its token by a separate command before it asks for the lock.
type fencedFirst struct{ fenced }

func (l *fencedFirst) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	n, err := l.redis.Incr(ctx, key+":fence").Result()
	if err != nil {
		return false, err
	}
	l.token = strconv.FormatInt(n, 10)
	return l.redis.SetNX(ctx, key, owner, ttl).Result()
}
