package workloads_test

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/workloads"
)

// goFilter is a Deduper made of a function.
type goFilter func(ctx context.Context, id string, window time.Duration) (bool, error)

func (f goFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	return f(ctx, id, window)
}

// twoStep is a Confirmer made of two scripts, whose claims last for a quarter of the window. Both scripts get a token
// of the claim, and the lease and the window in milliseconds.
type twoStep struct {
	redis          redis.UniversalClient
	claim, confirm *redis.Script
	name           string // prefix of its claims' tokens
	claims         int
}

// twoSteps makes a filter of two scripts. Every worker draws its name from a counter, whose key is not the name of any
// message.
func twoSteps(claim, confirm string) func(redis.UniversalClient) workloads.Deduper {
	return func(r redis.UniversalClient) workloads.Deduper {
		return &twoStep{redis: r, claim: redis.NewScript(forOneServer(claim)),
			confirm: redis.NewScript(forOneServer(confirm))}
	}
}

func (f *twoStep) Lease(window time.Duration) time.Duration { return window / 4 }

func (f *twoStep) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	if f.name == "" {
		name, err := f.redis.Incr(ctx, "workers").Result()
		if err != nil {
			return false, err
		}
		f.name = "worker-" + time.Duration(name).String()
	}
	f.claims++
	return f.run(ctx, f.claim, id, window)
}

func (f *twoStep) Confirm(ctx context.Context, id string, window time.Duration) (bool, error) {
	return f.run(ctx, f.confirm, id, window)
}

func (f *twoStep) run(ctx context.Context, s *redis.Script, id string, window time.Duration) (bool, error) {
	token := f.name + time.Duration(f.claims).String()
	n, err := s.Run(ctx, f.redis, []string{id}, token, f.Lease(window).Milliseconds(), window.Milliseconds()).Int()
	return n == 1, err
}

const (
	claimSetNX = `if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0`
	confirmCAS = `if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], 'done', 'PX', ARGV[3]) return 1`
	oneOfWindow = "one message only, and none is taken for another"
)

