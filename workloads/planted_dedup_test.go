package workloads_test

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/workloads"
)

func plantedFilters() []planted {
	return append(brokenFilters(), oddFilters()...)
}

// goFilter is a Deduper made of a function.
type goFilter func(ctx context.Context, id string, window time.Duration) (bool, error)

func (f goFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	return f(ctx, id, window)
}

// twoStep is a Confirmer made of two scripts, whose claims last for a quarter of the window. Both get a token of the claim,
// the milliseconds of the lease and those of the window.
type twoStep struct {
	redis          redis.UniversalClient
	claim, confirm *redis.Script
	name           string // of its claims
	claims         int
}

// twoSteps makes a filter of two scripts. Every worker draws its name from a counter, which no message is called.
func twoSteps(claim, confirm string) func(redis.UniversalClient) workloads.Deduper {
	return func(r redis.UniversalClient) workloads.Deduper {
		return &twoStep{redis: r, claim: redis.NewScript(claim), confirm: redis.NewScript(confirm)}
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
	claimSetNX  = `if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0`
	confirmCAS  = `if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end redis.call('set', KEYS[1], 'done', 'PX', ARGV[3]) return 1`
	oneOfWindow = "one message only, and none is taken for another"
)

func brokenFilters() []planted {
	filter := func(name, doc, text string, explorer, load said) planted {
		return planted{name: name, doc: doc, as: workloads.Dedup, script: dedupScript(text), explorer: explorer, load: load}
	}
	goFilters := func(name, doc string, f func(redis.UniversalClient) workloads.Deduper, explorer, load said) planted {
		return planted{name: name, doc: doc, as: workloads.Dedup, deduper: f, explorer: explorer, load: load}
	}
	return []planted{
		filter("hyperloglog", "new if PFADD is 1, that is if the estimate changed; with many messages some new ones do not change it",
			`local n = redis.call('pfadd', 'seen', KEYS[1]) redis.call('pexpire', 'seen', ARGV[1]) return n`, misses(oneOfWindow), finds()),
		filter("bits", "one bit for each message, at the sum of its characters: some new messages share a bit with old ones",
			`local h = 0 for i = 1, #KEYS[1] do h = (h * 31 + string.byte(KEYS[1], i)) % 512 end
local n = 1 - redis.call('setbit', 'seen', h, 1) redis.call('pexpire', 'seen', ARGV[1]) return n`, misses(oneOfWindow), finds()),
		filter("shared-hash-of-all", "one hash for all messages; each claim moves its end, so no mark ends while messages come", `local n = redis.call('hsetnx', 'seen', KEYS[1], 1) redis.call('pexpire', 'seen', ARGV[1]) return n`, misses(oneOfWindow), finds()),
		filter("half-buckets", "two buckets of half a window each: a mark set late in one is forgotten too early",
			nowMS+`local w = ARGV[1] / 2 local b = math.floor(now / w) local key = KEYS[1]..':'
if redis.call('exists', key..(b-1)) == 1 or redis.call('exists', key..b) == 1 then return 0 end
redis.call('set', key..b, 1, 'PX', ARGV[1]) return 1`, finds(harness.DuplicateDelivery), finds()),
		filter("second-ask-drops-the-end", "SET GET writes the mark anew at each claim, but only the first claim gives it an end",
			`if redis.call('set', KEYS[1], 1, 'GET') then return 0 end redis.call('pexpire', KEYS[1], ARGV[1]) return 1`, finds(harness.ImmortalMark), finds()),
		filter("exat-rounded-down", "the mark ends at a whole second of the server's clock, rounded down",
			`local t = redis.call('time') if redis.call('set', KEYS[1], 1, 'NX', 'EXAT', t[1] + math.max(1, math.floor(ARGV[1]/1000))) then return 1 end return 0`,
			finds(harness.DuplicateDelivery), finds()),
		filter("score-in-seconds", "a sorted set whose scores are whole seconds, so that a mark ends up to a second early",
			`local t = redis.call('time') redis.call('zremrangebyscore', KEYS[1], '-inf', t[1] - math.ceil(ARGV[1]/1000))
local n = redis.call('zadd', KEYS[1], 'NX', t[1], 'seen') redis.call('expire', KEYS[1], math.ceil(ARGV[1]/1000)*2) return n`,
			finds(harness.DuplicateDelivery), finds()),
		filter("counts-down-again", "first if INCR is 1; any other claim sets the count back to 0, so that the next one is first again",
			`local n = redis.call('incr', KEYS[1]) if n == 1 then redis.call('pexpire', KEYS[1], ARGV[1]) return 1 end
redis.call('decrby', KEYS[1], n) return 0`, finds(harness.DuplicateDelivery), finds()),
		filter("old-end-kept", "a message claimed again within the last 100 ms of its mark counts as new, and the mark keeps its old end",
			`local left = redis.call('pttl', KEYS[1]) if left > 100 then return 0 end
if left > 0 then redis.call('set', KEYS[1], 1, 'KEEPTTL') else redis.call('set', KEYS[1], 1, 'PX', ARGV[1]) end return 1`, finds(harness.DuplicateDelivery), finds()),
		filter("window-of-the-hash", "a hash counts the claims of a message, and the third one removes the mark",
			`local n = redis.call('hincrby', KEYS[1], 'asked', 1) redis.call('pexpire', KEYS[1], ARGV[1])
if n == 3 then redis.call('del', KEYS[1]) end if n == 1 or n == 3 then return 1 end return 0`, finds(harness.DuplicateDelivery), finds()),
		goFilters("getdel-and-back", "GETDEL, then SET: between them nobody finds the mark", func(r redis.UniversalClient) workloads.Deduper {
			return goFilter(func(ctx context.Context, id string, window time.Duration) (bool, error) {
				_, err := r.GetDel(ctx, id).Result()
				if err != nil && err != redis.Nil {
					return false, err
				}
				return err == redis.Nil, r.Set(ctx, id, 1, window).Err()
			})
		}, finds(harness.DuplicateDelivery), finds()),
		goFilters("claim-without-lease", "claims by HSETNX, without an end: if the worker crashes, nobody delivers the message", twoSteps(
			`return redis.call('hsetnx', KEYS[1], 'by', ARGV[1])`,
			`if redis.call('hget', KEYS[1], 'by') ~= ARGV[1] then return 0 end return redis.call('pexpire', KEYS[1], ARGV[3])`),
			finds(harness.LostMessage, harness.ImmortalMark), misses("no worker crashes")),
		goFilters("confirm-of-what-is-gone", "a confirm by PEXPIRE says yes even if the claim is gone", twoSteps(claimSetNX,
			`redis.call('pexpire', KEYS[1], ARGV[3]) return 1`), finds(harness.DuplicateDelivery), misses("what a slow worker loses has mostly been claimed by another")),
		goFilters("confirm-keeps-the-lease", "a confirm with KEEPTTL: the mark ends with the claim's lease", twoSteps(claimSetNX,
			`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end redis.call('set', KEYS[1], 'done', 'KEEPTTL') return 1`), finds(harness.DuplicateDelivery), finds()),
		goFilters("confirm-without-end", "a confirm by SET without an end: the mark stays for ever", twoSteps(claimSetNX,
			`if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end redis.call('set', KEYS[1], 'done') return 1`), finds(harness.ImmortalMark), finds()),
	}
}

func oddFilters() []planted {
	filter := func(name, doc, text string) planted {
		return planted{name: name, doc: doc, as: workloads.Dedup, script: dedupScript(text), sound: true, explorer: holds, load: holds}
	}
	goFilters := func(name, doc string, f func(redis.UniversalClient) workloads.Deduper) planted {
		return planted{name: name, doc: doc, as: workloads.Dedup, deduper: f, sound: true, explorer: holds, load: holds, clients: 2}
	}
	inverted := filter("set-nx-get", "SET NX GET: nil means that the message is new", `return redis.call('set', KEYS[1], 1, 'NX', 'GET', 'PX', ARGV[1])`)
	inverted.script.Yes = "nil"
	return []planted{
		inverted,
		filter("list-length", "RPUSHX, and RPUSH only if there was no list: the message is new if the length is 1", `if redis.call('rpushx', KEYS[1], 1) > 0 then return 0 end
redis.call('rpush', KEYS[1], 1) redis.call('pexpire', KEYS[1], ARGV[1]) return 1`),
		filter("exat-rounded-up", "the mark ends at a whole second of the server's clock, rounded up",
			`local t = redis.call('time') if redis.call('set', KEYS[1], 1, 'NX', 'EXAT', t[1] + math.ceil(ARGV[1]/1000) + 1) then return 1 end return 0`),
		filter("three-buckets", "buckets of half a window; a claim looks at three of them, and the oldest is kept longer than needed",
			nowMS+`local w = ARGV[1] / 2 local b = math.floor(now / w) local key = KEYS[1]..':'
for i = 0, 2 do if redis.call('exists', key..(b-i)) == 1 then return 0 end end
redis.call('set', key..b, 1, 'PX', math.floor(ARGV[1] * 1.6)) return 1`),
		filter("deadline-in-json", "a JSON text with a deadline by the server's clock; the key ends somewhat later",
			nowMS+`local cur = redis.call('get', KEYS[1]) if cur and cjson.decode(cur).till >= now then return 0 end
redis.call('set', KEYS[1], cjson.encode({till = string.format('%.0f', now + ARGV[1]) + 0, by = 'x'}), 'PX', ARGV[1] + 50) return 1`),
		goFilters("confirm-by-hash", "a claim is a field with the worker's token, a confirm is another field; the hash ends with the later of the two", twoSteps(
			`if redis.call('hsetnx', KEYS[1], 'by', ARGV[1]) == 0 then return 0 end redis.call('pexpire', KEYS[1], ARGV[2]) return 1`,
			`if redis.call('hget', KEYS[1], 'by') ~= ARGV[1] then return 0 end redis.call('hset', KEYS[1], 'done', 1) return redis.call('pexpire', KEYS[1], ARGV[3])`)),
		goFilters("confirm-in-another-key", "claims and marks are keys of their own; a claim looks at both", twoSteps(
			`if redis.call('exists', KEYS[1]..':done') == 1 then return 0 end if redis.call('set', KEYS[1]..':claim', ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0`,
			`if redis.call('get', KEYS[1]..':claim') ~= ARGV[1] then return 0 end redis.call('set', KEYS[1]..':done', 1, 'PX', ARGV[3]) return redis.call('del', KEYS[1]..':claim')`)),
	}
}
