package lua_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// This file shows what surprises authors of scripts, on a real server, under RESP2 and RESP3. README.md summarises it.

// trap is a script and its reply. resp3 is set if the reply differs under RESP3.
type trap struct {
	name   string
	script string
	resp2  any
	resp3  any // nil: as resp2
}

var replyTraps = []trap{
	{"a nil reply is false in Lua", `return type(redis.call('get', KEYS[1]))`, "boolean", nil},
	{"and so it is not nil", `return redis.call('get', KEYS[1]) == nil and 'nil' or 'not nil'`, "not nil", nil},
	{"true is integer 1 under either protocol", `return true`, int64(1), nil},
	{"a comparison is integer 1, too", `return redis.call('exists', KEYS[1]) == 0`, int64(1), nil},
	{"zero is true", `if redis.call('exists', KEYS[1]) then return 'there' end return 'not there'`, "there", nil},
	{"a number loses its fraction", `return 3.99`, int64(3), nil},
	{"also below zero", `return -3.99`, int64(-3), nil},
	{"a double has to be a string", `return tostring(3.5)`, "3.5", nil},
	{"or a table that asks for one", `return {double = 3.5}`, "3.5", 3.5},
	{"an array stops at its first nil", `return {1, 2, nil, 4}`, []any{int64(1), int64(2)}, nil},
	{"but not at false", `return {1, false, 3}`, []any{int64(1), nil, int64(3)}, nil},
	{"a table without positions is empty", `return {granted = 1}`, []any{}, nil},
	{"a status reply is a table with ok", `return redis.call('set', KEYS[1], 'v').ok`, "OK", nil},
	{"which is not equal to its text", `return redis.call('set', KEYS[1], 'v') == 'OK' and 1 or 0`, int64(0), nil},
	{"a table with ok is a status reply", `return {ok = 'GRANTED'}`, "GRANTED", nil},
	{"an error reply is a table with err", `return redis.pcall('incrby', KEYS[1], 'x').err`,
		"ERR value is not an integer or out of range", nil},
	{"arguments are strings, and compared as such", `return ARGV[1] < ARGV[2]`, int64(1), nil}, // 100 and 23
	{"a string is no number", `return ARGV[1] == 100 and 1 or 0`, int64(0), nil},
	{"false is a nil reply", `return false`, nil, nil},
	{"and so is nil", `return nil`, nil, nil},
	{"and nothing", `return`, nil, nil},
	{"and no return", `local granted = 1`, nil, nil},

	// Redis uses RESP3 in a script only if the script asks for it, and that changes more than its replies.
	{"true is a boolean", `redis.setresp(3); return true`, int64(1), true},
	{"false is a boolean, and no longer nil for those who speak RESP2", `redis.setresp(3); return false`, int64(0),
		false},
	{"a nil reply is nil in Lua", `redis.setresp(3); return type(redis.call('get', KEYS[1]))`, "nil", nil},
	{"and not false: it is taken for a value",
		`redis.setresp(3); if redis.call('get', KEYS[1]) == false then return 'new' end return 'seen'`, "seen", nil},
	{"a hash is a table with map", `redis.setresp(3); return type(redis.call('hgetall', KEYS[1]).map)`, "table", nil},
	{"a script that does not ask gets an array", `return type(redis.call('hgetall', KEYS[1]).map)`, "nil", nil},

	{"2^53 + 1 is 2^53", `return 9007199254740993`, int64(9007199254740992), nil},
	{"a number of 17 digits loses the last", `return tonumber('16081817202494579')`, int64(16081817202494580), nil},
	{"a counter is read wrongly, though it counts well",
		`redis.call('set', KEYS[1], '9007199254740992')
return {redis.call('incr', KEYS[1]), redis.call('get', KEYS[1])}`,
		[]any{int64(9007199254740992), "9007199254740993"}, nil},
	{"tostring writes 14 digits", `return tostring(123456789012345)`, "1.2345678901234e+14", nil},
	{"cjson writes 14 digits", `return cjson.encode(123456789012345)`, "1.2345678901234e+14", nil},
	{"an argument gets 17", `redis.call('set', KEYS[1], 16081817202494579); return redis.call('get', KEYS[1])`,
		"16081817202494580", nil},
	{"string.format writes what the double holds", `return string.format('%.0f', 16081817202494579)`,
		"16081817202494580", nil},
}

