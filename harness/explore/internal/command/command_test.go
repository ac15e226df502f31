package command

import (
	"crypto/sha1"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
	"github.com/doublegrant/doublegrant/lua"
)

func parsed(t testing.TB, args ...string) Command {
	t.Helper()
	b := resp.Request(args...)
	list, size, err := resp.ParseCommand(b)
	require.NoError(t, err)
	require.Equal(t, len(b), size)
	c := Command{Raw: b, Args: list}
	c.Access, _ = AccessOf(list)
	return c
}

// The table of commands agrees with Redis about what its commands read and write.
func TestTheTableOfCommandsIsTrue(t *testing.T) {
	c := clustertest.Start(t, cluster.Standalone(cluster.Options{}))
	socket, err := c.Socket(c.RedisNodes()[0])
	require.NoError(t, err)
	r := redis.NewClient(&redis.Options{Network: "unix", Addr: socket})
	defer r.Close()
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
			continue // Redis counts sharded channels as keys
		default:
			require.NotContains(t, flags, "write", n)
			require.NotContains(t, flags, "readonly", n)
		}
		require.Equal(t, touch == counted || touch == streams ||
			touch == group, strings.Contains(flags, "movablekeys"), n)
		require.Equal(t, keysOf[touch], [2]int8{c.FirstKeyPos, c.LastKeyPos}, n)
		require.LessOrEqual(t, c.StepCount, int8(1), n)
	}
}

// keysOf has the first and last position of the keys of each kind of command, as in COMMAND INFO: -1 is the last
// argument.
var keysOf = map[touch][2]int8{reads: {1, 1}, writes: {1, 1}, readsAll: {1, -1}, writeAll: {1, -1},
	popsAny: {1, -2}, moves: {1, 2}}

func TestWhatACommandTouches(t *testing.T) {
	for _, c := range []struct {
		command string
		want    Access
		touch   touch
	}{
		{"GET a", Access{Reads: []string{"a"}}, reads},
		{"get a", Access{Reads: []string{"a"}}, reads},
		{"MGET a b", Access{Reads: []string{"a", "b"}}, readsAll},
		{"SET a b NX", Access{Writes: []string{"a"}}, writes},
		{"DEL a b", Access{Writes: []string{"a", "b"}}, writeAll},
		{"WAIT 1 0", Access{}, own},
		{"HELLO 2", Access{}, nothing},
		{"BLPOP a b 0", Access{Writes: []string{"a", "b"}}, popsAny},
		{"BLMOVE a b LEFT RIGHT 0", Access{Writes: []string{"a", "b"}}, moves},
		{"BLMPOP 0 2 a b LEFT", Access{Writes: []string{"a", "b"}}, counted},
		{"BLMPOP 0", Access{}, counted},
		{"BZMPOP 0 1 a MIN", Access{Writes: []string{"a"}}, counted},
		{"XREAD COUNT 1 BLOCK 0 STREAMS a b 0 0", Access{Reads: []string{"a", "b"}}, streams},
		{"XREADGROUP GROUP g c STREAMS a >", Access{Writes: []string{"a"}}, group},
		{"PUBLISH c m", Access{Writes: []string{"\x00channel c"}, Reads: []string{"\x00patterns"}}, publish},
		{"SUBSCRIBE c d", Access{Writes: []string{"\x00channel c", "\x00channel d"}}, channel},
		{"PSUBSCRIBE c*", Access{Writes: []string{"\x00patterns"}}, pattern},
		{"PING", Access{}, nothing},
		{"EVAL x 1 a", Access{Everything: true, Scripts: true}, unknown},
		{"FCALL f 1 a", Access{Everything: true, Scripts: true}, unknown},
		{"SCRIPT LOAD x", Access{Everything: true, Scripts: true}, unknown},
		{"RENAME a b", Access{Everything: true}, unknown},
		{"GET", Access{Everything: true}, unknown},
		{"WAIT", Access{Everything: true}, unknown},
	} {
		got, touch := touched(parsed(t, strings.Fields(c.command)...).Args)
		require.Equal(t, c.want, got, c.command)
		require.Equal(t, c.touch, touch, c.command)
	}
}

