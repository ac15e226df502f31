package workloads_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/workloads"
)

// This file is a zoo: algorithms that nobody would put into a catalogue, broken ones and right but odd ones, and the
// verdict that a load of some seconds has to give on each.

// beast is one algorithm.
type beast struct {
	name   string
	script workloads.Script
	want   harness.Verdict

	// Instead of a script:
	locker    func(redis.UniversalClient) workloads.Locker
	deduper   func(redis.UniversalClient) workloads.Deduper
	sequencer func(redis.UniversalClient) workloads.Sequencer
}

const (
	broken = harness.Invalid
	sound  = harness.Valid
)

// run puts the beast under a load that is less than the default, so that several run side by side.
func (b beast) run(t *testing.T) harness.Result {
	t.Helper()
	c := cluster.Standalone(cluster.Options{})
	spec := harness.Spec{System: c, Clients: 50, Duration: 6 * time.Second, Rate: 4000, Drift: 0.01}
	family := workloads.Lock
	switch {
	case b.locker != nil:
		spec.Workload = workloads.Locks(c, workloads.LockOptions{}, b.locker)
	case b.deduper != nil:
		spec.Workload, family = workloads.Dedups(c, workloads.DedupOptions{}, b.deduper), workloads.Dedup
	case b.sequencer != nil:
		spec.Workload, family = workloads.Sequences(c, workloads.SequenceOptions{}, b.sequencer), workloads.Sequence
	default:
		b.script.Name = "beast"
		v, err := workloads.ScriptVariant(b.script)
		require.NoError(t, err)
		spec.Workload, family = v.Workload(c, workloads.Options{}), b.script.As
	}
	switch family {
	case workloads.Lock:
		spec.Checkers = []harness.Checker{checkers.Mutex(), checkers.Stuck(), checkers.Gates()}
		if b.fences() {
			spec.Checkers = append(spec.Checkers, checkers.Fence())
		}
	case workloads.Dedup:
		spec.Checkers = []harness.Checker{checkers.Dedup(), checkers.Delivery(), checkers.Gates()}
	default:
		spec.Checkers = []harness.Checker{checkers.Sequence(), checkers.Gates()}
	}
	res, err := harness.Run(t.Context(), spec)
	require.NoError(t, err)
	return res
}

// fences reports whether it is a lock whose grants carry fencing tokens.
func (b beast) fences() bool {
	if b.locker == nil {
		return false
	}
	_, yes := b.locker(nil).(workloads.Fencer)
	return yes
}

func runZoo(t *testing.T, beasts []beast) {
	cage := make(chan struct{}, 4) // that run at one time
	for i, b := range beasts {
		if !sampled(i, 9, 1) {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			cage <- struct{}{}
			defer func() { <-cage }()
			res := b.run(t)
			if res.Verdict != b.want {
				t.Errorf("want %v, got %s", b.want, res.Summary())
				for _, a := range res.Anomalies[:min(2, len(res.Anomalies))] {
					t.Log(a.Note)
				}
			}
			t.Log(res.Summary())
			for _, s := range res.Situations {
				t.Logf("%6d %s", s.Count, s.Name)
			}
		})
	}
}

// Releases that compare the owner, as they should.
const (
	releaseGet  = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`
	releaseHash = `if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then return redis.call('del', KEYS[1]) end return 0`
	releaseZset = `return redis.call('zrem', KEYS[1], ARGV[1])`
	takeSetNX   = `if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0`
)

func lockScript(source, release string) workloads.Script {
	return workloads.Script{As: workloads.Lock, Source: source, Release: release}
}

func TestZooOfLockScripts(t *testing.T) {
	px := func(ttl string) string {
		return `if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ` + ttl + `) then return 1 end return 0`
	}
	runZoo(t, []beast{
		{name: "nine tenths of the lease", script: lockScript(px("math.floor(ARGV[2]*0.9)"), releaseGet), want: broken},
		{name: "97 hundredths of the lease", script: lockScript(px("math.floor(ARGV[2]*0.97)"), releaseGet), want: broken},
		{name: "seconds, rounded down", script: lockScript(`if redis.call('set', KEYS[1], ARGV[1], 'NX', 'EX', math.max(1, math.floor(ARGV[2]/1000))) then return 1 end return 0`, releaseGet), want: broken},
		{name: "a constant lease", script: lockScript(px("300"), releaseGet), want: broken},
		{name: "the larger name steals", script: lockScript(`local cur = redis.call('get', KEYS[1])