// Each trap is tried under each protocol, on a key that does not exist.
func TestReplies(t *testing.T) {
	r := connect(t, standalone(t))
	for _, protocol := range protocols {
		p := speaking(t, r, protocol)
		for _, x := range replyTraps {
			want := x.resp2
			if protocol == 3 && x.resp3 != nil {
				want = x.resp3
			}
			require.NoError(t, p.FlushAll(t.Context()).Err())
			got := reply(p.Eval(t.Context(), x.script, []string{"k"}, "100", "23"))
			require.Equal(t, want, got, "%s: RESP%d: %s", x.name, protocol, x.script)
		}
	}
}

// An error does not roll back what the script did before.
func TestRefusals(t *testing.T) {
	ctx := t.Context()
	r := connect(t, standalone(t))
	for _, x := range []struct{ script, refusal string }{
		{`redis.call('set', KEYS[1], 'a'); redis.call('expire', KEYS[1], 'soon')`, "value is not an integer"},
		{`redis.call('set', KEYS[1], 'a'); return redis.call('wait', 1, 100)`,
			"ERR This Redis command is not allowed from script"},
		{`redis.call('set', KEYS[1], 'a'); owner = ARGV[1]`, "Attempt to modify a readonly table"},
		{`redis.call('set', KEYS[1], 'a'); return owner`, "nonexistent global variable 'owner'"},
	} {
		require.NoError(t, r.FlushAll(ctx).Err())
		require.ErrorContains(t, r.Eval(ctx, x.script, []string{"lock"}, "b").Err(), x.refusal)
		require.Equal(t, "a", r.Get(ctx, "lock").Val(), "the SET was undone: %s", x.script)
		require.Equal(t, int64(-1), int64(r.TTL(ctx, "lock").Val()), "and this lock has an end")
	}
}

func TestTimeStandsStillForExpiry(t *testing.T) {
	ctx := t.Context()
	r := connect(t, standalone(t))
	// The clock itself goes on: the loop below ends 30 ms after the lease.
	got := reply(r.Eval(ctx, `
		local function now() local t = redis.call('time'); return t[1] * 1000 + math.floor(t[2] / 1000) end
		redis.call('set', KEYS[1], 'owner', 'PX', 20)
		local ends = now() + 50
		while now() < ends do end
		return {redis.call('get', KEYS[1]), redis.call('set', KEYS[1], 'next', 'NX')}`, []string{"lock"}))
	require.Equal(t, []any{"owner", nil}, got, "the lease ended inside the script")
	require.Zero(t, r.Exists(ctx, "lock").Val(), "the lease goes on after the script")
}

// Without a shebang, a script may touch undeclared keys wherever its own node has their slots, which hides the mistake
// in a cluster of one.
func TestKeysOnACluster(t *testing.T) {
	ctx := t.Context()
	r := clusterNode(t)
	set := func(shebang, declared, undeclared string) error {
		return r.Eval(ctx, shebang+`return redis.call('set', ARGV[1], 1)`, []string{declared}, undeclared).Err()
	}
	const declared, neighbour, stranger = "{a}1", "{a}2", "{b}1" // a and b have different slots
	require.NotEqual(t, r.ClusterKeySlot(ctx, "a").Val(), r.ClusterKeySlot(ctx, "b").Val())
	require.Equal(t, r.ClusterKeySlot(ctx, declared).Val(), r.ClusterKeySlot(ctx, neighbour).Val())

	t.Run("an undeclared key is accepted while this node has its slot", func(t *testing.T) {
		require.NoError(t, set("", declared, neighbour))
		require.NoError(t, set("", declared, stranger))
	})
	t.Run("after a shebang it has to share the slot of the declared", func(t *testing.T) {
		require.NoError(t, set("#!lua\n", declared, neighbour))
		require.ErrorContains(t, set("#!lua\n", declared, stranger), "access keys that do not hash to the same slot")
		require.NoError(t, set("#!lua flags=allow-cross-slot-keys\n", declared, stranger))
	})
	t.Run("in a slot of another node it is refused", func(t *testing.T) {
		require.NoError(t, r.ConfigSet(ctx, "cluster-require-full-coverage", "no").Err())
		require.NoError(t, r.ClusterDelSlots(ctx, int(r.ClusterKeySlot(ctx, stranger).Val())).Err())
		require.NoError(t, set("", declared, neighbour))
		require.ErrorContains(t, set("", declared, stranger), "access a non local key in a cluster node")
	})
}

// An undeclared key works on a server without Cluster, unless the user may not touch it.
func TestUndeclaredKeysOnOneServer(t *testing.T) {
	ctx := t.Context()
	r := connect(t, standalone(t))
	const script = `return redis.call('set', 'undeclared', 1)`
	require.NoError(t, r.Eval(ctx, script, []string{"k"}).Err())
	err := confined(t, r, "k").Eval(ctx, script, []string{"k"}).Err()
	require.ErrorContains(t, err, "can't access at least one of the keys")
}
