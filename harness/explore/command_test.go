package explore

import (
	"context"
	"crypto/sha1"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/lua"
)

func parsed(t testing.TB, args ...string) command {
	t.Helper()
	b := request(args...)
	list, size, err := parseCommand(b)
	require.NoError(t, err)
	require.Equal(t, len(b), size)
	c := command{raw: b, args: list}
	c.access, _ = accessOf(list)
	return c
}

// plainWorld starts a Redis with two clients whose connections pass everything.
func plainWorld(t *testing.T) *world {
	t.Helper()
	return newScheduler(t, quiet(program(sends("PING x")))).w
}

// The table of commands agrees with what Redis itself says that its commands read and write.
func TestTheTableOfCommandsIsTrue(t *testing.T) {
	r := plainWorld(t).probe
	info, err := r.Command(t.Context()).Result()
	require.NoError(t, err)
	for n, touch := range touches {
		c := info[n]
		require.NotNil(t, c, "%s: Redis does not know it", n)
		flags := fmt.Sprint(c.Flags)
		switch touch {
		case reads, readsAll:
			require.NotContains(t, flags, "write", n)
			require.True(t, strings.Contains(flags, "readonly") || n == "watch", "%s: %s", n, flags)
		case writes, writeAll, popsAny, moves, counted, group:
			require.Contains(t, flags, "write", n)
		case streams:
			require.Contains(t, flags, "readonly", n)
		case publish, channel, pattern:
			require.Contains(t, flags, "pubsub", n)
			require.NotContains(t, flags, "write", n)
			continue // sharded channels count as keys
		default:
			require.NotContains(t, flags, "write", n)
			require.NotContains(t, flags, "readonly", n)
		}
		require.Equal(t, touch == counted || touch == streams || touch == group, strings.Contains(flags, "movablekeys"), n)
		require.Equal(t, keysOf[touch], [2]int8{c.FirstKeyPos, c.LastKeyPos}, n)
		require.LessOrEqual(t, c.StepCount, int8(1), n)
	}
}

// keysOf holds the first and last position of keys of a kind of command, as COMMAND INFO gives them: -1 is the last argument.
var keysOf = map[touch][2]int8{reads: {1, 1}, writes: {1, 1}, readsAll: {1, -1}, writeAll: {1, -1}, popsAny: {1, -2}, moves: {1, 2}}

func TestWhatACommandTouches(t *testing.T) {
	for _, c := range []struct {
		command string
		want    access
		touch   touch
	}{
		{"GET a", access{reads: []string{"a"}}, reads},
		{"get a", access{reads: []string{"a"}}, reads},
		{"MGET a b", access{reads: []string{"a", "b"}}, readsAll},
		{"SET a b NX", access{writes: []string{"a"}}, writes},
		{"DEL a b", access{writes: []string{"a", "b"}}, writeAll},
		{"WAIT 1 0", access{}, own},
		{"HELLO 2", access{}, nothing},
		{"BLPOP a b 0", access{writes: []string{"a", "b"}}, popsAny},
		{"BLMOVE a b LEFT RIGHT 0", access{writes: []string{"a", "b"}}, moves},
		{"BLMPOP 0 2 a b LEFT", access{writes: []string{"a", "b"}}, counted},
		{"BLMPOP 0", access{}, counted},
		{"BZMPOP 0 1 a MIN", access{writes: []string{"a"}}, counted},
		{"XREAD COUNT 1 BLOCK 0 STREAMS a b 0 0", access{reads: []string{"a", "b"}}, streams},
		{"XREADGROUP GROUP g c STREAMS a >", access{writes: []string{"a"}}, group},
		{"PUBLISH c m", access{writes: []string{"\x00channel c"}, reads: []string{"\x00patterns"}}, publish},
		{"SUBSCRIBE c d", access{writes: []string{"\x00channel c", "\x00channel d"}}, channel},
		{"PSUBSCRIBE c*", access{writes: []string{"\x00patterns"}}, pattern},
		{"PING", access{}, nothing},
		{"EVAL x 1 a", access{everything: true, scripts: true}, unknown},
		{"FCALL f 1 a", access{everything: true, scripts: true}, unknown},
		{"SCRIPT LOAD x", access{everything: true, scripts: true}, unknown},
		{"RENAME a b", access{everything: true}, unknown},
		{"GET", access{everything: true}, unknown},
		{"WAIT", access{everything: true}, unknown},
	} {
		got, touch := touched(parsed(t, strings.Fields(c.command)...).args)
		require.Equal(t, c.want, got, c.command)
		require.Equal(t, c.touch, touch, c.command)
	}
}

