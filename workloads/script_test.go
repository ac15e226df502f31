package workloads

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/lua"
)

// Scripts of the articles, as users would configure them.
var (
	ownerAndSeconds = []string{"{owner}", "{ttl_s}"}
	keyAndProposed  = []string{"{key}", "{proposed}"}

	articleLock = Script{As: Lock, Name: "0", Source: lua.LockSetnxExpire, Args: ownerAndSeconds,
		Release: lua.LockReleaseByCodes}
	articleFilter = Script{As: Dedup, Name: "003", Source: lua.DedupGetSet, Args: []string{"1", "{window_s}"},
		Yes: "0"}
	articleNumbers = Script{As: Sequence, Name: "4", Source: lua.SequenceNumericCompare, Keys: []string{"BIZ"},
		Args: keyAndProposed}
)

// releasing is articleLock with another release.
func releasing(release string) Script {
	s := articleLock
	s.Release = release
	return s
}

// asVariant loads the script on r and makes a variant of it.
func asVariant(t *testing.T, r redis.UniversalClient, s Script) Variant {
	t.Helper()
	require.NoError(t, s.Load(t.Context(), r))
	v, err := ScriptVariant(s)
	require.NoError(t, err)
	require.Equal(t, "script/"+s.Name, v.ID)
	require.Equal(t, s.As, v.Family)
	return v
}

// bothProtocols returns r and a client of the same Redis that speaks RESP3, the default of most clients.
func bothProtocols(t *testing.T, r redis.UniversalClient) []redis.UniversalClient {
	t.Helper()
	o := r.(*redis.Client).Options()
	p := redis.NewClient(&redis.Options{Addr: o.Addr, Dialer: o.Dialer, Protocol: 3, MaxRetries: -1})
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return []redis.UniversalClient{r, p}
}

// A user's scripts do the same as the built-in variants, under both protocols, and also after SCRIPT FLUSH.
func TestScriptsBehaveAsTheBuiltInOnes(t *testing.T) {
	_, r := realRedis(t)
	for _, p := range bothProtocols(t, r) {
		fresh := func(s Script) Variant {
			require.NoError(t, r.FlushAll(t.Context()).Err())
			v := asVariant(t, p, s)
			require.NoError(t, r.ScriptFlush(t.Context()).Err())
			return v
		}
		for _, s := range []Script{
			articleLock, {As: Lock, Name: "001", Source: lua.LockSetnxSetexKeys,
				Keys: []string{"{key}", "{ttl_s}", "{owner}"}},
			{As: Lock, Name: "002", Source: lua.LockSetnxExpireBoolean, Args: ownerAndSeconds,
				Release: "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) == 1 end " +
					"return false"},
		} {
			l, began := fresh(s).newLocker(p), time.Now()
			require.True(t, acquired(t, l, "k", "a"), s.Name)
			isWhole(t, r.PTTL(t.Context(), "k").Val(), began)
			require.False(t, acquired(t, l, "k", "b"), "%s: granted twice", s.Name)
			require.False(t, released(t, l, "k", "b"), "%s: released by another", s.Name)
			require.True(t, released(t, l, "k", "a"), s.Name)
			require.True(t, acquired(t, l, "k", "b"), "%s: not free after its release", s.Name)
		}
		filter := fresh(articleFilter).newDeduper(p)
		keepsContract(t, filter, filter, r)
		sample := strconv.Itoa(sample17)
		require.Equal(t, draw(t, newHashSequence(lua.SequenceNumericCompare)(r), "biz", sample, 5),
			draw(t, fresh(articleNumbers).newSequencer(p), "biz", sample, 5))
	}
}

func TestScriptsDeclareTheFlawsOfTheirFamily(t *testing.T) {
	for _, x := range []struct {
		family Family
		flaws  []Flaw
	}{
		{Lock, []Flaw{{harness.DoubleGrant, Failover}}},
		{Dedup, []Flaw{{harness.LostMessage, Crash}, {harness.DuplicateDelivery, Failover}}},
		{Sequence, []Flaw{{harness.DuplicateNumber, Failover}, {harness.Regression, Failover}}},
	} {
		v, err := ScriptVariant(Script{As: x.family, Name: "s", Source: "return 1"})
		require.NoError(t, err)
		require.Equal(t, x.flaws, v.Flaws)
		require.Equal(t, OneNode, v.Claim)
		require.Equal(t, "your script s", v.Doc)
	}
}