if cur and ARGV[1] >= cur then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`, releaseGet), want: broken},
		{name: "who asks near the end takes it over", script: lockScript(`if redis.call('exists', KEYS[1]) == 1 and redis.call('pttl', KEYS[1]) > 20 then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`, releaseGet), want: broken},
		{name: "a holder's name is compared as far as the asker's goes", script: lockScript(`local cur = redis.call('get', KEYS[1])
if cur and string.sub(cur, 1, #ARGV[1]) ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`, releaseGet), want: broken},
		{name: "an asker's name is compared as far as the holder's goes", script: lockScript(`local cur = redis.call('get', KEYS[1])
if cur and string.sub(ARGV[1], 1, #cur) ~= cur then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`, releaseGet), want: broken},
		{name: "a release compares a prefix", script: lockScript(takeSetNX, `local cur = redis.call('get', KEYS[1])
if cur and string.sub(cur, 1, #ARGV[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`), want: broken},
		{name: "a release compares lengths", script: lockScript(takeSetNX, `local cur = redis.call('get', KEYS[1])
if cur and #cur == #ARGV[1] then return redis.call('del', KEYS[1]) end return 0`), want: broken},
		{name: "a release compares with >=", script: lockScript(takeSetNX, `local cur = redis.call('get', KEYS[1])
if cur and cur >= ARGV[1] then return redis.call('del', KEYS[1]) end return 0`), want: broken},
		{name: "a release without a look", script: lockScript(takeSetNX, `return redis.call('del', KEYS[1])`), want: broken},
		{name: "names in capitals are the same", script: lockScript(`local cur = redis.call('get', KEYS[1])
if cur and string.upper(cur) ~= string.upper(ARGV[1]) then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`, releaseGet), want: broken},
		{name: "two may have it", script: lockScript(`local t = redis.call('time') local now = t[1]*1000 + math.floor(t[2]/1000)
redis.call('zremrangebyscore', KEYS[1], '-inf', now)
if redis.call('zcard', KEYS[1]) > 1 then return 0 end
redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1]) return 1`, releaseZset), want: broken},
		{name: "refuses everybody", script: lockScript(`return 0`, releaseGet), want: harness.Unknown},

		{name: "set nx px", script: lockScript(takeSetNX, releaseGet), want: sound},
		{name: "a little longer", script: lockScript(px("ARGV[2]+40"), releaseGet), want: sound},
		{name: "in whole seconds, rounded up", script: lockScript(`if redis.call('set', KEYS[1], ARGV[1], 'NX', 'EX', math.ceil(ARGV[2]/1000)) then return 1 end return 0`, releaseGet), want: sound},
		{name: "in a hash", script: lockScript(`if redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('hset', KEYS[1], ARGV[1], 1) redis.call('pexpire', KEYS[1], ARGV[2]) return 1`, releaseHash), want: sound},
		{name: "in a hash, re-entrant", script: lockScript(`if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('hincrby', KEYS[1], ARGV[1], 1) redis.call('pexpire', KEYS[1], ARGV[2]) return 1`, releaseHash), want: sound},
		{name: "a deadline by the server's clock", script: lockScript(`local t = redis.call('time') local now = t[1]*1000 + math.floor(t[2]/1000)
local d = redis.call('hget', KEYS[1], 'until')
if d and tonumber(d) >= now then return 0 end
redis.call('hset', KEYS[1], 'until', now + ARGV[2], 'owner', ARGV[1]) return 1`,
			`if redis.call('hget', KEYS[1], 'owner') == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`), want: sound},
		{name: "a set with deadlines", script: lockScript(`local t = redis.call('time') local now = t[1]*1000 + math.floor(t[2]/1000)
redis.call('zremrangebyscore', KEYS[1], '-inf', '(' .. now)
if redis.call('zcard', KEYS[1]) > 0 then return 0 end
redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1]) return 1`, releaseZset), want: sound},
		{name: "pxat by the server's clock", script: lockScript(`local t = redis.call('time')
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PXAT', t[1]*1000 + math.floor(t[2]/1000) + 1 + ARGV[2]) then return 1 end return 0`, releaseGet), want: sound},
		{name: "one hash for all locks", script: workloads.Script{As: workloads.Lock, Keys: []string{"all"}, Args: []string{"{key}", "{owner}", "{ttl_ms}"},
			Source: `local t = redis.call('time') local now = t[1]*1000 + math.floor(t[2]/1000)
local v = redis.call('hget', KEYS[1], ARGV[1])
if v and tonumber(string.match(v, '^(%d+) ')) >= now then return 0 end
redis.call('hset', KEYS[1], ARGV[1], (now + ARGV[3]) .. ' ' .. ARGV[2]) return 1`,
			Release: `local v = redis.call('hget', KEYS[1], ARGV[1])
if v and string.match(v, '^%d+ (.*)$') == ARGV[2] then return redis.call('hdel', KEYS[1], ARGV[1]) end return 0`,
			ReleaseArgs: []string{"{key}", "{owner}"}}, want: sound},
		{name: "a list of one", script: lockScript(`if redis.call('llen', KEYS[1]) > 0 then return 0 end
redis.call('rpush', KEYS[1], ARGV[1]) redis.call('pexpire', KEYS[1], ARGV[2]) return 1`, `return redis.call('lrem', KEYS[1], 0, ARGV[1])`), want: sound},
		{name: "one lock for all keys", script: workloads.Script{As: workloads.Lock, Keys: []string{"one"}, Source: takeSetNX, Release: releaseGet}, want: sound},
	})
}