func TestCommandsThatMaySetATTL(t *testing.T) {
	for c, want := range map[string]bool{
		"SET k v": false, "SET k v EX 5": true, "SET k v NX PX 5": true, "SETEX k 5 v": true, "PSETEX k 5 v": true, "GETEX k EX 5": true,
		"EXPIRE k 5": true, "pexpire k 5": true, "EXPIREAT k 5": true, "PEXPIREAT k 5": true, "SETNX k v": false, "GET k": false,
		"HSET k f v": false, "PERSIST k": false, "EVAL x 0": true, "EVALSHA x 0": true, "RESTORE k 5 x": true, "INCR k": false,
	} {
		require.Equal(t, want, parsed(t, strings.Fields(c)...).setsTTL(), c)
	}
}

// A TTL that is set between MULTI and EXEC is set by the EXEC.
func TestATransactionMaySetATTL(t *testing.T) {
	c := &conn{dialer: &dialer{world: &world{}}}
	exec := func(queued ...string) command {
		for _, words := range [][]string{{"MULTI"}, queued, {"EXEC"}} {
			c.queue = []command{parsed(t, words...)}
			require.Equal(t, words[0] != "EXEC", c.isUngated())
		}
		c.multi = false
		return c.queue[0]
	}
	require.True(t, exec("EXPIRE", "k", "5").setsTTL())
	require.False(t, exec("INCR", "k").setsTTL(), "a TTL of the transaction before")
}

func TestACommandAsAPersonWouldWriteIt(t *testing.T) {
	const titled, plain = "return 1", "-- take the lock\nreturn redis.call('get', KEYS[1])"
	sum := func(s string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(s))) }
	known := newScripts(map[string]string{titled: "acquire.lua"})
	known.texts = map[string]string{sum(titled): titled, sum(plain): plain}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"set", "lock", "client-1", "nx"}, "SET lock client-1 nx"},
		{[]string{"SET", "k", ""}, `SET k ""`},
		{[]string{"SET", "k", "a b"}, `SET k "a b"`},
		{[]string{"SET", "k", "a\nb"}, `SET k "a\nb"`},
		{[]string{"SET", "k", "a\x00b"}, "SET k a b"},
		{[]string{"EVAL", titled, "1", "lock", "me"}, "EVAL acquire.lua lock me"},
		{[]string{"evalsha", sum(titled), "1", "lock", "me"}, "EVALSHA acquire.lua lock me"},
		{[]string{"EVALSHA", strings.ToUpper(sum(titled)), "0"}, "EVALSHA acquire.lua"},
		{[]string{"EVAL", plain, "1", "lock", "a b"}, `EVAL {take the lock} lock "a b"`},
		{[]string{"EVALSHA", sum(plain), "1", "lock"}, "EVALSHA {take the lock} lock"},
		{[]string{"EVALSHA", sum("never seen"), "0"}, "EVALSHA " + sum("never seen")[:8] + "…"},
		{[]string{"EVAL", "x"}, "EVAL x"},
	} {
		require.Equal(t, c.want, parsed(t, c.args...).text(known))
	}
	long := parsed(t, "SET", "k", strings.Repeat("я", 200)).text(known)
	require.LessOrEqual(t, len(long), 160+len("…"))
	require.True(t, strings.HasPrefix(long, "SET k яяя"), long)
	require.True(t, strings.HasSuffix(long, "яяя"), long)
	require.NotContains(t, long, "\uFFFD")
}