func TestTemplates(t *testing.T) {
	lock := lockValues("k", "{key}", 1500*time.Millisecond)
	for template, want := range map[string]string{
		"{key}":             "k",
		"{owner}":           "{key}", // values are not filled in again
		"{ttl_ms}":          "1500",
		"{ttl_s}":           "2",
		"{{key}}:fence":     "{k}:fence",
		"lock:{key}:{key}":  "lock:k:k",
		"constant":          "constant",
		`{"owner": "none"}`: `{"owner": "none"}`,
	} {
		require.Equal(t, want, lock.fill(template))
	}
	require.Equal(t, "k 20000 20", dedupValues("k", 20*time.Second).fill("{key} {window_ms} {window_s}"))
	require.Equal(t, "1 1", dedupValues("k", time.Microsecond).fill("{window_ms} {window_s}"),
		"0 would delete the mark")
	require.Equal(t, "k 23", sequenceValues("k", "23").fill("{key} {proposed}"))
}

func TestMistakesInSettings(t *testing.T) {
	const one = "return 1"
	for _, x := range []struct {
		s    Script
		want string
	}{
		{Script{Source: one}, `script x: "" is not a family of scripts: choose lock, dedup or sequence`},
		{Script{As: Writes, Source: one}, `"writes" is not a family of scripts: choose lock, dedup or sequence`},
		{Script{As: Lock, Source: "\n"}, "its text is empty: give the Lua text to run"},
		{Script{As: Sequence, Source: one, Release: one},
			"only a lock has a release, and this is a sequence: leave the release out"},
		{Script{As: Dedup, Source: one, ReleaseArgs: []string{"1"}}, "only a lock has a release, and this is a dedup"},
		{Script{As: Sequence, Source: one, Yes: "1"},
			`a sequence answers with a number, not with yes or no: leave "1" out`},
		{Script{As: Lock, Source: one, Keys: []string{"lock:{name}"}},
			`{name} in "lock:{name}" stands for nothing in a lock: use {key}, {owner}, {ttl_ms} or {ttl_s}`},
		{Script{As: Dedup, Source: one, Args: []string{"{owner}"}},
			`{owner} in "{owner}" stands for nothing in a dedup: use {key}, `},
		{Script{As: Sequence, Source: one, Args: []string{"{ttl_s}"}},
			"stands for nothing in a sequence: use {key} or {proposed}"},
		{Script{As: Lock, Source: one, ReleaseArgs: []string{"{window_s}"}},
			`{window_s} in "{window_s}" stands for nothing in a lock`},
		{Script{As: Dedup, Source: one, Keys: []string{"seen"}},
			"neither its keys nor its arguments contain {key}, so it cannot tell"},
		{Script{As: Lock, Source: one, NoErrors: []string{" "}}, "would make every error a no"},
	} {
		x.s.Name = "x"
		_, err := ScriptVariant(x.s)
		require.ErrorContains(t, err, x.want)
		require.ErrorContains(t, x.s.Load(t.Context(), nil), x.want, "Load accepts it")
	}
	_, err := ScriptVariant(Script{As: Lock, Source: one})
	require.ErrorContains(t, err, "it has no name: give it one")
}

func TestRepliesOfLocks(t *testing.T) {
	_, r := realRedis(t)
	for _, x := range []struct {
		source, yes string
		want        bool
	}{
		{"1", "", true}, {"'1'", "", true}, {"true", "", true}, {"{ok = 'OK'}", "", true}, {"'OK'", "", true},
		{"0", "", false}, {"2", "", false}, {"false", "", false}, {"nil", "", false}, {"'faild'", "", false},
		{"0", "0", true}, {"1", "0", false}, {"nil", "nil", true}, {"1500", "nil", false}, {"true", "true", true},
		{"false", "false", true}, {"'granted'", "granted", true}, {"{ok = 'QUEUED'}", "QUEUED", true},
	} {
		v, err := ScriptVariant(Script{As: Lock, Name: "x", Source: "return " + x.source, Yes: x.yes})
		require.NoError(t, err)
		require.Equal(t, x.want, acquired(t, v.newLocker(r), "k", "a"), "%s, yes is %q", x.source, x.yes)
	}
}