func dedupScript(source string) workloads.Script {
	return workloads.Script{As: workloads.Dedup, Source: source, Args: []string{"{window_ms}", "{key}"}}
}

func TestZooOfFilterScripts(t *testing.T) {
	px := func(ttl string) workloads.Script {
		return dedupScript(`if redis.call('set', KEYS[1], 1, 'NX', 'PX', ` + ttl + `) then return 1 end return 0`)
	}
	const now = `local t = redis.call('time') local now = t[1]*1000 + math.floor(t[2]/1000)
`
	all := []beast{
		{name: "the window", script: px("ARGV[1]"), want: sound},
		{name: "a little longer", script: px("ARGV[1]+100"), want: sound},
		{name: "twice as long", script: px("ARGV[1]*2"), want: sound},
		{name: "whole seconds", script: workloads.Script{As: workloads.Dedup, Source: `if redis.call('set', KEYS[1], 1, 'NX', 'EX', ARGV[1]) then return 1 end return 0`}, want: sound},
		{name: "counts", script: dedupScript(`local n = redis.call('incr', KEYS[1]) if n == 1 then redis.call('pexpire', KEYS[1], ARGV[1]) return 1 end return 0`), want: sound},
		{name: "a sorted set", script: workloads.Script{As: workloads.Dedup, Keys: []string{"seen"}, Args: []string{"{window_ms}", "{key}"}, Source: now + `
redis.call('zremrangebyscore', KEYS[1], '-inf', '(' .. (now - ARGV[1]))
return redis.call('zadd', KEYS[1], 'NX', now, ARGV[2])`}, want: sound},
		{name: "slides with each look", script: dedupScript(`local old = redis.call('getset', KEYS[1], 1) redis.call('pexpire', KEYS[1], ARGV[1]) if old then return 0 end return 1`), want: sound},
		{name: "two buckets", script: workloads.Script{As: workloads.Dedup, Keys: []string{"seen"}, Args: []string{"{window_ms}", "{key}"}, Source: now + `
local b = math.floor(now / ARGV[1])
if redis.call('sismember', KEYS[1] .. (b-1), ARGV[2]) == 1 or redis.call('sismember', KEYS[1] .. b, ARGV[2]) == 1 then return 0 end
redis.call('sadd', KEYS[1] .. b, ARGV[2]) redis.call('pexpire', KEYS[1] .. b, ARGV[1]*2) return 1`}, want: sound},
		{name: "a hash with deadlines", script: workloads.Script{As: workloads.Dedup, Keys: []string{"seen"}, Args: []string{"{window_ms}", "{key}"}, Source: now + `
local d = redis.call('hget', KEYS[1], ARGV[2])
if d and tonumber(d) > now then return 0 end
redis.call('hset', KEYS[1], ARGV[2], now + 1 + ARGV[1]) return 1`}, want: sound},
		{name: "says no with nil", script: workloads.Script{As: workloads.Dedup, Source: `return redis.call('set', KEYS[1], 1, 'NX', 'PX', ARGV[1])`, Args: []string{"{window_ms}"}}, want: sound},

		{name: "one bucket", script: workloads.Script{As: workloads.Dedup, Keys: []string{"seen"}, Args: []string{"{window_ms}", "{key}"}, Source: now + `
local b = KEYS[1] .. math.floor(now / ARGV[1])
local n = redis.call('sadd', b, ARGV[2]) redis.call('pexpire', b, ARGV[1]) return n`}, want: broken},
		{name: "a set whose end slides for all", script: workloads.Script{As: workloads.Dedup, Keys: []string{"seen"}, Args: []string{"{window_ms}", "{key}"}, Source: `
local n = redis.call('sadd', KEYS[1], ARGV[2]) redis.call('pexpire', KEYS[1], ARGV[1], 'NX') return n`}, want: broken},
		{name: "a sorted set of the last hundred", script: workloads.Script{As: workloads.Dedup, Keys: []string{"seen"}, Args: []string{"{window_ms}", "{key}"}, Source: now + `
local n = redis.call('zadd', KEYS[1], 'NX', now, ARGV[2]) redis.call('zremrangebyrank', KEYS[1], 0, -101) return n`}, want: broken},
		{name: "every message is new", script: dedupScript(`return 1`), want: broken},
		{name: "no message is new", script: dedupScript(`return 0`), want: broken},
		{name: "a look ends the mark", script: dedupScript(`if redis.call('set', KEYS[1], 1, 'NX', 'PX', ARGV[1]) then return 1 end redis.call('del', KEYS[1]) return 0`), want: broken},
		{name: "a look shortens the mark", script: dedupScript(`if redis.call('set', KEYS[1], 1, 'NX', 'PX', ARGV[1]) then return 1 end redis.call('pexpire', KEYS[1], 50) return 0`), want: broken},
		{name: "a constant window", script: px("1000"), want: broken},
		{name: "never ends", script: dedupScript(`return redis.call('setnx', KEYS[1], 1)`), want: broken},
	}
	for _, part := range []string{"0.1", "0.5", "0.75", "0.9", "0.95", "0.97"} {
		all = append(all, beast{name: "forgets after " + part, script: px("math.floor(ARGV[1]*" + part + ")"), want: broken})
	}
	runZoo(t, all)
}

