package cli_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
)

func TestAMessageThatACrashLosesIsToldFromADuplicate(t *testing.T) {
	t.Chdir(t.TempDir())
	out, errs, code := run(t, "explore", "dedup/set-nx-ex", "--clients", "2", "--expiries", "0")
	require.Equal(t, cli.ExitInvalid, code, errs)
	require.Contains(t, out, "--crashes 0 leaves crashes out")
	out, errs, code = run(t, append([]string{"explore", "dedup/set-nx-ex"}, calm...)...)
	require.Zero(t, code, errs)
	require.NotContains(t, out, "leaves crashes out")
}

func TestEveryRegimeHasAName(t *testing.T) {
	t.Chdir(t.TempDir())
	_, errs, code := run(t, append([]string{"explore", "sequence/digits-compare", "--regime", "all"}, calm...)...)
	require.Zero(t, code, errs)
	require.Contains(t, errs, "[6/6] sequence/digits-compare, regime leading-zeros")
}

// A filter of one's own that marks in one step is not blamed for the message of a worker that crashes, unless crashes are asked for. It is
// for a mark that a crash leaves without an end.
func TestAnOwnFilterIsNotBlamedForItsWorkersCrash(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o644)) }
	write("once.lua", `if redis.call('set', KEYS[1], 1, 'NX', 'EX', ARGV[1]) then return 1 end return 0`)
	write("sorted.lua", `local t = redis.call('time') local now = t[1]*1000 + math.floor(t[2]/1000)
redis.call('zremrangebyscore', 'marks', '-inf', '('..(now - ARGV[1]*1000)) return redis.call('zadd', 'marks', 'NX', now, KEYS[1])`)
	write("eternal.lua", `return redis.call('setnx', KEYS[1], 1)`)
	for _, right := range []string{"once.lua", "sorted.lua"} {
		out, errs, code := run(t, "explore", "--script", right, "--as", "dedup")
		require.Zero(t, code, out+errs)
		require.Contains(t, out, "accepted: a message lost with its worker, or with an answer; --crashes 1 looks for it")
		require.Contains(t, out, "at most 1 crash")
	}
	out, errs, code := run(t, "explore", "--script", "once.lua", "--as", "dedup", "--crashes", "1")
	require.Equal(t, cli.ExitInvalid, code, errs)
	require.Contains(t, out, "lost-message in ")
	out, errs, code = run(t, "explore", "--script", "eternal.lua", "--as", "dedup")
	require.Equal(t, cli.ExitInvalid, code, errs)
	require.Contains(t, out, "immortal-mark in ")
	word := regexp.MustCompile(`dg1-\S+`).FindString(out)
	out, errs, code = run(t, "explore", "--script", "eternal.lua", "--as", "dedup", "--replay", word, "--times", "3")
	require.Equal(t, cli.ExitInvalid, code, out+errs)
	require.Contains(t, out, "immortal-mark")
}

// A lease of half a second that is rounded up to a second is over in time.
func TestALeaseRoundedUpToSecondsIsNotStuck(t *testing.T) {
	t.Chdir(t.TempDir())
	text := `if redis.call('set', KEYS[1], ARGV[1], 'NX', 'EX', ARGV[2]) then return 1 end return 0`
	require.NoError(t, os.WriteFile("take.lua", []byte(text), 0o644))
	out, errs, code := run(t, "explore", "--script", "take.lua", "--as", "lock", "--args", "{owner}", "--args", "{ttl_s}", "--ttl", "500ms")
	require.Zero(t, code, out+errs)
}
