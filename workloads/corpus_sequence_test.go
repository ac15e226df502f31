package workloads_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/workloads"
)

// goSequence is a Sequencer made of a function.
type goSequence func(ctx context.Context, key, proposed string) (string, error)

func (f goSequence) Next(ctx context.Context, key, proposed string) (string, error) {
	return f(ctx, key, proposed)
}

// numbered makes a generator of a function that draws integers.
func numbered(
	next func(ctx context.Context, r redis.UniversalClient, key string) (int64, error),
) func(redis.UniversalClient) workloads.Sequencer {
	return func(r redis.UniversalClient) workloads.Sequencer {
		return goSequence(func(ctx context.Context, key, _ string) (string, error) {
			n, err := next(ctx, r, key)
			return strconv.FormatInt(n, 10), err
		})
	}
}

// blocks returns the constructor of a generator that draws blocks of size numbers and returns them one by one.
func blocks(size int64) func(redis.UniversalClient) workloads.Sequencer {
	return func(r redis.UniversalClient) workloads.Sequencer {
		next, end := map[string]int64{}, map[string]int64{}
		return goSequence(func(ctx context.Context, key, _ string) (string, error) {
			if next[key] == end[key] {
				n, err := r.IncrBy(ctx, key, size).Result()
				if err != nil {
					return "", err
				}
				next[key], end[key] = n-size, n
			}
			next[key]++
			return strconv.FormatInt(next[key], 10), nil
		})
	}
}