// A script that clients run by its hash is shown by its first line once some client has loaded it.
func TestScriptsThatClientsLoadAreLearned(t *testing.T) {
	load := does("load", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		return r.ScriptLoad(ctx, "-- first\nreturn 1").Result()
	})
	run := func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
		op(s, "eval", func() (string, error) { return "", r.Eval(ctx, "-- second\nreturn 2", nil).Err() })
		for _, text := range []string{"-- first\nreturn 1", "-- second\nreturn 2"} {
			op(s, "evalsha", func() (string, error) {
				return "", r.EvalSha(ctx, fmt.Sprintf("%x", sha1.Sum([]byte(text))), nil).Err()
			})
		}
	}
	ex := newScheduler(t, quiet(program(load, run))).run(interleave.Run(0), interleave.Run(1), interleave.Run(1), interleave.Run(1))
	require.Equal(t, []string{"2: EVAL {second} = 2", "2: EVALSHA {first} = 1", "2: EVALSHA {second} = 2"}, commands(ex)[1:])
}

// Properties of commands that the tests of the table of commands do not see. Each line kills a mutant that went unnoticed, see
// `make mutate`.
func TestWhatCommandsAreByTheirWords(t *testing.T) {
	const sha = "0123456789abcdef0123456789abcdef01234567"
	known := newScripts(nil)
	known.texts[sha] = `return redis.call("TIME")`
	for _, c := range []struct {
		words                 string
		blocks, timely, clock bool
		acks                  int64
		waits                 time.Duration
	}{
		{words: "get k"},
		{words: "blpop k 0", blocks: true},
		{words: "xread block 0 streams s $", blocks: true},
		{words: "xread BLOCK 0 streams s $", blocks: true},
		{words: "xread streams s 0"},
		{words: "ttl k", timely: true},
		{words: "pexpiretime k", timely: true, clock: true},
		{words: "set k v"},
		{words: "set k v nx px 5", timely: true},
		{words: "set k v pxat 5", timely: true, clock: true},
		{words: "set exat v"},
		{words: "getex k exat 5", timely: true, clock: true},
		{words: "getex k", timely: true},
		{words: "pexpire k 5", timely: true},
		{words: "pexpireat k 5", timely: true, clock: true},
		{words: "time", timely: true, clock: true},
		{words: "xadd s * f v", timely: true, clock: true},
		{words: "xadd s 1-1 f v", timely: true},
		{words: "evalsha " + sha + " 0", timely: true, clock: true},
		{words: "EVALSHA " + strings.ToUpper(sha) + " 0", timely: true, clock: true},
		{words: "evalsha 1123456789abcdef0123456789abcdef01234567 0", timely: true},
		{words: "evalsha", timely: true},
		{words: "eval", timely: true},
		{words: "wait", timely: true}, // it may do anything, as may all that is not known
		{words: "wait 1", acks: 1},
		{words: "wait x 5", waits: 5 * time.Millisecond},
		{words: "wait 1 x", acks: 1},
		{words: "wait 2 70", acks: 2, waits: 70 * time.Millisecond},
		{words: "get 2 70"},
	} {
		x := parsed(t, strings.Fields(c.words)...)
		require.Equal(t, c.blocks, x.blocks(), "%s blocks", c.words)
		require.Equal(t, c.timely, x.timely(), "%s is timely", c.words)
		require.Equal(t, c.clock, known.readsClock(x.args), "%s reads the clock", c.words)
		require.Equal(t, c.acks, x.wantedAcks(), "%s asks for replicas", c.words)
		require.Equal(t, c.waits, x.waitTimeout(), "%s waits", c.words)
	}
}

