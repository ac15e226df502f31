package lua_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// This file has an example for every script of the folder. scripts_test.go runs them all, in every way that a script is
// run: under both protocols, after a flush and a failover, on a Cluster, and with access to its own keys only.

// example lists calls of one script, one after the other on an empty server, with the replies to expect.
type example struct {
	given   string // a command with its key to run before the calls, if any
	calls   []call
	misuses bool // it passes values as KEYS, as its article does, so its KEYS share no slot
}

// call is one call of the script. Its keys and arguments are words.
type call struct {
	keys, argv string
	want       any // the reply, the same under RESP2 and RESP3; an int stands for an integer
}

// tooLong is the number that "Unique serial numbers" takes as an example. It is beyond 2^53.
const tooLong = "16081817202494579"

var examples = map[string]example{
	"compare_delete.lua": {given: "set lock a", calls: []call{{"lock", "b", 0}, {"lock", "a", 1}, {"lock", "a", 0}}},
	"compare_pexpire.lua": {given: "set lock a", calls: []call{
		{"lock", "b 20000", 0}, {"lock", "a 20000", 1}, {"none", "a 20000", 0},
	}},
	"dedup_confirm.lua": {given: "set msg a", calls: []call{
		{"msg", "b 20000", 0}, {"msg", "a 20000", 1}, {"msg", "a 20000", 0},
	}},
	"dedup_get_set.lua": {calls: []call{{"msg", "1 20", 0}, {"msg", "1 20", 1}, {"other", "1 20", 0}}},
	"lock_fenced.lua": {calls: []call{
		{"lock fence", "a 20000", "1"}, {"lock fence", "b 20000", nil}, {"other fence", "b 20000", "2"},
	}},
	"lock_redisson_acquire.lua": {calls: []call{
		{"lock", "20000 a", nil}, {"lock", "20000 a", nil}, {"lock", "20000 b", upTo(20000)},
	}},
	"lock_redisson_extend.lua": {given: "hset lock a 1", calls: []call{{"lock", "20000 b", 0}, {"lock", "20000 a", 1}}},
	"lock_redisson_release.lua": {given: "hset lock a 2", calls: []call{
		{"lock released", "20000 b", nil}, {"lock released", "20000 a", 0}, {"lock released", "20000 a", 1},
		{"lock released", "20000 a", nil},
	}},
	"lock_signal_release.lua": {given: "set lock a", calls: []call{
		{"lock signal", "b 20000", 0}, {"lock signal", "a 20000", 1}, {"lock signal", "a 20000", 0},
	}},
	"lock_extend_or_take.lua": {calls: []call{{"lock", "a 20000", 1}, {"lock", "a 20000", 1},
		{"lock", "b 20000", 0}}},
	"lock_release_by_codes.lua": {given: "set lock a",
		calls: []call{{"lock", "b", 2}, {"lock", "a", 1}, {"lock", "a", 1}}},
	"lock_setnx_expire.lua": {calls: []call{{"lock", "a 20", 1}, {"lock", "b 20", 0}}},
	// It returns true and false without asking for RESP3, so they stay 1 and nil there.
	"lock_setnx_expire_boolean.lua": {calls: []call{{"lock", "a 20", 1}, {"lock", "b 20", nil}}},
	"lock_setnx_setex_keys.lua": {misuses: true,
		calls: []call{{"lock 20 a", "", "OK"}, {"lock 20 b", "", "faild"}}},
	"scan_on_primary.lua": {given: "sadd set 3 1 2",
		calls: []call{{"set marker", "0", []any{"0", []any{"1", "2", "3"}}}}},
	"sequence_digits_compare.lua": {calls: []call{
		{"seq", tooLong, tooLong}, {"seq", tooLong, "16081817202494580"}, {"seq", tooLong, "16081817202494581"},
		{"other", "0099", "99"}, {"other", "23", "100"}, {"other", "23", "101"},
	}},
	"sequence_numeric_compare_hash.lua": {calls: []call{
		{"seqs", "biz " + tooLong, 16081817202494580}, {"seqs", "biz " + tooLong, 16081817202494580},
		{"seqs", "biz " + tooLong, 16081817202494582}, {"seqs", "other 99", 99}, {"seqs", "other 23", 100},
	}},
	"sequence_string_compare.lua": {calls: []call{{"seq", "99", "99"}, {"seq", "23", "100"}, {"seq", "23", "23"}}},
	"sequence_string_compare_hash.lua": {calls: []call{
		{"seqs", "biz 99", "99"}, {"seqs", "biz 23", "100"}, {"seqs", "biz 23", "23"},
	}},
}

// declared lists all the keys of the example.
func (x example) declared() (all []string) {
	for _, c := range x.calls {
		all = append(all, strings.Fields(c.keys)...)
	}
	return all
}

const tag = "{tag}"

// tagged returns the example with a hash tag in every key, so that all are in one slot.
func (x example) tagged() (y example) {
	if command, key, given := strings.Cut(x.given, " "); given {
		y.given = command + " " + tag + key
	}
	for _, c := range x.calls {
		y.calls = append(y.calls, call{tag + strings.ReplaceAll(c.keys, " ", " "+tag), c.argv, c.want})
	}
	return y
}

// args converts words into arguments of a command.
func args(words string) (all []any) {
	for _, w := range strings.Fields(words) {
		all = append(all, w)
	}
	return all
}

// run empties the server of r, runs the command that comes before the calls, makes the calls, and checks the replies.
func (x example) run(t *testing.T, r *redis.Client, source string) {
	t.Helper()
	require.NoError(t, r.FlushAll(t.Context()).Err())
	if x.given != "" {
		require.NoError(t, r.Do(t.Context(), args(x.given)...).Err())
	}
	script := redis.NewScript(source)
	for i, c := range x.calls {
		got := reply(script.Run(t.Context(), r, strings.Fields(c.keys), args(c.argv)...))
		switch want := c.want.(type) {
		case upTo:
			require.IsType(t, int64(0), got, "call %d", i+1)
			require.Positive(t, got, "call %d", i+1)
			require.LessOrEqual(t, got, int64(want), "call %d", i+1)
		case int:
			require.Equal(t, int64(want), got, "call %d", i+1)
		default:
			require.Equal(t, want, got, "call %d", i+1)
		}
	}
}

// upTo matches a reply of at most so many remaining milliseconds.
type upTo int64