func TestCommandsThatMaySetATTL(t *testing.T) {
	for c, want := range map[string]bool{
		"SET k v": false, "SET k v EX 5": true, "SET k v NX PX 5": true, "SETEX k 5 v": true,
		"PSETEX k 5 v": true, "GETEX k EX 5": true,
		"EXPIRE k 5": true, "pexpire k 5": true, "EXPIREAT k 5": true, "PEXPIREAT k 5": true,
		"SETNX k v": false, "GET k": false,
		"HSET k f v": false, "PERSIST k": false, "EVAL x 0": true, "EVALSHA x 0": true,
		"RESTORE k 5 x": true, "INCR k": false,
	} {
		require.Equal(t, want, parsed(t, strings.Fields(c)...).SetsTTL(), c)
	}
}

func TestACommandAsAPersonWouldWriteIt(t *testing.T) {
	const titled, plain = "return 1", "-- take the lock\nreturn redis.call('get', KEYS[1])"
	sum := func(s string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(s))) }
	known := NewScripts(map[string]string{titled: "acquire.lua"})
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
		{[]string{"EVAL", plain, "1", "lock", "a b"}, `EVAL {take the lock: GET} lock "a b"`},
		{[]string{"EVALSHA", sum(plain), "1", "lock"}, "EVALSHA {take the lock: GET} lock"},
		{[]string{"EVALSHA", sum("never seen"), "0"}, "EVALSHA " + sum("never seen")[:8] + "…"},
		{[]string{"EVAL", "x"}, "EVAL x"},
	} {
		require.Equal(t, c.want, parsed(t, c.args...).Text(known))
	}
	long := parsed(t, "SET", "k", strings.Repeat("я", 200)).Text(known)
	require.LessOrEqual(t, len(long), 160+len("…"))
	require.True(t, strings.HasPrefix(long, "SET k яяя"), long)
	require.True(t, strings.HasSuffix(long, "яяя"), long)
	require.NotContains(t, long, "\uFFFD")
}

// Different scripts are shown by different texts, even if they begin alike.
func TestAScriptIsShownByWhatTellsItFromOthers(t *testing.T) {
	const owns = "if redis.call('get', KEYS[1]) == ARGV[1] then\n  return redis.call('%s', KEYS[1])\nend\nreturn 0"
	names, known := Names{}, NewScripts(nil)
	shown := func(body string) string {
		return parsed(t, "EVAL", body, "0").TextAmong(known, names)
	}
	require.Equal(t, "EVAL {GET, DEL}", shown(fmt.Sprintf(owns, "del")))
	require.Equal(t, "EVAL {GET, PERSIST}", shown(fmt.Sprintf(owns, "persist")))
	require.Equal(t, "EVAL {GET, DEL}",
		shown("-- Copyright 2026 by its author\n" + fmt.Sprintf(owns, "del"))[:len("EVAL {GET, DEL}")])
	require.Equal(t, "EVAL {HGET, HSET, HDEL, EXPIRE, …}",
		shown("redis.call('hget') redis.call('hset') redis.call('hdel') redis.call('expire') redis.call('ttl')"))
	require.Equal(t, "EVAL {local f = redis.call}", shown("local f = redis.call\nreturn f('get', KEYS[1])"))
	another := "return redis.call('get', KEYS[1]) and redis.call('del', KEYS[1])"
	require.Equal(t, "EVAL {GET, DEL}#"+Hash(another)[:4], shown(another))
	require.Equal(t, "EVAL {GET, DEL}#"+Hash(another)[:4], shown(another), "each time")
	require.Equal(t, "EVAL {GET, DEL}", parsed(t, "EVAL", another, "0").Text(known), "by itself")
}

