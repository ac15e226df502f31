package explore

import (
	"context"
	"crypto/sha1"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
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
		first, last := keysOf(touch)
		require.EqualValues(t, first, c.FirstKeyPos, n)
		require.EqualValues(t, last, c.LastKeyPos, n)
		require.LessOrEqual(t, c.StepCount, int8(1), n)
	}
}

// keysOf returns the positions of the keys of a kind of command, as COMMAND INFO gives them: -1 is the last argument.
func keysOf(t touch) (first, last int) {
	switch t {
	case reads, writes:
		return 1, 1
	case readsAll, writeAll:
		return 1, -1
	case popsAny:
		return 1, -2
	case moves:
		return 1, 2
	}
	return 0, 0
}

func TestWhatACommandTouches(t *testing.T) {
	for _, c := range []struct {
		command string
		want    access
		touch   touch
	}{
		{"GET a", access{reads: []string{"a"}}, reads},
		{"get a", access{reads: []string{"a"}}, reads},
		{"gEt a", access{reads: []string{"a"}}, reads},
		{"MGET a b", access{reads: []string{"a", "b"}}, readsAll},
		{"Watch a b", access{reads: []string{"a", "b"}}, readsAll},
		{"SET a b NX", access{writes: []string{"a"}}, writes},
		{"HSET a f v", access{writes: []string{"a"}}, writes},
		{"DEL a b", access{writes: []string{"a", "b"}}, writeAll},
		{"WAIT 1 0", access{}, own},
		{"HELLO 2", access{}, nothing},
		{"BLPOP a b 0", access{writes: []string{"a", "b"}}, popsAny},
		{"BLMOVE a b LEFT RIGHT 0", access{writes: []string{"a", "b"}}, moves},
		{"BLMPOP 0 2 a b LEFT", access{writes: []string{"a", "b"}}, counted},
		{"BZMPOP 0 1 a MIN", access{writes: []string{"a"}}, counted},
		{"XREAD COUNT 1 BLOCK 0 STREAMS a b 0 0", access{reads: []string{"a", "b"}}, streams},
		{"XREADGROUP GROUP g c STREAMS a >", access{writes: []string{"a"}}, group},
		{"PUBLISH c m", access{writes: []string{"\x00channel c"}, reads: []string{"\x00patterns"}}, publish},
		{"SUBSCRIBE c d", access{writes: []string{"\x00channel c", "\x00channel d"}}, channel},
		{"PSUBSCRIBE c*", access{writes: []string{"\x00patterns"}}, pattern},
		{"PING", access{}, nothing},
		{"EVAL x 1 a", access{everything: true, scripts: true}, unknown},
		{"evalsha x 1 a", access{everything: true, scripts: true}, unknown},
		{"EVAL_RO x 1 a", access{everything: true, scripts: true}, unknown},
		{"FCALL f 1 a", access{everything: true, scripts: true}, unknown},
		{"SCRIPT LOAD x", access{everything: true, scripts: true}, unknown},
		{"RENAME a b", access{everything: true}, unknown},
		{"NONSENSE", access{everything: true}, unknown},
		{"GET", access{everything: true}, unknown},
		{"WAIT", access{everything: true}, unknown},
	} {
		got, touch := accessOf(parsed(t, strings.Fields(c.command)...).args)
		require.Equal(t, c.want, got, c.command)
		require.Equal(t, c.touch, touch, c.command)
	}
}

// Two clients' commands change places only if neither writes what the other touches, and their other properties allow it.
func TestIndependence(t *testing.T) {
	all := []string{
		"GET a", "GET b", "MGET a b", "EXISTS b c", "SET a 1", "SET b 1", "INCR c", "DEL a", "DEL b c", "WAIT 1 0", "EVAL x 0", "KEYS *",
	}
	keys := func(c string) (read, written string) {
		words := strings.Fields(c)
		switch list := strings.Join(words[1:], ""); words[0] {
		case "GET", "MGET", "EXISTS":
			return list, ""
		case "SET", "INCR":
			return "", words[1]
		case "DEL":
			return "", list
		case "WAIT":
			return "", ""
		}
		return "abc", "abc"
	}
	for _, x := range all {
		for _, y := range all {
			readX, writtenX := keys(x)
			readY, writtenY := keys(y)
			meets := strings.ContainsAny(readX+writtenX, writtenY) || strings.ContainsAny(writtenX, readY)
			if strings.HasPrefix(x, "EVAL") || strings.HasPrefix(x, "KEYS") || strings.HasPrefix(y, "EVAL") || strings.HasPrefix(y, "KEYS") {
				meets = true // with whatever it is
			}
			a, b := parsed(t, strings.Fields(x)...).access, parsed(t, strings.Fields(y)...).access
			require.Equal(t, !meets, a.independent(b), "%s and %s", x, y)
			require.Equal(t, a.independent(b), b.independent(a), "%s and %s", x, y)
			for bits := range 64 { // for steps of clients independent is symmetric as well
				v := move{access: a, begins: bits&1 > 0, ends: bits&2 > 0, timePasses: bits&4 > 0}
				w := move{access: b, begins: bits&8 > 0, ends: bits&16 > 0, timePasses: bits&32 > 0}
				require.False(t, independent(v, w), "a client's own steps stay in order")
				w.choice = interleave.Run(1)
				require.Equal(t, independent(v, w), independent(w, v), "%+v and %+v", v, w)
			}
		}
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
	pass := func(args ...string) bool {
		c.queue = []command{parsed(t, args...)}
		return c.isUngated()
	}
	require.True(t, pass("MULTI"))
	require.True(t, pass("INCR", "k"))
	require.True(t, pass("EXPIRE", "k", "5"))
	require.False(t, pass("EXEC"))
	require.Equal(t, []string{"k", "k"}, c.queue[0].writes)
	require.True(t, c.queue[0].setsTTL())
	c.multi = false
	require.True(t, pass("MULTI"))
	require.True(t, pass("INCR", "k"))
	require.False(t, pass("EXEC"))
	require.False(t, c.queue[0].setsTTL(), "a TTL of the transaction before")
}

func TestACommandAsAPersonWouldWriteIt(t *testing.T) {
	const titled, plain = "return 1", "-- take the lock\nreturn redis.call('get', KEYS[1])"
	sum := func(s string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(s))) }
	w := &world{
		scripts: map[string]string{sum(titled): titled, sum(plain): plain},
		titles:  map[string]string{titled: "acquire.lua"},
	}
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
		require.Equal(t, c.want, parsed(t, c.args...).text(w))
	}
	long := parsed(t, "SET", "k", strings.Repeat("я", 200)).text(w)
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

// What Redis measures by the machine's time does not follow the schedule's.
func TestTheIdleTimeOfAKeyIsNotExplored(t *testing.T) {
	for _, c := range []client{
		sends("SET k v", "OBJECT IDLETIME k"),
		byHash("return redis.call('OBJECT', \"IdleTime\", KEYS[1]) or ''", 1),
	} {
		s := quiet(program(c, idle))
		res, err := Search(t.Context(), s)
		require.NoError(t, err)
		require.Equal(t, harness.Unknown, res.Verdict())
		require.Contains(t, res.Stopped, "asks how long a key was not used")
	}
	s := quiet(program(sends("SET k v", "OBJECT ENCODING k"), idle))
	res, err := Search(t.Context(), s)
	require.NoError(t, err)
	require.True(t, res.Exhausted, res.Stopped)
}