func sequenceScript(source string) workloads.Script {
	return workloads.Script{As: workloads.Sequence, Source: source, Args: []string{"{proposed}"}}
}

func TestZooOfSequenceScripts(t *testing.T) {
	const larger = `local function larger(a, b) a = string.gsub(a, '^0+', '') b = string.gsub(b, '^0+', '') if #a ~= #b then return #a > #b end return a > b end
`
	const plusOne = `local function inc(s) local d, i = {}, #s for k = 1, #s do d[k] = string.byte(s, k) - 48 end
while i > 0 do if d[i] == 9 then d[i] = 0 i = i - 1 else d[i] = d[i] + 1 break end end
local r = table.concat(d) if i == 0 then r = '1' .. r end return r end
`
	runZoo(t, []beast{
		{name: "incr", script: sequenceScript(`return redis.call('incr', KEYS[1])`), want: sound},
		{name: "incr by ten", script: sequenceScript(`return redis.call('incrby', KEYS[1], 10)`), want: sound},
		{name: "a hash", script: sequenceScript(`return redis.call('hincrby', 'all', KEYS[1], 1)`), want: sound},
		{name: "from a million", script: sequenceScript(`redis.call('setnx', KEYS[1], 1000000) return redis.call('incr', KEYS[1])`), want: sound},
		{name: "one for all", script: sequenceScript(`return redis.call('incr', 'one')`), want: sound},
		{name: "a list's length", script: sequenceScript(`return redis.call('rpush', KEYS[1], 1)`), want: sound},
		{name: "a stream's length", script: sequenceScript(`redis.call('xadd', KEYS[1], '*', 'a', 1) return redis.call('xlen', KEYS[1])`), want: sound},
		{name: "seventeen digits, as text", script: sequenceScript(`local n = redis.call('incr', KEYS[1]) return '9' .. string.format('%016d', n)`), want: sound},
		{name: "a time and a counter", script: sequenceScript(`local t = redis.call('time') local last = redis.call('get', KEYS[1]) or '0'
local n = tonumber(t[1]) * 1000000 + tonumber(t[2]) if n <= tonumber(last) then n = tonumber(last) + 1 end
n = string.format('%.0f', n) redis.call('set', KEYS[1], n) return n`), want: sound},
		{name: "the larger of proposal and next, digit by digit", script: sequenceScript(larger + plusOne + `
local last = redis.call('get', KEYS[1]) local n = string.gsub(ARGV[1], '^0+', '')
if last and not larger(n, last) then n = inc(last) end
redis.call('set', KEYS[1], n) return n`), want: sound},

		{name: "the proposal", script: sequenceScript(`return ARGV[1]`), want: broken},
		{name: "doubles", script: sequenceScript(`local n = math.max((tonumber(redis.call('get', KEYS[1]) or '0')) + 1, tonumber(ARGV[1]))
n = string.format('%.0f', n) redis.call('set', KEYS[1], n) return n`), want: broken},
		{name: "fourteen digits", script: sequenceScript(`local n = math.max((tonumber(redis.call('get', KEYS[1]) or '0')) + 1, tonumber(ARGV[1]))
redis.call('set', KEYS[1], tostring(n)) return string.format('%.0f', n)`), want: broken},
		{name: "compared as text", script: sequenceScript(`local last = redis.call('get', KEYS[1]) if not last or ARGV[1] > last then redis.call('set', KEYS[1], ARGV[1]) return ARGV[1] end
return redis.call('incr', KEYS[1])`), want: broken},
		{name: "compared as text, zeros stay", script: sequenceScript(`local last = redis.call('get', KEYS[1]) local p = ARGV[1]
if not last or #p > #last or #p == #last and p > last then redis.call('set', KEYS[1], p) return p end
local n = string.format('%.0f', tonumber(last) + 1) redis.call('set', KEYS[1], n) return n`), want: broken},
		{name: "set when the proposal is larger or a round number", script: sequenceScript(`local n = tonumber(ARGV[1]) if n % 100 == 0 then redis.call('set', KEYS[1], ARGV[1]) return ARGV[1] end return redis.call('incr', KEYS[1])`), want: broken},
		{name: "ends every second", script: sequenceScript(`local n = redis.call('incr', KEYS[1]) if n == 1 then redis.call('pexpire', KEYS[1], 1000) end return n`), want: broken},
		{name: "steps back after a thousand", script: sequenceScript(`local n = redis.call('incr', KEYS[1]) if n % 100 == 0 then redis.call('decrby', KEYS[1], 3) end return n`), want: broken},
		{name: "the time in milliseconds", script: sequenceScript(`local t = redis.call('time') return string.format('%.0f', t[1]*1000 + math.floor(t[2]/1000))`), want: broken},
		{name: "counts down", script: sequenceScript(`redis.call('setnx', KEYS[1], 100000000) return redis.call('decr', KEYS[1])`), want: broken},
		{name: "random", script: sequenceScript(`local t = redis.call('time') math.randomseed(t[1]*1000000+t[2]) return math.random(1, 1000000)`), want: broken},
		{name: "thirty-one bits", script: sequenceScript(`local n = redis.call('incr', KEYS[1]) return n % 1000`), want: broken},
		{name: "errors only", script: sequenceScript(`return redis.error_reply('ERR no')`), want: harness.Unknown},
	})
}