// Long keys of one schedule stay distinguishable.
func TestKeysAreShortenedInTheMiddle(t *testing.T) {
	names, known := Names{}, NewScripts(nil)
	key := func(queue, end string) string {
		return "jobs:{default}:unique:" + strings.Repeat("x", 10) + queue + strings.Repeat("y", 40) + end
	}
	shown := func(k string) string { return parsed(t, "DEL", k).TextAmong(known, names) }
	require.Equal(t, "DEL jobs:{default}:unique:xx…yyyyyyyyy:id", shown(key("a", ":id")))
	require.Equal(t, "DEL jobs:{default}:unique:xx…yyyyyyyy:tag", shown(key("a", ":tag")))
	require.NotEqual(t, shown(key("a", ":id")), shown(key("b", ":id")), "they differ in the middle alone")
	require.Contains(t, shown(key("b", ":id")), "b", "less is left out")
	short := strings.Repeat("k", longWord)
	require.Equal(t, "DEL "+short, shown(short))
}

// Properties of commands that the tests of the table do not check. Each line kills a mutant that had survived, see
// `make mutate`.
func TestWhatCommandsAreByTheirWords(t *testing.T) {
	const sha = "0123456789abcdef0123456789abcdef01234567"
	known := NewScripts(nil)
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
		{words: "wait", timely: true}, // an incomplete command may do anything
		{words: "wait 1", acks: 1},
		{words: "wait x 5", waits: 5 * time.Millisecond},
		{words: "wait 1 x", acks: 1},
		{words: "wait 2 70", acks: 2, waits: 70 * time.Millisecond},
		{words: "get 2 70"},
	} {
		x := parsed(t, strings.Fields(c.words)...)
		require.Equal(t, c.blocks, x.Blocks(), "%s blocks", c.words)
		require.Equal(t, c.timely, x.DependsOnTime(), "%s is timely", c.words)
		require.Equal(t, c.clock, known.ReadsClock(x.Args), "%s reads the clock", c.words)
		require.Equal(t, c.acks, x.WantedAcks(), "%s asks for replicas", c.words)
		require.Equal(t, c.waits, x.WaitTimeout(), "%s waits", c.words)
	}
}

func TestHowLongAKeyWasNotUsedIsAskedInAScript(t *testing.T) {
	known := NewScripts(nil)
	require.True(t, known.ReadsIdleTime(
		parsed(t, "EVAL", `return redis.call("object", "freq", KEYS[1])`, "1", "k").Args))
	require.False(t, known.ReadsIdleTime(
		parsed(t, "EVAL", `return redis.call("object", "encoding", KEYS[1])`, "1", "k").Args))
}

func TestWhichClientCommandsOthersSee(t *testing.T) {
	for words, want := range map[string]bool{
		"client": false, "client id": false, "client GETNAME": false, "client setinfo lib-name x": false,
		"client list": true, "client setname x": true, "client kill id 1": true, "client no-evict on": true,
	} {
		require.Equal(t, want, SeenByOthers(parsed(t, strings.Fields(words)...).Args), words)
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

// The project's own scripts can be run from memory, except the one that lists keys.
func TestTheProjectsScriptsRepeat(t *testing.T) {
	for name, body := range lua.All() {
		require.Equal(t, name != "scan_on_primary.lua", scriptRepeats(body), name)
	}
}

func TestWhatALibraryAsksToConnectTouchesNoKey(t *testing.T) {
	t.Parallel()
	for text, greets := range map[string]bool{"TIME": true, "SCRIPT LOAD x": true, "SCRIPT FLUSH": false,
		"JSON.GET": true, "JSON.GET doc": false, "GET": false, "CONFIG GET maxmemory": true} {
		var args [][]byte
		for word := range strings.FieldsSeq(text) {
			args = append(args, []byte(word))
		}
		require.Equal(t, greets, Greets(args), text)
	}
}