// filters lists the message filters, broken ones first.
func filters() []algorithm {
	return []algorithm{
		scriptFilter("hyperloglog",
			"new if PFADD is 1, that is if the estimate changed; with many messages some new ones do not change it",
			`local n = redis.call('pfadd', 'seen', KEYS[1]) redis.call('pexpire', 'seen', ARGV[1])
return n`).says(misses(oneOfWindow), finds()),
		scriptFilter("bits",
			"one bit for each message, at the sum of its characters: some new messages share a bit with old ones",
			`local h = 0 for i = 1, #KEYS[1] do h = (h * 31 + string.byte(KEYS[1], i)) % 512 end
local n = 1 - redis.call('setbit', 'seen', h, 1) redis.call('pexpire', 'seen', ARGV[1])
return n`).says(misses(oneOfWindow), finds()),
		scriptFilter("shared-hash-of-all",
			"one hash for all messages; each claim moves its end, so no mark ends while messages come", `local n =
redis.call('hsetnx', 'seen', KEYS[1], 1) redis.call('pexpire', 'seen', ARGV[1])
return n`).says(misses(oneOfWindow), finds()),
		scriptFilter("half-buckets", "two buckets of half a window each: a mark set late in one is forgotten too early",
			nowMS+`local w = ARGV[1] / 2 local b = math.floor(now / w) local key = KEYS[1]..':'
if redis.call('exists', key..(b-1)) == 1 or redis.call('exists', key..b) == 1 then return 0 end
redis.call('set', key..b, 1, 'PX', ARGV[1]) return 1`).says(finds(harness.DuplicateDelivery), finds()),
		scriptFilter("second-ask-drops-the-end",
			"SET GET writes the mark anew at each claim, but only the first claim gives it an end",
			`if redis.call('set', KEYS[1], 1, 'GET') then return 0 end redis.call('pexpire', KEYS[1], ARGV[1])
return 1`).says(finds(harness.ImmortalMark), finds()),
		scriptFilter("exat-rounded-down", "the mark ends at a whole second of the server's clock, rounded down",
			`local t = redis.call('time')
if redis.call('set', KEYS[1], 1, 'NX', 'EXAT', t[1] + math.max(1, math.floor(ARGV[1]/1000))) then return 1 end
return 0`).says(finds(harness.DuplicateDelivery), finds()),
		scriptFilter("score-in-seconds",
			"a sorted set whose scores are whole seconds, so that a mark ends up to a second early",
			`local t = redis.call('time')
redis.call('zremrangebyscore', KEYS[1], '-inf', t[1] - math.ceil(ARGV[1]/1000))
local n = redis.call('zadd', KEYS[1], 'NX', t[1], 'seen') redis.call('expire', KEYS[1], math.ceil(ARGV[1]/1000)*2)
return n`).says(finds(harness.DuplicateDelivery), finds()),
		scriptFilter("counts-down-again",
			"first if INCR is 1; any other claim sets the count back to 0, so that the next one is first again",
			`local n = redis.call('incr', KEYS[1]) if n == 1 then redis.call('pexpire', KEYS[1], ARGV[1]) return 1 end
redis.call('decrby', KEYS[1], n) return 0`).says(finds(harness.DuplicateDelivery), finds()),
		scriptFilter("old-end-kept",
			"a message claimed again within the last 100 ms of its mark counts as new, and the mark keeps its old end",
			`local left = redis.call('pttl', KEYS[1]) if left > 100 then return 0 end
if left > 0 then redis.call('set', KEYS[1], 1, 'KEEPTTL') else redis.call('set', KEYS[1], 1, 'PX', ARGV[1]) end
return 1`).says(finds(harness.DuplicateDelivery), finds()),
		scriptFilter("window-of-the-hash", "a hash counts the claims of a message, and the third one removes the mark",
			`local n = redis.call('hincrby', KEYS[1], 'asked', 1) redis.call('pexpire', KEYS[1], ARGV[1])
if n == 3 then redis.call('del', KEYS[1]) end if n == 1 or n == 3 then return 1 end
return 0`).says(finds(harness.DuplicateDelivery), finds()),
		codeFilter("getdel-and-back", "GETDEL, then SET: between them nobody finds the mark",
			func(r redis.UniversalClient) workloads.Deduper {
				return goFilter(func(ctx context.Context, id string, window time.Duration) (bool, error) {
					_, err := r.GetDel(ctx, id).Result()
					if err != nil && err != redis.Nil {
						return false, err
					}
					return err == redis.Nil, r.Set(ctx, id, 1, window).Err()
				})
			}).says(finds(harness.DuplicateDelivery), finds()),
		codeFilter("claim-without-lease",
			"claims by HSETNX, without an end: if the worker crashes, nobody delivers the message", twoSteps(
				`return redis.call('hsetnx', KEYS[1], 'by', ARGV[1])`,
				`if redis.call('hget', KEYS[1], 'by') ~= ARGV[1] then return 0 end
return redis.call('pexpire', KEYS[1], ARGV[3])`)).says(finds(harness.LostMessage, harness.ImmortalMark),
			misses("no worker crashes")),
		codeFilter("confirm-of-what-is-gone", "a confirm by PEXPIRE says yes even if the claim is gone",
			twoSteps(claimSetNX,
				`redis.call('pexpire', KEYS[1], ARGV[3]) return 1`)).says(finds(harness.DuplicateDelivery),
			misses("what a slow worker loses has mostly been claimed by another")),
		codeFilter("confirm-keeps-the-lease", "a confirm with KEEPTTL: the mark ends with the claim's lease",
			twoSteps(claimSetNX,
				`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], 'done', 'KEEPTTL') return 1`)).says(finds(harness.DuplicateDelivery), finds()),
		codeFilter("confirm-without-end", "a confirm by SET without an end: the mark stays for ever",
			twoSteps(claimSetNX,
				`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end redis.call('set', KEYS[1], 'done')
return 1`)).says(finds(harness.ImmortalMark), finds()),
		scriptFilter("one-bucket",
			"a set of the messages of each window of the server's clock: the next one knows none of them",
			nowMS+`local b = KEYS[1]..math.floor(now / ARGV[1])
local n = redis.call('sadd', b, ARGV[2]) redis.call('pexpire', b, ARGV[1])
return n`).given([]string{"seen"}, "{window_ms}", "{key}").steps(5).says(
			finds(harness.DuplicateDelivery), finds()),
		scriptFilter("set-that-ends", "a set of all messages, which ends with the first one's window",
			`local n = redis.call('sadd', KEYS[1], ARGV[2]) redis.call('pexpire', KEYS[1], ARGV[1], 'NX')
return n`).given(
			[]string{"seen"}, "{window_ms}", "{key}").says(finds(harness.DuplicateDelivery), finds()),
		scriptFilter("only-the-latest", "a mark with an end, but a claim of another message removes the mark before",
			`local last = redis.call('getset', 'last', KEYS[1]) if last and last ~= KEYS[1] then
redis.call('del', last) end
if redis.call('set', KEYS[1], 1, 'NX', 'PX', ARGV[1]) then return 1 end
return 0`).says(finds(harness.DuplicateDelivery), finds()),
		scriptFilter("last-hundred", "a sorted set of the last hundred messages, however long ago",
			nowMS+`local n = redis.call('zadd', KEYS[1], 'NX', now, ARGV[2])
redis.call('zremrangebyrank', KEYS[1], 0, -101)
return n`).given([]string{"seen"}, "{window_ms}", "{key}").says(finds(harness.ImmortalMark), finds()),
		scriptFilter("all-are-new", "every message is new, each time",
			`return 1`).says(finds(harness.DuplicateDelivery), finds()),
		scriptFilter("none-is-new", "no message is ever new, so all are lost",
			`return 0`).says(finds(harness.LostMessage), finds()),
		scriptFilter("look-shortens-the-mark", "a claim that is refused lets the mark end in 50 ms",
			`if redis.call('set', KEYS[1], 1, 'NX', 'PX', ARGV[1]) then return 1 end redis.call('pexpire', KEYS[1], 50)
return 0`).says(
			finds(harness.DuplicateDelivery), finds()),
		scriptFilter("constant-window", "a mark lasts for a second, whatever the window",
			`if redis.call('set', KEYS[1], 1, 'NX', 'PX', 1000) then return 1 end
return 0`).says(finds(harness.DuplicateDelivery), finds()),
		scriptFilter("setnx", "SETNX: a mark never ends",
			`return redis.call('setnx', KEYS[1], 1)`).says(finds(harness.ImmortalMark), finds()),
		scriptFilter("half-a-window", "a mark lasts for half of a window, of a week in the explorer",
			`if redis.call('set', KEYS[1], 1, 'NX', 'PX', math.floor(ARGV[1]*0.5)) then return 1 end
return 0`).leased(7*24*time.Hour).steps(4).says(
			finds(harness.DuplicateDelivery), finds()),
		scriptFilter("three-hundredths-short", "a mark lasts for 97 hundredths of the window",
			`if redis.call('set', KEYS[1], 1, 'NX', 'PX', math.floor(ARGV[1]*0.97)) then return 1 end return 0`).says(
			finds(harness.DuplicateDelivery), finds()),

		scriptFilter("set-nx-get", "SET NX GET: nil means that the message is new",
			`return redis.call('set', KEYS[1], 1, 'NX', 'GET', 'PX', ARGV[1])`).yes("nil"),
		scriptFilter("set-nx-ex", "SET NX EX with the window in seconds: nil means that the message was seen",
			`return redis.call('set', KEYS[1], 1, 'NX', 'EX', ARGV[1])`).given(nil, "{window_s}"),
		scriptFilter("nearly-two-windows", "a mark lasts for nearly two windows",
			`if redis.call('set', KEYS[1], 1, 'NX', 'PX', math.floor(ARGV[1]*1.9)) then return 1 end return 0`),
		scriptFilter("sorted-set", "a sorted set of all messages and the times of their first claims",
			nowMS+`redis.call('zremrangebyscore', KEYS[1], '-inf', '('..(now - ARGV[1]))
return redis.call('zadd', KEYS[1], 'NX', now, ARGV[2])`).given([]string{"seen"}, "{window_ms}", "{key}"),
		scriptFilter("tidies-up", "a claim removes the mark of the message before, if that is over",
			`local last = redis.call('getset', 'last', KEYS[1]) if last and redis.call('pttl', last) == -1 then
redis.call('del', last) end
if redis.call('set', KEYS[1], 1, 'NX', 'PX', ARGV[1]) then return 1 end return 0`),
		scriptFilter("slides", "GETSET, then PEXPIRE: the window begins anew with each claim",
			`local old = redis.call('getset', KEYS[1], 1) redis.call('pexpire', KEYS[1], ARGV[1]) if old then
return 0 end return 1`),
		scriptFilter("hash-of-deadlines", "a hash of all messages and their deadlines, which are never removed",
			nowMS+`local d = redis.call('hget', KEYS[1], ARGV[2]) if d and tonumber(d) > now then return 0 end
redis.call('hset', KEYS[1], ARGV[2], now + 1 + ARGV[1]) return 1`).given([]string{"seen"}, "{window_ms}", "{key}"),
		scriptFilter("list-length",
			"RPUSHX, and RPUSH only if there was no list: the message is new if the length is 1",
			`if redis.call('rpushx', KEYS[1], 1) > 0 then return 0 end
redis.call('rpush', KEYS[1], 1) redis.call('pexpire', KEYS[1], ARGV[1]) return 1`),
		scriptFilter("exat-rounded-up", "the mark ends at a whole second of the server's clock, rounded up",
			`local t = redis.call('time')
if redis.call('set', KEYS[1], 1, 'NX', 'EXAT', t[1] + math.ceil(ARGV[1]/1000) + 1) then return 1 end return 0`),
		scriptFilter("three-buckets",
			"buckets of half a window; a claim looks at three of them, and the oldest is kept longer than needed",
			nowMS+`local w = ARGV[1] / 2 local b = math.floor(now / w) local key = KEYS[1]..':'
for i = 0, 2 do if redis.call('exists', key..(b-i)) == 1 then return 0 end end
redis.call('set', key..b, 1, 'PX', math.floor(ARGV[1] * 1.6)) return 1`),
		scriptFilter("deadline-in-json",
			"a JSON text with a deadline by the server's clock; the key ends somewhat later",
			nowMS+`local cur = redis.call('get', KEYS[1]) if cur and cjson.decode(cur).till >= now then return 0 end
redis.call('set', KEYS[1], cjson.encode({till = string.format('%.0f', now + ARGV[1]) + 0, by = 'x'}),
'PX', ARGV[1] + 50) return 1`),
		codeFilter("confirm-by-hash",
			"a claim is a field with the worker's token, a confirm is another field; the hash ends with the later of "+
				"the two", twoSteps(
				`if redis.call('hsetnx', KEYS[1], 'by', ARGV[1]) == 0 then return 0 end
redis.call('pexpire', KEYS[1], ARGV[2]) return 1`,
				`if redis.call('hget', KEYS[1], 'by') ~= ARGV[1] then return 0 end
redis.call('hset', KEYS[1], 'done', 1) return redis.call('pexpire', KEYS[1], ARGV[3])`)),
		codeFilter("confirm-in-another-key", "claims and marks are keys of their own; a claim looks at both", twoSteps(
			`if redis.call('exists', KEYS[1]..':done') == 1 then return 0 end
if redis.call('set', KEYS[1]..':claim', ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0`,
			`if redis.call('get', KEYS[1]..':claim') ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1]..':done', 1, 'PX', ARGV[3]) return redis.call('del', KEYS[1]..':claim')`)),
	}
}