// sequences lists number generators, broken ones first.
func sequences() []algorithm {
	return []algorithm{
		codeSequence("blocks",
			"hi and lo: each caller hands out numbers of its own block, while others already hand out higher ones",
			blocks(5)).says(cannot("without any command"), finds()),
		codeSequence("clock", "the caller's own clock in microseconds, and nothing else",
			func(redis.UniversalClient) workloads.Sequencer {
				return goSequence(func(ctx context.Context, _, _ string) (string, error) {
					runtime.Gosched() // let callers meet
					return strconv.FormatInt(harness.Now(ctx).UnixMicro(), 10), nil
				})
			}).says(cannot("without any command"), misses("two callers have to ask in the same microsecond")),
		codeSequence("incr-then-get", "INCR, then GET: two callers may read the same number",
			numbered(func(ctx context.Context, r redis.UniversalClient, key string) (int64, error) {
				if err := r.Incr(ctx, key).Err(); err != nil {
					return 0, err
				}
				return r.Get(ctx, key).Int64()
			})).says(finds(harness.DuplicateNumber, harness.Regression), finds()),
		codeSequence("first-sets-the-start",
			"EXISTS, then SET of the start if nothing was there, then INCR: two callers may both find nothing",
			numbered(func(ctx context.Context, r redis.UniversalClient, key string) (int64, error) {
				n, err := r.Exists(ctx, key).Result()
				if err == nil && n == 0 {
					err = r.Set(ctx, key, 1000, 0).Err()
				}
				if err != nil {
					return 0, err
				}
				return r.Incr(ctx, key).Result()
			})).says(finds(harness.DuplicateNumber, harness.Regression),
			misses("only the first numbers of each sequence race")),
		scriptSequence("half-steps", "INCRBYFLOAT of 0.5, rounded down",
			`return string.format('%.0f', math.floor(redis.call('incrbyfloat', KEYS[1], '0.5')))`).says(
			finds(harness.DuplicateNumber),
			finds()),
		scriptSequence("shards",
			"four counters, chosen by the last digit of the proposal: numbers differ, but are not in order",
			`local shard = string.sub(ARGV[1], -1) % 4
return redis.call('hincrby', KEYS[1], shard, 1) * 4 + shard`).says(finds(harness.Regression, harness.DuplicateNumber),
			finds()),
		scriptSequence("larger-or-the-same",
			"takes the proposal if it is at least as large as the stored number, else the next number",
			`local last = tonumber(redis.call('get', KEYS[1]) or '0') local p = tonumber(ARGV[1])
if p >= last then redis.call('set', KEYS[1], ARGV[1]) return ARGV[1] end
return redis.call('incr', KEYS[1])`).says(finds(harness.DuplicateNumber, harness.Regression), finds()),
		scriptSequence("json", "keeps the number in a JSON text, whose numbers have 14 digits",
			`local last = redis.call('get', KEYS[1]) local n = 0 if last then n = cjson.decode(last).n end
n = math.max(n + 1, tonumber(ARGV[1])) redis.call('set', KEYS[1], cjson.encode({n = n}))
return string.format('%.0f', n)`).says(finds(harness.DuplicateNumber, harness.Regression), finds()),
		scriptSequence("two-bits-a-second", "the time in seconds, and a counter of two bits, which wraps",
			`local t = redis.call('time') local n = redis.call('incr', KEYS[1]..':'..t[1])
redis.call('expire', KEYS[1]..':'..t[1], 5)
return string.format('%.0f', t[1] * 4 + n % 4)`).says(finds(harness.DuplicateNumber, harness.Regression), finds()),
		scriptSequence("bitfield-wraps", "BITFIELD INCRBY of two bits wraps",
			`return redis.call('bitfield', KEYS[1], 'INCRBY', 'u2', 0, 1)[1]`).says(finds(harness.DuplicateNumber,
			harness.Regression), finds()),
		scriptSequence("bitfield-saturates", "BITFIELD INCRBY of two bits that stays at its largest number",
			`return redis.call('bitfield', KEYS[1], 'OVERFLOW', 'SAT', 'INCRBY', 'u2', 0, 1)[2] or
redis.call('bitfield', KEYS[1], 'GET', 'u2', 0)[1]`).says(finds(harness.DuplicateNumber), finds()),
		scriptSequence("set-of-proposals",
			"ZADD of the proposal, then the size of the set: a proposal made twice changes nothing",
			`redis.call('zadd', KEYS[1], 0, ARGV[1])
return redis.call('zcard', KEYS[1])`).says(finds(harness.DuplicateNumber), finds()),
		scriptSequence("trimmed-list", "the length of a list that is trimmed to three",
			`local n = redis.call('rpush', KEYS[1], 1) redis.call('ltrim', KEYS[1], -3, -1)
return redis.call('llen', KEYS[1])`).says(finds(harness.DuplicateNumber), finds()),
		scriptSequence("estimate", "PFCOUNT after PFADD of the time: an estimate, exact for small numbers only",
			`local t = redis.call('time') redis.call('pfadd', KEYS[1], t[1]..'.'..t[2])
return redis.call('pfcount', KEYS[1])`).says(misses("the estimate of a few is exact"), finds()),
		scriptSequence("ends-after-two-days",
			"INCR of a counter that expires after two days without a call, and begins again",
			`local n = redis.call('incr', KEYS[1]) redis.call('expire', KEYS[1], 172800)
return n`).says(misses("keys of more than a day count as kept for their own sake"), misses("it takes two days")),
		scriptSequence("overwritten-digits",
			"SETRANGE writes the proposal over the last number; if that was longer, its last digits stay",
			`local last = redis.call('get', KEYS[1]) or '0' if tonumber(ARGV[1]) > tonumber(last) then
redis.call('setrange', KEYS[1], 0, ARGV[1]) return (redis.call('get', KEYS[1])) end
return redis.call('incr', KEYS[1])`).says(finds(harness.DuplicateNumber, harness.Regression), finds()),
		scriptSequence("proposal", "the proposal itself",
			`return ARGV[1]`).says(finds(harness.DuplicateNumber, harness.Regression), finds()),
		scriptSequence("doubles", "the larger of the proposal and the next number, as doubles of 53 bits",
			`local n = math.max((tonumber(redis.call('get', KEYS[1]) or '0')) + 1, tonumber(ARGV[1]))
n = string.format('%.0f', n) redis.call('set', KEYS[1], n)
return n`).says(finds(harness.DuplicateNumber, harness.Regression), finds()),
		scriptSequence("zeros-stay",
			"compares proposals as text, the longer one first: leading zeros make a small number large",
			`local last = redis.call('get', KEYS[1]) local p = ARGV[1]
if not last or #p > #last or #p == #last and p > last then redis.call('set', KEYS[1], p) return p end
local n = string.format('%.0f', tonumber(last) + 1) redis.call('set', KEYS[1], n)
return n`).says(finds(harness.DuplicateNumber, harness.Regression), finds()),
		scriptSequence("round-numbers-win", "a proposal that is a round number is taken, even if it is smaller",
			`local n = tonumber(ARGV[1]) if n % 100 == 0 then redis.call('set', KEYS[1], ARGV[1]) return ARGV[1] end
return redis.call('incr', KEYS[1])`).says(misses("nobody proposes a round number"), finds()),
		scriptSequence("ends-every-second", "a counter that ends a second after its first number",
			`local n = redis.call('incr', KEYS[1]) if n == 1 then redis.call('pexpire', KEYS[1], 1000) end
return n`).says(finds(harness.DuplicateNumber, harness.Regression), finds()),
		scriptSequence("back-after-a-hundred", "a counter that goes back by three after each hundred",
			`local n = redis.call('incr', KEYS[1]) if n % 100 == 0 then redis.call('decrby', KEYS[1], 3) end
return n`).says(
			misses("it takes a hundred numbers"), finds()),
		scriptSequence("milliseconds", "the server's time in milliseconds",
			nowMS+`return string.format('%.0f', now)`).says(finds(harness.DuplicateNumber, harness.Regression),
			finds()),
		scriptSequence("counts-down", "DECR",
			`redis.call('setnx', KEYS[1], 100000000) return redis.call('decr', KEYS[1])`).says(
			finds(harness.Regression), finds()),
		scriptSequence("random", "a random number below a million, whose seed is the server's time",
			`local t = redis.call('time') math.randomseed(t[1]*1000000+t[2])
return math.random(1, 1000000)`).says(finds(harness.DuplicateNumber, harness.Regression), finds()),
		scriptSequence("errors-only", "answers with an error", `return redis.error_reply('ERR no')`).says(cannot(""),
			cannot("")),

		scriptSequence("incr", "INCR", `return redis.call('incr', KEYS[1])`),
		scriptSequence("from-a-million", "SETNX of the start, then INCR, in one script",
			`redis.call('setnx', KEYS[1], 1000000) return redis.call('incr', KEYS[1])`),
		scriptSequence("one-for-all", "INCR of one key for all sequences", `return redis.call('incr', 'one')`),
		scriptSequence("seventeen-digits", "a nine before sixteen digits, as text: more than a double holds",
			`return '9'..string.format('%016d', redis.call('incr', KEYS[1]))`),
		scriptSequence("time-or-next", "the server's microseconds, or one more than the last number",
			`local t = redis.call('time') local last = redis.call('get', KEYS[1]) or '0'
local n = tonumber(t[1]) * 1000000 + tonumber(t[2]) if n <= tonumber(last) then n = tonumber(last) + 1 end
n = string.format('%.0f', n) redis.call('set', KEYS[1], n) return n`),
		scriptSequence("digit-by-digit",
			"the larger of the proposal and the next number, compared and counted on digit by digit",
			`local function larger(a, b) if #a ~= #b then return #a > #b end return a > b end
local function inc(s) local d, i = {}, #s for k = 1, #s do d[k] = string.byte(s, k) - 48 end
while i > 0 do if d[i] == 9 then d[i] = 0 i = i - 1 else d[i] = d[i] + 1 break end end
local r = table.concat(d) if i == 0 then r = '1'..r end return r end
local last = redis.call('get', KEYS[1]) local n = string.gsub(ARGV[1], '^0+', '')
if last and not larger(n, last) then n = inc(last) end redis.call('set', KEYS[1], n) return n`),
		scriptSequence("append", "the length after APPEND", `return redis.call('append', KEYS[1], 'x')`),
		scriptSequence("entry-id", "the id of a stream's next entry: its time, followed by its number",
			`local ms, n = string.match(redis.call('xadd', KEYS[1], 'MAXLEN', 1, '*', 'a', 1), '(%d+)-(%d+)')
return ms..string.format('%06d', n)`),
		scriptSequence("bitfield", "BITFIELD INCRBY of 63 bits",
			`return redis.call('bitfield', KEYS[1], 'INCRBY', 'u63', 0, 1)[1]`),
		scriptSequence("score", "ZINCRBY of one member's score", `return redis.call('zincrby', KEYS[1], 1, 'n')`),
		scriptSequence("hi-and-lo", "two counters: the low one carries at ten", `local lo =
redis.call('hincrby', KEYS[1], 'lo', 1)
if lo == 10 then redis.call('hset', KEYS[1], 'lo', 0) redis.call('hincrby', KEYS[1], 'hi', 1) lo = 0 end
return (redis.call('hget', KEYS[1], 'hi') or '0')..lo`),
		scriptSequence("strides", "INCRBY of one more than the number of digits in the proposal",
			`return redis.call('incrby', KEYS[1], 1 + #ARGV[1])`),
		codeSequence("blocks-of-one", "hi and lo with blocks of one number", blocks(1)),
		codeSequence("get-and-compare", "WATCH, GET, MULTI SET: a caller that is overtaken draws nothing",
			numbered(func(ctx context.Context, r redis.UniversalClient, key string) (n int64, err error) {
				err = r.Watch(ctx, func(tx *redis.Tx) error {
					last, err := tx.Get(ctx, key).Int64()
					if err != nil && err != redis.Nil {
						return err
					}
					n = last + 1
					_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, key, n, 0).Err() })
					return err
				}, key)
				return n, err
			})),
		codeSequence("wide", "INCR, written as twenty digits with leading zeros",
			func(r redis.UniversalClient) workloads.Sequencer {
				return goSequence(func(ctx context.Context, key, _ string) (string, error) {
					n, err := r.Incr(ctx, key).Result()
					return fmt.Sprintf("%020d", n), err
				})
			}),
	}
}