// zooLock is a Locker made of functions.
type zooLock struct {
	take, extend, give func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error)
}

func (l zooLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return l.take(ctx, key, owner, ttl)
}
func (l zooLock) Extend(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return l.extend(ctx, key, owner, ttl)
}
func (l zooLock) Release(ctx context.Context, key, owner string) (bool, error) {
	return l.give(ctx, key, owner, 0)
}

type zooCall = func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error)

// scripted returns a call that runs a script with the owner and the milliseconds of the lease.
func scripted(r redis.UniversalClient, text string) zooCall {
	s := redis.NewScript(text)
	return func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
		n, err := s.Run(ctx, r, []string{key}, owner, ttl.Milliseconds()).Int()
		return n == 1, err
	}
}

const extendGet = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0`

// extender returns a lock by SET NX PX with that way to extend it.
func extender(extend func(redis.UniversalClient) zooCall) func(redis.UniversalClient) workloads.Locker {
	return func(r redis.UniversalClient) workloads.Locker {
		return zooLock{scripted(r, takeSetNX), extend(r), scripted(r, releaseGet)}
	}
}

func extendBy(text string) func(redis.UniversalClient) workloads.Locker {
	return extender(func(r redis.UniversalClient) zooCall { return scripted(r, text) })
}

func TestZooOfExtends(t *testing.T) {
	separately := func(get func(context.Context, redis.UniversalClient, string) (string, error)) func(redis.UniversalClient) workloads.Locker {
		return extender(func(r redis.UniversalClient) zooCall {
			return func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
				cur, err := get(ctx, r, key)
				if err == redis.Nil || err == nil && cur != owner {
					return false, nil
				}
				if err != nil {
					return false, err
				}
				return r.PExpire(ctx, key, ttl).Result()
			}
		})
	}
	// Without the pause it is chance whether another gets in between: see workloads/README.md.
	runZoo(t, []beast{
		{name: "in a script", locker: extendBy(extendGet), want: sound},
		{name: "that never shortens", locker: extendBy(`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call('pttl', KEYS[1]) < tonumber(ARGV[2]) then redis.call('pexpire', KEYS[1], ARGV[2]) end return 1`), want: sound},
		{name: "that takes the lock again if it is free", locker: extendBy(`local cur = redis.call('get', KEYS[1])