func TestARepliedBooleanIsReadAsUnderRESP2(t *testing.T) {
	lock := Script{As: Lock, Name: "x", Source: "return 1"}.mainText(nil)
	for reply, want := range map[any]string{true: "1", false: "nil", int64(7): "7", "a": "a"} {
		words, err := lock.words(reply)
		require.NoError(t, err)
		require.Equal(t, want, words)
	}
	_, err := lock.words(3.5)
	require.ErrorContains(t, err, "script x returned a double: ")
	_, err = lock.words(map[any]any{})
	require.ErrorContains(t, err, "script x returned a map: ")
}

// mustBeScriptError requires an error that is meant for the author of a script.
func mustBeScriptError(t *testing.T, err error, want string) {
	t.Helper()
	var e *ScriptError
	require.ErrorAs(t, err, &e)
	require.ErrorContains(t, err, want)
}

func TestMistakesOnLoad(t *testing.T) {
	_, r := realRedis(t)
	fails := func(s Script, want string) {
		s.Name = "x"
		mustBeScriptError(t, s.Load(t.Context(), r), want)
		require.Zero(t, r.DBSize(t.Context()).Val(), "the trial left something behind: %s", want)
	}
	// As in "Unique serial numbers", first script, and in the CSDN collection on Redis locks.
	fails(Script{As: Sequence, Source: "local key = 1\n//the key\nreturn 1"},
		"does not compile: line 2: unexpected symbol near '/'")
	fails(Script{As: Lock, Source: "# SETNX_EXPIRE.lua\nreturn 1"},
		"script x does not compile: line 1: unexpected symbol near '#'")
	fails(releasing("retrun"), "the release of script x does not compile: line 1: '=' expected near '<eof>'")
	for source, want := range map[string]string{
		"local n = tonumber(ARGV[9])\nif n > 0 then return 1 end": "fails at line 2: " +
			"attempt to compare number with nil",
		"return redis.call('expire', KEYS[1], ARGV[1])": "fails at line 1: value is not an integer or out of range",
		"redis.call('lpush', KEYS[1], 1)\nredis.call('incr', KEYS[1])": "fails at line 2: " +
			"WRONGTYPE Operation against a key",
		"return redis.call('keys', KEYS[1])": "returned an array: 1, OK or true would be a yes; ",
	} {
		fails(Script{As: Lock, Source: source}, "script x "+want)
	}
	for source, want := range map[string]string{
		"return {1}": "returned an array", "return tostring(16081817202494579)": `returned "1.6081817202495e+16"`,
		"redis.call('incr', KEYS[1])": "returned nil",
	} {
		fails(Script{As: Sequence, Source: source}, "script x "+want+": a sequence returns a number")
	}
	fails(Script{As: Dedup, Source: "return {0}", Yes: "0"},
		"returned an array: 0 would be a yes; any other integer or string")
	const noYes = "where the answer has to be yes, since the "
	fails(releasing("redis.call('del', KEYS[1])"), "the release of script x answered nil "+noYes+"lock is the caller's")
	fails(releasing("return 1"), "script x answered 0 "+noYes+"lock has been released")
	fails(Script{As: Lock, Source: "return 'faild'"},
		`script x answered "faild" `+noYes+"lock is free: a yes is 1, OK or true, or what yes (--yes) names")
	fails(Script{As: Dedup, Source: lua.DedupGetSet, Args: articleFilter.Args}, "answered 0 "+noYes+"message is new")
	// the number of keys, each time
	another := Script{As: Lock, Source: lua.LockFenced, Keys: []string{"{key}", "{{key}}:fence"}}
	fails(another, "script x answered 2 "+noYes+"lock has been released")
}

// Load accepts a lock that becomes free a little after its release has returned.
func TestALockMayCoolDown(t *testing.T) {
	_, r := realRedis(t)
	cools := releasing("if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], 20) end " +
		"return 0")
	require.NoError(t, cools.Load(t.Context(), r))
}

func TestLoadLeavesNothingBehind(t *testing.T) {
	_, r := realRedis(t)
	for _, s := range []Script{articleLock, articleFilter, articleNumbers} {
		require.NoError(t, s.Load(t.Context(), r), s.Name)
		require.Zero(t, r.DBSize(t.Context()).Val(), s.Name)
	}
	own := Script{As: Sequence, Name: "own", Source: "return redis.call('incr', 'own:'..KEYS[1])"}
	require.NoError(t, own.Load(t.Context(), r))
	require.NotEmpty(t, r.Keys(t.Context(), "own:*").Val(), "a key that it does not declare stays")
}

