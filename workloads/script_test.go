package workloads

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/lua"
)

var (
	articleStrings = Script{As: Sequence, Name: "004-2", Source: article004second, Keys: []string{"{key}", "{proposed}"}}
	articleNumbers = Script{As: Sequence, Name: "004-3", Source: article004final,
		Keys: []string{"SEEKER:SEQ:BIZ", "1", "{key}", "{proposed}"}}
)

// asVariant checks the script on r, as a run would, and makes a variant of it.
func asVariant(t *testing.T, r redis.UniversalClient, s Script) Variant {
	t.Helper()
	require.NoError(t, s.Load(t.Context(), r))
	v, err := ScriptVariant(s)
	require.NoError(t, err)
	require.Equal(t, "script/"+s.Name, v.ID)
	require.Equal(t, s.As, v.Family)
	return v
}

// builtIn returns the catalogue's variant of that id.
func builtIn(t *testing.T, id string) Variant {
	t.Helper()
	v, err := Find(id)
	require.NoError(t, err)
	return v
}

func TestAScriptComesBackAfterScriptFlush(t *testing.T) {
	_, r := realRedis(t)
	l := asVariant(t, r, articleLocks[0]).newLocker(r)
	require.NoError(t, r.ScriptFlush(t.Context()).Err())
	require.True(t, acquired(t, l, "k", "a"))
	require.True(t, released(t, l, "k", "a"))
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
		"{owner}":           "{key}", // what was filled in is not looked at again
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
	require.Equal(t, "1 1", dedupValues("k", time.Microsecond).fill("{window_ms} {window_s}"), "0 would delete the mark")
	require.Equal(t, "k 23", sequenceValues("k", "23").fill("{key} {proposed}"))
}

func TestMistakesInSettings(t *testing.T) {
	const one = "return 1"
	for want, s := range map[string]Script{
		"script: it has no name: give it one, such as the base name of its file":  {As: Lock, Source: one},
		`script x: "" is not a family of scripts: choose lock, dedup or sequence`: {Name: "x", Source: one},
		`script x: "writes" is not a family of scripts: choose lock, dedup or sequence`: {
			Name: "x", As: Writes, Source: one},
		"script x: its text is empty: give the Lua text to run": {Name: "x", As: Lock, Source: "\n"},
		"script x: only a lock has a release, and this is a sequence: leave the release out": {
			Name: "x", As: Sequence, Source: one, Release: one},
		"script x: only a lock has a release, and this is a dedup: leave the release out": {
			Name: "x", As: Dedup, Source: one, ReleaseArgs: []string{"1"}},
		`script x: a sequence answers with a number, not with yes or no: leave "1" out`: {
			Name: "x", As: Sequence, Source: one, Yes: "1"},
		`script x: {name} in "lock:{name}" stands for nothing in a lock: use {key}, {owner}, {ttl_ms} or {ttl_s}`: {
			Name: "x", As: Lock, Source: one, Keys: []string{"lock:{name}"}},
		`script x: {owner} in "{owner}" stands for nothing in a dedup: use {key}, {window_ms} or {window_s}`: {
			Name: "x", As: Dedup, Source: one, Args: []string{"{owner}"}},
		`script x: {ttl_s} in "{ttl_s}" stands for nothing in a sequence: use {key} or {proposed}`: {
			Name: "x", As: Sequence, Source: one, Args: []string{"{ttl_s}"}},
		`script x: {window_s} in "{window_s}" stands for nothing in a lock: use {key}, {owner}, {ttl_ms} or {ttl_s}`: {
			Name: "x", As: Lock, Source: one, ReleaseArgs: []string{"{window_s}"}},
		"script x: neither its keys nor its arguments contain {key}, so it cannot tell one message from another: " +
			"put {key} where the name belongs": {Name: "x", As: Dedup, Source: one, Keys: []string{"seen"}},
	} {
		_, err := ScriptVariant(s)
		require.EqualError(t, err, want)
		require.EqualError(t, s.Load(t.Context(), nil), want, "Load accepts it")
	}
}

func TestRepliesOfLocks(t *testing.T) {
	_, r := realRedis(t)
	for _, x := range []struct {
		source, yes string
		want        bool
	}{
		{"return 1", "", true},
		{"return '1'", "", true},
		{"return true", "", true},
		{"return {ok = 'OK'}", "", true},
		{"return 'OK'", "", true},
		{"return 0", "", false},
		{"return 2", "", false},
		{"return false", "", false},
		{"return nil", "", false},
		{"return 'faild'", "", false},
		{"return 0", "0", true},
		{"return 1", "0", false},
		{"return nil", "nil", true},
		{"return 1500", "nil", false},
		{"return true", "true", true},
		{"return false", "false", true},
		{"return 'granted'", "granted", true},
		{"return {ok = 'QUEUED'}", "QUEUED", true},
	} {
		v, err := ScriptVariant(Script{As: Lock, Name: "x", Source: x.source, Yes: x.yes})
		require.NoError(t, err)
		require.Equal(t, x.want, acquired(t, v.newLocker(r), "k", "a"), "%s, yes is %q", x.source, x.yes)
	}
}

