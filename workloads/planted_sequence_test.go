package workloads_test

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/workloads"
)

func plantedSequences() []planted {
	return append(brokenSequences(), oddSequences()...)
}

// goSequence is a Sequencer made of a function.
type goSequence func(ctx context.Context, key, proposed string) (string, error)

func (f goSequence) Next(ctx context.Context, key, proposed string) (string, error) {
	return f(ctx, key, proposed)
}

// numbered makes a generator of a function that draws integers.
func numbered(next func(ctx context.Context, r redis.UniversalClient, key string) (int64, error)) func(redis.UniversalClient) workloads.Sequencer {
	return func(r redis.UniversalClient) workloads.Sequencer {
		return goSequence(func(ctx context.Context, key, _ string) (string, error) {
			n, err := next(ctx, r, key)
			return strconv.FormatInt(n, 10), err
		})
	}
}

// blocks draws blocks of so many numbers, and hands them out one by one.
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

func brokenSequences() []planted {
	script := func(name, doc, text string, explorer, load said) planted {
		return planted{name: name, doc: doc, as: workloads.Sequence, script: sequenceScript(text), explorer: explorer, load: load}
	}
	generator := func(name, doc string, q func(redis.UniversalClient) workloads.Sequencer, explorer, load said) planted {
		return planted{name: name, doc: doc, as: workloads.Sequence, sequencer: q, explorer: explorer, load: load}
	}
	return []planted{
		generator("blocks", "hi and lo: each caller hands out numbers of its own block, while others already hand out higher ones", blocks(5), cannot("without any command"), finds()),
		generator("clock", "the caller's own clock in microseconds, and nothing else", func(redis.UniversalClient) workloads.Sequencer {
			return goSequence(func(ctx context.Context, _, _ string) (string, error) {
				return strconv.FormatInt(harness.Now(ctx).UnixMicro(), 10), nil
			})
		}, cannot("without any command"), misses("two callers have to ask in the same microsecond")),
		generator("incr-then-get", "INCR, then GET: two callers may read the same number", numbered(func(ctx context.Context, r redis.UniversalClient, key string) (int64, error) {
			if err := r.Incr(ctx, key).Err(); err != nil {
				return 0, err
			}
			return r.Get(ctx, key).Int64()
		}), finds(harness.DuplicateNumber, harness.Regression), finds()),
		generator("first-sets-the-start", "EXISTS, then SET of the start if nothing was there, then INCR: two callers may both find nothing", numbered(func(ctx context.Context, r redis.UniversalClient, key string) (int64, error) {
			n, err := r.Exists(ctx, key).Result()
			if err == nil && n == 0 {
				err = r.Set(ctx, key, 1000, 0).Err()
			}
			if err != nil {
				return 0, err
			}
			return r.Incr(ctx, key).Result()
		}), finds(harness.DuplicateNumber, harness.Regression), misses("only the first numbers of each sequence race")),
		script("half-steps", "INCRBYFLOAT of 0.5, rounded down", `return string.format('%.0f', math.floor(redis.call('incrbyfloat', KEYS[1], '0.5')))`, finds(harness.DuplicateNumber), finds()),
		script("shards", "four counters, chosen by the last digit of the proposal: numbers differ, but are not in order",
			`local shard = string.sub(ARGV[1], -1) % 4 return redis.call('hincrby', KEYS[1], shard, 1) * 4 + shard`, finds(harness.Regression, harness.DuplicateNumber), finds()),
		script("larger-or-the-same", "takes the proposal if it is at least as large as the stored number, else the next number",
			`local last = tonumber(redis.call('get', KEYS[1]) or '0') local p = tonumber(ARGV[1])
if p >= last then redis.call('set', KEYS[1], ARGV[1]) return ARGV[1] end return redis.call('incr', KEYS[1])`, finds(harness.DuplicateNumber, harness.Regression), finds()),
		script("json", "keeps the number in a JSON text, whose numbers have 14 digits",
			`local last = redis.call('get', KEYS[1]) local n = 0 if last then n = cjson.decode(last).n end
n = math.max(n + 1, tonumber(ARGV[1])) redis.call('set', KEYS[1], cjson.encode({n = n})) return string.format('%.0f', n)`, finds(harness.DuplicateNumber, harness.Regression), finds()),
		script("two-bits-a-second", "the time in seconds, and a counter of two bits, which wraps",
			`local t = redis.call('time') local n = redis.call('incr', KEYS[1]..':'..t[1]) redis.call('expire', KEYS[1]..':'..t[1], 5) return string.format('%.0f', t[1] * 4 + n % 4)`,
			finds(harness.DuplicateNumber, harness.Regression), finds()),
		script("bitfield-wraps", "BITFIELD INCRBY of two bits wraps", `return redis.call('bitfield', KEYS[1], 'INCRBY', 'u2', 0, 1)[1]`, finds(harness.DuplicateNumber, harness.Regression), finds()),
		script("bitfield-saturates", "BITFIELD INCRBY of two bits that stays at its largest number", `return redis.call('bitfield', KEYS[1], 'OVERFLOW', 'SAT', 'INCRBY', 'u2', 0, 1)[2] or redis.call('bitfield', KEYS[1], 'GET', 'u2', 0)[1]`, finds(harness.DuplicateNumber), finds()),
		script("set-of-proposals", "ZADD of the proposal, then the size of the set: a proposal made twice changes nothing",
			`redis.call('zadd', KEYS[1], 0, ARGV[1]) return redis.call('zcard', KEYS[1])`, finds(harness.DuplicateNumber), finds()),
		script("trimmed-list", "the length of a list that is trimmed to three", `local n = redis.call('rpush', KEYS[1], 1) redis.call('ltrim', KEYS[1], -3, -1) return redis.call('llen', KEYS[1])`, finds(harness.DuplicateNumber), finds()),
		script("estimate", "PFCOUNT after PFADD of the time: an estimate, exact for small numbers only",
			`local t = redis.call('time') redis.call('pfadd', KEYS[1], t[1]..'.'..t[2]) return redis.call('pfcount', KEYS[1])`, misses("the estimate of a few is exact"), finds()),
		script("ends-after-two-days", "INCR of a counter that expires after two days without a call, and begins again",
			`local n = redis.call('incr', KEYS[1]) redis.call('expire', KEYS[1], 172800) return n`, misses("keys of more than a day count as kept for their own sake"), misses("it takes two days")),
		script("overwritten-digits", "SETRANGE writes the proposal over the last number; if that was longer, its last digits stay",
			`local last = redis.call('get', KEYS[1]) or '0' if tonumber(ARGV[1]) > tonumber(last) then redis.call('setrange', KEYS[1], 0, ARGV[1]) return (redis.call('get', KEYS[1])) end return redis.call('incr', KEYS[1])`,
			finds(harness.DuplicateNumber, harness.Regression), finds()),
	}
}