func TestLoadSaysWhichScriptRedisDidNotTry(t *testing.T) {
	_, r := realRedis(t)
	gone := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	defer gone.Close()
	require.ErrorContains(t, articleFilter.Load(t.Context(), gone), "script 003: try it: dial tcp 127.0.0.1:1")

	s := Script{As: Lock, Name: "x", Source: "return {err = 'BUSY come back later'}"}
	require.EqualError(t, s.Load(t.Context(), r), "script x: try it: BUSY come back later")
}

func TestErrorsOfARunAreTheScriptsOnlyIfItCausedThem(t *testing.T) {
	ctx := t.Context()
	_, r := realRedis(t)
	s := asVariant(t, r, Script{As: Sequence, Name: "x", Source: "return redis.call('incr', KEYS[1])"}).newSequencer(r)
	next := func(ctx context.Context) error { _, err := s.Next(ctx, "k", "23"); return err }
	require.NoError(t, r.Set(ctx, "k", "text", 0).Err())
	mustBeScriptError(t, next(ctx), "script x fails at line 1: value is not an integer or out of range")

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, next(cancelled), context.Canceled)

	require.NoError(t, r.Do(ctx, "replicaof", "127.0.0.1", 1).Err())
	err := next(ctx)
	require.True(t, redis.HasErrorPrefix(err, "READONLY"), "%v", err)
	require.True(t, notExecuted(err))
}

func TestAnErrorReplyCanBeADefiniteNo(t *testing.T) {
	c, _ := realRedis(t)
	r := traced(t, c)
	refuses := Script{As: Sequence, Name: "limited", Source: `return redis.error_reply('RATELIMITED try later')`}
	for _, x := range []struct {
		noErrors []string
		want     harness.Outcome
	}{{nil, harness.Info}, {[]string{"BUSY"}, harness.Info}, {[]string{"RATELIMITED"}, harness.Fail}} {
		refuses.NoErrors = x.noErrors
		text := refuses.mainText(r)
		op := settled(t.Context(), r, func(ctx context.Context) error {
			_, err := text.number(ctx, sequenceValues("k", "1"))
			return err
		})
		require.Equal(t, x.want, op.Outcome, "%v", x.noErrors)
		require.Equal(t, "RATELIMITED", op.Err, "%v", x.noErrors)
	}
	refuses.As = Lock
	text := refuses.mainText(r)
	yes, err := text.says(t.Context(), lockValues("k", "me", time.Second))
	require.NoError(t, err)
	require.False(t, yes)
}

// A script that does not get proposals counts as drawing its own numbers, whatever the regime.
func TestAScriptThatIsNotGivenTheProposalHasNumbersOfItsOwn(t *testing.T) {
	for args, own := range map[string]bool{"{proposed}": false, "n={proposed}": false, "{key}": true, "7": true} {
		v, err := ScriptVariant(Script{As: Sequence, Name: "s", Source: lua.SequenceNumericCompare,
			Args: []string{args}})
		require.NoError(t, err)
		require.Equal(t, own, v.OwnNumbers, args)
		require.Contains(t, v.Under(MemoryEvicts), harness.DuplicateNumber, "they may end with their key")
	}
	v, err := ScriptVariant(Script{As: Sequence, Name: "s", Source: lua.SequenceNumericCompare})
	require.NoError(t, err)
	require.False(t, v.OwnNumbers)
}

// A script counts as comparing names if it gets a name in a key or in part of an argument, or contains a client's name.
func TestScriptsThatAreGivenPartsOfNamesCompareThem(t *testing.T) {
	for _, x := range []struct {
		keys, args, release []string
		compares            bool
	}{
		{nil, nil, nil, false},
		{[]string{"l:{key}"}, []string{"{owner}", "{ttl_ms}", "NX"}, []string{"{owner}", "7"}, false},
		{nil, []string{"{owner}2", "{ttl_ms}"}, nil, true},
		{nil, []string{"{owner}", "{ttl_ms}"}, []string{"{key}{owner}"}, true},
		{[]string{"{owner}2"}, nil, nil, true},
		{[]string{"{key}", "{owner}"}, nil, nil, true},
		{nil, []string{"client-12", "{ttl_ms}"}, nil, true},
	} {
		s := Script{As: Lock, Name: "s", Source: "return redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2])",
			Keys: x.keys, Args: x.args, ReleaseArgs: x.release}
		v, err := ScriptVariant(s)
		require.NoError(t, err)
		require.Equal(t, x.compares, v.ComparesNames, "%v", x)
	}
}