func TestARepliedBooleanIsReadAsUnderRESP2(t *testing.T) {
	lock := Script{As: Lock, Name: "x", Source: "return 1"}.main(nil)
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
	require.True(t, errors.As(err, &e), "%v", err)
	require.EqualError(t, err, want)
}

func TestMistakesOnLoad(t *testing.T) {
	_, r := realRedis(t)
	for _, x := range []struct {
		want string
		s    Script
	}{
		{"script x does not compile: line 2: unexpected symbol near '/'",
			Script{As: Sequence, Source: "local key = KEYS[1]\n//the key\nreturn 1"}}, // as in "Unique serial numbers", first script
		{"script x does not compile: line 1: unexpected symbol near '#'",
			Script{As: Lock, Source: "# SETNX_EXPIRE.lua\n" + article002}}, // as in the CSDN collection on Redis locks
		{"the release of script x does not compile: line 1: '=' expected near '<eof>'",
			Script{As: Lock, Source: article000, Args: ownerAndSeconds, Release: "retrun"}},
		{"script x fails at line 2: attempt to compare number with nil",
			Script{As: Lock, Source: "local n = tonumber(ARGV[9])\nif n > 0 then return 1 end"}},
		{"script x fails at line 1: value is not an integer or out of range",
			Script{As: Lock, Source: "return redis.call('expire', KEYS[1], ARGV[1])"}},
		{"script x fails at line 2: WRONGTYPE Operation against a key holding the wrong kind of value",
			Script{As: Dedup, Source: "redis.call('lpush', KEYS[1], 1)\nreturn redis.call('incr', KEYS[1])"}},
		{"script x returned an array: 1, OK or true would be a yes; any other integer or string, and nil, a no",
			Script{As: Lock, Source: "return redis.call('keys', KEYS[1])"}},
		{"script x returned an array: 0 would be a yes; any other integer or string, and nil, a no",
			Script{As: Dedup, Source: "return {0}", Yes: "0"}},
		{"script x returned an array: a sequence returns a number", Script{As: Sequence, Source: "return {1}"}},
		{`script x returned "1.6081817202495e+16": a sequence returns a number`,
			Script{As: Sequence, Source: "return tostring(16081817202494579)"}},
		{"script x returned nil: a sequence returns a number", Script{As: Sequence, Source: "redis.call('incr', KEYS[1])"}},
		{"script x answered 0 where the answer has to be yes, since the message is new: a yes is 1, OK or true",
			Script{As: Dedup, Source: article003, Args: articleFilter.Args}},
		{`script x answered "faild" where the answer has to be yes, since the lock is free: a yes is 1, OK or true`,
			Script{As: Lock, Source: "return 'faild'"}},
		{"the release of script x answered nil where the answer has to be yes, since the lock is the caller's: " +
			"a yes is 1, OK or true",
			Script{As: Lock, Source: article000, Args: ownerAndSeconds, Release: "redis.call('del', KEYS[1])"}},
		{"script x answered 0 where the answer has to be yes, since the lock has been released: a yes is 1, OK or true",
			Script{As: Lock, Source: article000, Args: ownerAndSeconds, Release: "return 1"}},
		// Its answer is another number each time.
		{"script x answered 2 where the answer has to be yes, since the lock has been released: a yes is 1, OK or true",
			Script{As: Lock, Source: lua.LockFenced, Keys: []string{"{key}", "{{key}}:fence"}}},
	} {
		x.s.Name = "x"
		mustBeScriptError(t, x.s.Load(t.Context(), r), x.want)
		require.Zero(t, r.DBSize(t.Context()).Val(), "the trial left something behind: %s", x.want)
	}
}

// A lock may let go a little after its release.
func TestALockMayCoolDown(t *testing.T) {
	_, r := realRedis(t)
	s := Script{As: Lock, Name: "cools", Source: article000, Args: ownerAndSeconds,
		Release: "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], 20) end return 0"}
	require.NoError(t, s.Load(t.Context(), r))
}

func TestLoadLeavesNothingBehind(t *testing.T) {
	_, r := realRedis(t)
	for _, s := range append(articleLocks, articleFilter, articleNumbers) {
		require.NoError(t, s.Load(t.Context(), r), s.Name)
		require.Zero(t, r.DBSize(t.Context()).Val(), s.Name)
	}
	require.NoError(t, articleStrings.Load(t.Context(), r))
	require.Equal(t, []string{"SEEKER:SEQ:BIZ"}, r.Keys(t.Context(), "*").Val(), "a key that it does not declare stays")
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
