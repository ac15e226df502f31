package workloads_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/workloads"
)

// This file has algorithms on which the explorer once gave the wrong verdict.

// functions is a lock made of functions. A nil release gives up what compare-and-delete would.
type functions struct {
	acquire func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error)
	release func(ctx context.Context, key, owner string) (bool, error)
}

func (l functions) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return l.acquire(ctx, key, owner, ttl)
}

func (l functions) Release(ctx context.Context, key, owner string) (bool, error) {
	return l.release(ctx, key, owner)
}

// extending is functions with an extend.
type extending struct {
	functions
	extend func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error)
}

func (l extending) Extend(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return l.extend(ctx, key, owner, ttl)
}

var ownersDelete = redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`)

// reference returns the right lock, which the others here change.
func reference(r redis.UniversalClient) functions {
	return functions{
		acquire: func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
			return r.SetNX(ctx, key, owner, ttl).Result()
		},
		release: func(ctx context.Context, key, owner string) (bool, error) {
			n, err := ownersDelete.Run(ctx, r, []string{key}, owner).Int()
			return n == 1, err
		},
	}
}

// exploredLock searches a lock with two clients, unless clients says otherwise.
func exploredLock(t *testing.T, clients int, ttl time.Duration, newLock func(redis.UniversalClient) workloads.Locker) interleave.Result {
	t.Helper()
	res, err := explore.Search(t.Context(), explore.Spec{
		Program:  workloads.LockProgram(workloads.LockOptions{TTL: ttl}, newLock),
		Checkers: []harness.Checker{checkers.Mutex(), checkers.Stuck(), checkers.Fence()}, Clients: clients, For: time.Minute,
	})
	require.NoError(t, err)
	return res
}

func TestWhatTheExplorerSaysOfLocks(t *testing.T) {
	type lock = func(redis.UniversalClient) workloads.Locker
	acquires := func(f func(r redis.UniversalClient, ctx context.Context, key, owner string, ttl time.Duration) (bool, error)) lock {
		return func(r redis.UniversalClient) workloads.Locker {
			l := reference(r)
			l.acquire = func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
				return f(r, ctx, key, owner, ttl)
			}
			return l
		}
	}
	for _, c := range []struct {
		name  string
		lock  lock
		ttl   time.Duration
		want  harness.Verdict
		why   string // in the reason of an unknown
		steps int    // at most, of the smallest counterexample
		long  bool   // its search takes many seconds: with -long only
	}{
		{name: "sends nothing", want: harness.Unknown, why: "without any command", lock: acquires(
			func(redis.UniversalClient, context.Context, string, string, time.Duration) (bool, error) {
				return true, nil
			})},
		{name: "a timer deletes the key", want: harness.Unknown, why: "time.AfterFunc at explored_test.go", lock: acquires(
			func(r redis.UniversalClient, ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
				ok, err := r.SetNX(ctx, key, owner, ttl).Result()
				if ok {
					time.AfterFunc(ttl/3, func() { r.Del(context.Background(), key) })
				}
				return ok, err
			})},
		{name: "a watchdog", want: harness.Unknown, why: "explored_test.go", lock: watchdogLock},
		{name: "a watchdog that sleeps in the schedule's time", want: harness.Unknown, lock: sleepingWatchdogLock},
		{name: "a delete by anybody, days later", want: harness.Invalid, ttl: 24 * time.Hour, steps: 5, lock: deletesByAnybody},
		{name: "GET, compare, PEXPIRE", long: true, want: harness.Invalid, steps: 6, lock: getCompareExtend},
		{name: "takes over in the last second", want: harness.Invalid, steps: 5, lock: acquires(
			func(r redis.UniversalClient, ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
				ok, err := r.SetNX(ctx, key, owner, ttl).Result()
				if ok || err != nil {
					return ok, err
				}
				left, err := r.PTTL(ctx, key).Result()
				if err != nil || left < 0 || left >= time.Second {
					return false, err
				}
				return true, r.Set(ctx, key, owner, ttl).Err()
			})},
		{name: "nine tenths of the lease", want: harness.Invalid, steps: 3, lock: nineTenths},
		{name: "whole seconds", long: true, want: harness.Invalid, ttl: 9900 * time.Millisecond, steps: 3, lock: acquires(
			func(r redis.UniversalClient, ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
				return r.SetNX(ctx, key, owner, ttl.Truncate(time.Second)).Result()
			})},
		{name: "three naps outlive a key", long: true, want: harness.Invalid, lock: acquires(
			func(r redis.UniversalClient, ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
				ok, err := r.SetNX(ctx, key, owner, ttl/2).Result()
				if owner != "client-1" {
					return ok, err
				}
				for range 3 {
					if err := harness.Sleep(ctx, ttl*3/10); err != nil || !ok {
						return false, err
					}
				}
				return ok, err
			})},
		{name: "names of connections", long: true, want: harness.Invalid, steps: 4, lock: namedConnectionLock},
		{name: "an end by the client's clock", long: true, want: harness.Valid, lock: acquires(
			func(r redis.UniversalClient, ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
				err := r.Do(ctx, "SET", key, owner, "NX", "PXAT", harness.Now(ctx).Add(ttl).UnixMilli()+1).Err()
				return err == nil, ignoreNil(err)
			})},
		{name: "the reference", want: harness.Valid, lock: func(r redis.UniversalClient) workloads.Locker { return reference(r) }},
		{name: "the reference, a millisecond long", want: harness.Valid, ttl: time.Millisecond, lock: func(r redis.UniversalClient) workloads.Locker { return reference(r) }},
		{name: "the reference, a year long", want: harness.Valid, ttl: 365 * 24 * time.Hour, lock: func(r redis.UniversalClient) workloads.Locker { return reference(r) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.long && !*long {
				t.Skip("its search takes long: make test-long")
			}
			clients := 2
			if strings.Contains(c.name, "by anybody") {
				clients = 3
			}
			res := exploredLock(t, clients, c.ttl, c.lock)
			require.Equal(t, c.want, res.Verdict(), res.Summary())
			require.Contains(t, res.Stopped, c.why)
			if c.steps > 0 {
				require.LessOrEqual(t, res.Found[0].Length(), c.steps, res.Found[0].Text())
			}
		})
	}
}

func ignoreNil(err error) error {
	if err == redis.Nil {
		return nil
	}
	return err
}

// watchdogLock renews the lease from a goroutine of its own, until the release.
func watchdogLock(r redis.UniversalClient) workloads.Locker {
	l := reference(r)
	acquire, release, stop := l.acquire, l.release, make(chan struct{})
	l.acquire = func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
		ok, err := acquire(ctx, key, owner, ttl)
		if ok {
			released := stop
			go func() {
				tick := time.NewTicker(ttl / 3)
				defer tick.Stop()
				for {
					select {
					case <-tick.C:
						r.PExpire(context.Background(), key, ttl)
					case <-released:
						return
					}
				}
			}()
		}
		return ok, err
	}
	l.release = func(ctx context.Context, key, owner string) (bool, error) {
		close(stop)
		stop = make(chan struct{})
		return release(ctx, key, owner)
	}
	return l
}

// sleepingWatchdogLock waits in its goroutine as the explorer wants clients to wait.
func sleepingWatchdogLock(r redis.UniversalClient) workloads.Locker {
	l := reference(r)
	acquire := l.acquire
	l.acquire = func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
		ok, err := acquire(ctx, key, owner, ttl)
		if ok {
			go func() {
				if harness.Sleep(ctx, ttl/3) == nil {
					r.PExpire(ctx, key, ttl)
				}
			}()
		}
		return ok, err
	}
	return l
}

// namedConnectionLock gives its connection a name, unless some connection has it.
func namedConnectionLock(r redis.UniversalClient) workloads.Locker {
	return functions{
		acquire: func(ctx context.Context, key, _ string, _ time.Duration) (bool, error) {
			list, err := r.ClientList(ctx).Result()
			if err != nil || strings.Contains(list, "name="+key+" ") {
				return false, err
			}
			return true, r.Do(ctx, "CLIENT", "SETNAME", key).Err()
		},
		release: func(ctx context.Context, _, _ string) (bool, error) {
			return true, r.Do(ctx, "CLIENT", "SETNAME", "").Err()
		},
	}
}

func TestWhatTheExplorerSaysOfScripts(t *testing.T) {
	t.Parallel()
	const week = 7 * 24 * time.Hour
	for _, c := range []struct {
		name   string
		script workloads.Script
		ttl    time.Duration
		want   harness.Verdict
		steps  int
	}{
		{"steals from larger names", workloads.Script{As: workloads.Lock, Source: `
			local cur = redis.call('get', KEYS[1])
			if not cur or ARGV[1] < cur then return redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2]) end
			return 0`}, 0, harness.Invalid, 2},
		{"gives up what a smaller name holds", workloads.Script{As: workloads.Lock,
			Source:  `return redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2])`,
			Release: `local cur = redis.call('get', KEYS[1]) if cur and ARGV[1] >= cur then return redis.call('del', KEYS[1]) end return 0`,
		}, 0, harness.Invalid, 5},
		{"a deadline by TIME", workloads.Script{As: workloads.Lock, Source: `
			local t = redis.call('time')
			local now = t[1] * 1000 + math.floor(t[2] / 1000)
			local deadline = redis.call('hget', KEYS[1], 'until')
			if deadline and now <= tonumber(deadline) then return 0 end
			redis.call('hset', KEYS[1], 'owner', ARGV[1], 'until', string.format('%d', now + ARGV[2]))
			return 1`,
			Release: `if redis.call('hget', KEYS[1], 'owner') == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`,
		}, 0, harness.Valid, 0},
		{"half of a window of a week", workloads.Script{As: workloads.Dedup, Source: `
			return redis.call('set', KEYS[1], '1', 'nx', 'ex', math.floor(ARGV[1] / 2)) and 1 or 0`}, week, harness.Invalid, 4},
		{"a bucket of TIME", workloads.Script{As: workloads.Dedup, Source: `
			local bucket = math.floor(redis.call('time')[1] / ARGV[1])
			return redis.call('set', KEYS[1] .. ':' .. bucket, '1', 'nx', 'ex', ARGV[1] * 2) and 1 or 0`}, 10 * time.Second, harness.Invalid, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.script.Name = "planted"
			v, err := workloads.ScriptVariant(c.script)
			require.NoError(t, err)
			p, ok := v.Program(workloads.Options{TTL: c.ttl})
			require.True(t, ok)
			judges := []harness.Checker{checkers.Mutex(), checkers.Stuck()}
			if v.Family == workloads.Dedup {
				judges = []harness.Checker{checkers.Dedup()} // every filter loses what a crashed worker had claimed
			}
			res, err := explore.Search(t.Context(), explore.Spec{Program: p, Checkers: judges, For: time.Minute})
			require.NoError(t, err)
			require.Equal(t, c.want, res.Verdict(), res.Summary())
			if c.steps > 0 {
				require.LessOrEqual(t, res.Found[0].Length(), c.steps, res.Found[0].Text())
			}
		})
	}
}

// A sorted set by TIME keeps each mark for the window and forgets it then.
func TestAFilterByTIMEIsRight(t *testing.T) {
	t.Parallel()
	v, err := workloads.ScriptVariant(workloads.Script{As: workloads.Dedup, Name: "sorted", Keys: []string{"marks"}, Args: []string{"{key}", "{window_ms}"}, Source: `
		local t = redis.call('time')
		local now = t[1] * 1000 + math.floor(t[2] / 1000)
		redis.call('zremrangebyscore', KEYS[1], '-inf', now - ARGV[2] - 1)
		return redis.call('zadd', KEYS[1], 'nx', now, ARGV[1])`})
	require.NoError(t, err)
	p, ok := v.Program(workloads.Options{})
	require.True(t, ok)
	res, err := explore.Search(t.Context(), explore.Spec{
		Program: p, Checkers: []harness.Checker{checkers.Dedup(), checkers.Delivery()}, Crashes: -1, LostAnswers: -1, For: time.Minute,
	})
	require.NoError(t, err)
	require.Equal(t, harness.Valid, res.Verdict(), res.Summary())
}