func TestHowLongAKeyWasNotUsedIsAskedInAScript(t *testing.T) {
	known := newScripts(nil)
	require.True(t, known.readsIdleTime(parsed(t, "EVAL", `return redis.call("object", "freq", KEYS[1])`, "1", "k").args))
	require.False(t, known.readsIdleTime(parsed(t, "EVAL", `return redis.call("object", "encoding", KEYS[1])`, "1", "k").args))
}

func TestWhichClientCommandsOthersSee(t *testing.T) {
	for words, want := range map[string]bool{
		"client": false, "client id": false, "client GETNAME": false, "client setinfo lib-name x": false,
		"client list": true, "client setname x": true, "client kill id 1": true, "client no-evict on": true,
	} {
		require.Equal(t, want, seenByOthers(parsed(t, strings.Fields(words)...).args), words)
	}
}

// Each reason for which two moves depend on each other is the only one in one case, and missing in another.
func TestWhichMovesAreIndependent(t *testing.T) {
	reads, writes, elsewhere := access{reads: []string{"k"}}, access{writes: []string{"k"}}, access{writes: []string{"j"}}
	a, b := move{choice: interleave.Run(0), access: reads}, move{choice: interleave.Run(1), access: reads}
	with := func(m move, change func(*move)) move { change(&m); return m }
	begins, ends := func(m *move) { m.begins = true }, func(m *move) { m.ends = true }
	near := move{choice: interleave.StopReplication, approaches: true, timePasses: true}
	for _, c := range []struct {
		name        string
		did, asleep move
		want        bool
	}{
		{"two reads", a, b, true},
		{"of one client", a, a, false},
		{"read and write", a, with(b, func(m *move) { m.access = writes }), false},
		{"write and read", with(a, func(m *move) { m.access = writes }), b, false},
		{"anything and a read", with(a, func(m *move) { m.access.everything = true }), b, false},
		{"a read and anything", a, with(b, func(m *move) { m.access.everything = true }), false},
		{"anything and what touches nothing", with(a, func(m *move) { m.access.everything = true }), with(b, func(m *move) { m.access = access{} }), false},
		{"two writes", with(a, func(m *move) { m.access = writes }), with(b, func(m *move) { m.access = writes }), false},
		{"writes of two keys", with(a, func(m *move) { m.access = writes }), with(b, func(m *move) { m.access = elsewhere }), true},
		{"a crash", move{choice: interleave.Crash(0)}, with(b, func(m *move) { m.access = writes }), true},
		{"a crash, then anything", move{choice: interleave.Crash(0)}, with(b, func(m *move) { m.access.everything = true }), true},
		{"a crash in a wait for that key", move{choice: interleave.Crash(0), access: writes}, with(b, func(m *move) { m.access = writes }), false},
		{"a crash of that client", move{choice: interleave.Crash(1)}, b, false},
		{"two lost answers", move{choice: interleave.LoseAnswer(0)}, move{choice: interleave.LoseAnswer(1)}, false},
		{"a lost answer and a command", move{choice: interleave.LoseAnswer(0)}, b, true},
		{"a lost answer and a lost command", move{choice: interleave.LoseAnswer(0)}, move{choice: interleave.LoseCommand(1)}, true},
		{"to the last millisecond", near, b, true},
		{"to the last millisecond, then begun", near, with(b, begins), false},
		{"to the last millisecond, then timely", near, with(b, func(m *move) { m.timely = true }), false},
		{"to the last millisecond, then time", near, with(b, func(m *move) { m.timePasses = true }), false},
		{"to the last millisecond, then the world", near, with(b, func(m *move) { m.world = true }), false},
		{"time", move{choice: interleave.StopReplication, timePasses: true}, b, false},
		{"then time", a, with(b, func(m *move) { m.timePasses = true }), false},
		{"the world", move{choice: interleave.StopReplication, world: true}, b, false},
		{"then the world", a, with(b, func(m *move) { m.world = true }), false},
		{"an answer that has come, then anything", with(a, func(m *move) { m.access, m.silent = access{}, true }), with(b, func(m *move) { m.access.everything = true }), true},
		{"anything, then an answer that has come", with(a, func(m *move) { m.access.everything = true }), with(b, func(m *move) { m.access, m.silent = access{}, true }), true},
		{"both begin", with(a, begins), with(b, begins), true},
		{"both end", with(a, ends), with(b, ends), true},
		{"begins, ends", with(a, begins), with(b, ends), false},
		{"ends, begins", with(a, ends), with(b, begins), false},
		{"looked at after an end, then written", with(a, func(m *move) { m.observes, m.ends = true, true }), with(b, func(m *move) { m.access = elsewhere }), false},
		{"looked at after an end, then read", with(a, func(m *move) { m.observes, m.ends = true, true }), b, true},
		{"not looked at after an end, then written", with(a, ends), with(b, func(m *move) { m.access = elsewhere }), true},
		{"looked at, no end, then written", with(a, func(m *move) { m.observes = true }), with(b, func(m *move) { m.access = elsewhere }), true},
		{"written, then looked at after an end", with(a, func(m *move) { m.observes, m.access = true, elsewhere }), with(b, ends), false},
		{"written, then looked at, no end", with(a, func(m *move) { m.observes, m.access = true, elsewhere }), b, true},
	} {
		require.Equal(t, c.want, independent(c.did, c.asleep), c.name)
	}
}