func oddSequences() []planted {
	script := func(name, doc, text string) planted {
		return planted{name: name, doc: doc, as: workloads.Sequence, script: sequenceScript(text), sound: true, explorer: holds, load: holds}
	}
	generator := func(name, doc string, q func(redis.UniversalClient) workloads.Sequencer) planted {
		return planted{name: name, doc: doc, as: workloads.Sequence, sequencer: q, sound: true, explorer: holds, load: holds, clients: 2}
	}
	return []planted{
		script("append", "the length after APPEND", `return redis.call('append', KEYS[1], 'x')`),
		script("entry-id", "the id of a stream's next entry: its time, followed by its number",
			`local ms, n = string.match(redis.call('xadd', KEYS[1], 'MAXLEN', 1, '*', 'a', 1), '(%d+)-(%d+)') return ms..string.format('%06d', n)`),
		script("bitfield", "BITFIELD INCRBY of 63 bits", `return redis.call('bitfield', KEYS[1], 'INCRBY', 'u63', 0, 1)[1]`),
		script("score", "ZINCRBY of one member's score", `return redis.call('zincrby', KEYS[1], 1, 'n')`),
		script("hi-and-lo", "two counters: the low one carries at ten", `local lo = redis.call('hincrby', KEYS[1], 'lo', 1)
if lo == 10 then redis.call('hset', KEYS[1], 'lo', 0) redis.call('hincrby', KEYS[1], 'hi', 1) lo = 0 end
return (redis.call('hget', KEYS[1], 'hi') or '0')..lo`),
		script("strides", "INCRBY of one more than the number of digits in the proposal", `return redis.call('incrby', KEYS[1], 1 + #ARGV[1])`),
		generator("blocks-of-one", "hi and lo with blocks of one number", blocks(1)),
		generator("get-and-compare", "WATCH, GET, MULTI SET: a caller that is overtaken draws nothing", numbered(func(ctx context.Context, r redis.UniversalClient, key string) (n int64, err error) {
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
		generator("wide", "INCR, written as twenty digits with leading zeros", func(r redis.UniversalClient) workloads.Sequencer {
			return goSequence(func(ctx context.Context, key, _ string) (string, error) {
				n, err := r.Incr(ctx, key).Result()
				return fmt.Sprintf("%020d", n), err
			})
		}),
	}
}