if cur and cur ~= ARGV[1] then return 0 end redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`), want: sound},
		{name: "that refuses always", locker: extendBy(`return 0`), want: harness.Unknown},

		{name: "without a look", locker: extendBy(`return redis.call('pexpire', KEYS[1], ARGV[2])`), want: broken},
		{name: "that compares a prefix", locker: extendBy(`local cur = redis.call('get', KEYS[1])
if cur and string.sub(cur, 1, #ARGV[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0`), want: broken},
		{name: "that does nothing", locker: extendBy(`if redis.call('get', KEYS[1]) == ARGV[1] then return 1 end return 0`), want: broken},
		{name: "that says yes always", locker: extendBy(`if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('pexpire', KEYS[1], ARGV[2]) end return 1`), want: broken},
		{name: "that adds a half", locker: extendBy(`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('pexpire', KEYS[1], math.floor(ARGV[2]/2)) return 1`), want: broken},
		{name: "that takes it from whoever has it", locker: extendBy(`redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`), want: broken},
		{name: "GET, compare, a pause, PEXPIRE", locker: separately(func(ctx context.Context, r redis.UniversalClient, key string) (string, error) {
			defer time.Sleep(time.Millisecond) // the pause is the defect
			return r.Get(ctx, key).Result()
		}), want: broken},
	})
}
