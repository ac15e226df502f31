package lua_test

import (
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// This file has an example for every script of the folder. scripts_test.go runs them all, in every way that a script is
// run: under both protocols, after a flush and a failover, on a Cluster, and with nothing but its own keys.

// example lists calls of a script in a row, on an empty server, with its answers.
type example struct {
	given   []any // a command and its key, run before the calls; if any
	calls   []call
	misuses bool // passes values as KEYS, as its article does: they share no slot
}

// call is one call of the script.
type call struct {
	keys keys
	argv argv
	want any // the reply, the same under RESP2 and RESP3
}

type (
	keys []string
	argv []any
)

// tooLong is the sample of "Unique serial numbers", beyond 2^53.
const tooLong = "16081817202494579"

var examples = map[string]example{
	"compare_delete.lua": {
		given: []any{"set", "lock", "a"},
		calls: []call{
			{keys{"lock"}, argv{"b"}, int64(0)},
			{keys{"lock"}, argv{"a"}, int64(1)},
			{keys{"lock"}, argv{"a"}, int64(0)},
		},
	},
	"compare_pexpire.lua": {
		given: []any{"set", "lock", "a"},
		calls: []call{
			{keys{"lock"}, argv{"b", 20000}, int64(0)},
			{keys{"lock"}, argv{"a", 20000}, int64(1)},
			{keys{"none"}, argv{"a", 20000}, int64(0)},
		},
	},
	"dedup_confirm.lua": {
		given: []any{"set", "msg", "a"},
		calls: []call{
			{keys{"msg"}, argv{"b", 20000}, int64(0)},
			{keys{"msg"}, argv{"a", 20000}, int64(1)},
			{keys{"msg"}, argv{"a", 20000}, int64(0)},
		},
	},
	"dedup_get_set.lua": {calls: []call{
		{keys{"msg"}, argv{"1", 20}, int64(0)},
		{keys{"msg"}, argv{"1", 20}, int64(1)},
		{keys{"other"}, argv{"1", 20}, int64(0)},
	}},
	"lock_fenced.lua": {calls: []call{
		{keys{"lock", "fence"}, argv{"a", 20000}, "1"},
		{keys{"lock", "fence"}, argv{"b", 20000}, nil},
		{keys{"other", "fence"}, argv{"b", 20000}, "2"},
	}},
	"lock_redisson_acquire.lua": {calls: []call{
		{keys{"lock"}, argv{20000, "a"}, nil},
		{keys{"lock"}, argv{20000, "a"}, nil},
		{keys{"lock"}, argv{20000, "b"}, upTo(20000)},
	}},
	"lock_redisson_extend.lua": {
		given: []any{"hset", "lock", "a", 1},
		calls: []call{
			{keys{"lock"}, argv{20000, "b"}, int64(0)},
			{keys{"lock"}, argv{20000, "a"}, int64(1)},
		},
	},
	"lock_redisson_release.lua": {
		given: []any{"hset", "lock", "a", 2},
		calls: []call{
			{keys{"lock", "released"}, argv{20000, "b"}, nil},
			{keys{"lock", "released"}, argv{20000, "a"}, int64(0)},
			{keys{"lock", "released"}, argv{20000, "a"}, int64(1)},
			{keys{"lock", "released"}, argv{20000, "a"}, nil},
		},
	},
	"lock_signal_release.lua": {
		given: []any{"set", "lock", "a"},
		calls: []call{
			{keys{"lock", "signal"}, argv{"b", 20000}, int64(0)},
			{keys{"lock", "signal"}, argv{"a", 20000}, int64(1)},
			{keys{"lock", "signal"}, argv{"a", 20000}, int64(0)},
		},
	},
	"lock_extend_or_take.lua": {calls: []call{
		{keys{"lock"}, argv{"a", 20000}, int64(1)},
		{keys{"lock"}, argv{"a", 20000}, int64(1)},
		{keys{"lock"}, argv{"b", 20000}, int64(0)},
	}},
	"lock_release_by_codes.lua": {
		given: []any{"set", "lock", "a"},
		calls: []call{
			{keys{"lock"}, argv{"b"}, int64(2)},
			{keys{"lock"}, argv{"a"}, int64(1)},
			{keys{"lock"}, argv{"a"}, int64(1)},
		},
	},
	"lock_setnx_expire.lua": {calls: []call{
		{keys{"lock"}, argv{"a", 20}, int64(1)},
		{keys{"lock"}, argv{"b", 20}, int64(0)},
	}},
	// It returns true and false, and says nothing about RESP3: so they stay 1 and nil there.
	"lock_setnx_expire_boolean.lua": {calls: []call{
		{keys{"lock"}, argv{"a", 20}, int64(1)},
		{keys{"lock"}, argv{"b", 20}, nil},
	}},
	"lock_setnx_setex_keys.lua": {misuses: true, calls: []call{
		{keys{"lock", "20", "a"}, nil, "OK"},
		{keys{"lock", "20", "b"}, nil, "faild"},
	}},
	"scan_on_primary.lua": {
		given: []any{"sadd", "set", 3, 1, 2},
		calls: []call{{keys{"set", "marker"}, argv{0}, []any{"0", []any{"1", "2", "3"}}}},
	},
	"sequence_digits_compare.lua": {calls: []call{
		{keys{"seq"}, argv{tooLong}, tooLong},
		{keys{"seq"}, argv{tooLong}, "16081817202494580"},
		{keys{"seq"}, argv{tooLong}, "16081817202494581"},
		{keys{"other"}, argv{"0099"}, "99"},
		{keys{"other"}, argv{"23"}, "100"},
		{keys{"other"}, argv{"23"}, "101"},
	}},
	"sequence_numeric_compare_hash.lua": {calls: []call{
		{keys{"seqs"}, argv{"biz", tooLong}, int64(16081817202494580)},
		{keys{"seqs"}, argv{"biz", tooLong}, int64(16081817202494580)},
		{keys{"seqs"}, argv{"biz", tooLong}, int64(16081817202494582)},
		{keys{"seqs"}, argv{"other", "99"}, int64(99)},
		{keys{"seqs"}, argv{"other", "23"}, int64(100)},
	}},
	"sequence_string_compare.lua": {calls: []call{
		{keys{"seq"}, argv{"99"}, "99"},
		{keys{"seq"}, argv{"23"}, "100"},
		{keys{"seq"}, argv{"23"}, "23"},
	}},
	"sequence_string_compare_hash.lua": {calls: []call{
		{keys{"seqs"}, argv{"biz", "99"}, "99"},
		{keys{"seqs"}, argv{"biz", "23"}, "100"},
		{keys{"seqs"}, argv{"biz", "23"}, "23"},
	}},
}

// declared lists all the keys of the example.
func (x example) declared() []string {
	var all []string
	for _, c := range x.calls {
		all = append(all, c.keys...)
	}
	return all
}

// tagged returns the example with a hash tag in every key, so that all are in one slot.
func (x example) tagged() example {
	y := example{given: slices.Clone(x.given)}
	if y.given != nil {
		y.given[1] = tag(y.given[1].(string))
	}
	for _, c := range x.calls {
		y.calls = append(y.calls, call{tagAll(c.keys), c.argv, c.want})
	}
	return y
}

func tag(key string) string { return "{tag}" + key }

func tagAll(all keys) keys {
	out := make(keys, len(all))
	for i, k := range all {
		out[i] = tag(k)
	}
	return out
}

// run empties the server of r, runs the command that comes before the calls, makes the calls, and holds the replies to
// what the example says.
func (x example) run(t *testing.T, r *redis.Client, source string) {
	t.Helper()
	require.NoError(t, r.FlushAll(t.Context()).Err())
	if x.given != nil {
		require.NoError(t, r.Do(t.Context(), x.given...).Err())
	}
	x.call(t, r, redis.NewScript(source))
}

func (x example) call(t *testing.T, r *redis.Client, script *redis.Script) {
	t.Helper()
	for i, c := range x.calls {
		got := reply(script.Run(t.Context(), r, c.keys, c.argv...))
		if matches, ok := c.want.(matcher); ok {
			require.True(t, matches(got), "call %d: %v", i+1, got)
			continue
		}
		require.Equal(t, c.want, got, "call %d", i+1)
	}
}

// matcher is a want for replies that are not always the same.
type matcher func(reply any) bool

// upTo matches what is left of ms milliseconds.
func upTo(ms int64) matcher {
	return func(reply any) bool { n, ok := reply.(int64); return ok && 0 < n && n <= ms }
}