func TestWhichScriptsRepeat(t *testing.T) {
	for body, want := range map[string]bool{
		`return 1`:                          true,
		`return redis.call("GET", KEYS[1])`: true,
		`if redis . pcall ( 'get' , KEYS[1]) then return 1 end`:          true,
		`return server.call('set', KEYS[1], ARGV[1])`:                    true,
		`return redis.error_reply('held')`:                               true,
		`local t = redis.call('TIME') return t[1]`:                       true,
		`-- as the redis documentation has it` + "\n" + `return 1`:       true,
		`local ok = redis.call('set', KEYS[1], ARGV[1], 'NX') return ok`: true,

		`return redis.call('SPOP', KEYS[1])`:                                       false,
		`return redis.call('SRANDMEMBER', KEYS[1])`:                                false,
		`return server.call('spop', KEYS[1])`:                                      false,
		`return redis.call('WAIT', 1, 0)`:                                          false,
		`return redis.call('HEXPIRE', KEYS[1], 10, 'FIELDS', 1, 'f')`:              false,
		`return redis.call(ARGV[1], KEYS[1])`:                                      false,
		`return redis.call('S' .. 'POP', KEYS[1])`:                                 false,
		`local call = redis.call return call('SPOP', KEYS[1])`:                     false,
		`local r = redis return r.call('SPOP', KEYS[1])`:                           false,
		`local r = redis` + "\n" + `return r.call('SPOP', KEYS[1])`:                false,
		`local r = (redis) return r.call('SPOP', KEYS[1])`:                         false,
		`local t = {redis} return t[1].call('SPOP', KEYS[1])`:                      false,
		`local f = function(r) return r.call('SPOP', KEYS[1]) end return f(redis)`: false,
		`local f = function() return redis end return f().call('SPOP', KEYS[1])`:   false,
		`return redis['call']('SPOP', KEYS[1])`:                                    false,
		`return _G.redis.call('get', KEYS[1])`:                                     false,
		`return loadstring(ARGV[1])()`:                                             false,
		`return os.clock()`:                                                        false,
	} {
		require.Equal(t, want, scriptRepeats(body), body)
	}
}

// The project's own scripts are run from memory, but for the one that lists keys.
func TestTheProjectsScriptsRepeat(t *testing.T) {
	for name, body := range lua.All() {
		require.Equal(t, name != "scan_on_primary.lua", scriptRepeats(body), name)
	}
}
