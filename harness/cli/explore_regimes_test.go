package cli_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
)

// doubles is right as long as a Lua number holds what is proposed.
const doubles = `local last = tonumber(redis.call('get', KEYS[1]) or '0')
local n = math.max(last + 1, tonumber(ARGV[1]))
redis.call('set', KEYS[1], string.format('%.0f', n))
return string.format('%.0f', n)`

func TestASequenceIsExploredUnderEveryRegime(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("doubles.lua", []byte(doubles), 0o644))
	script := []string{"explore", "--script", "doubles.lua", "--as", "sequence", "--clients", "2", "--crashes", "0", "--expiries", "0"}
	out, errs, code := run(t, script...)
	require.Equal(t, cli.ExitInvalid, code, errs)
	require.Contains(t, out, "INVALID  Broken under 3 of 6 regimes of proposals: timestamp17, clock-back, beyond-2^53.")
	require.Regexp(t, `(?m)^  growing +valid +No interleaving`, out)
	require.Regexp(t, `(?m)^  beyond-2\^53 +invalid +A counterexample of 2 steps`, out)
	require.Equal(t, 3, strings.Count(out, "duplicate-number in 2 steps:"))

	out, errs, code = run(t, append(script, "--regime", "growing")...)
	require.Zero(t, code, errs)
	require.NotContains(t, out, "beyond")

	out, _, code = run(t, append(script, "-o", "json")...)
	require.Equal(t, cli.ExitInvalid, code)
	var doc struct {
		Verdict string
		Regimes []struct {
			Verdict string
			Labels  map[string]string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	require.Equal(t, "invalid", doc.Verdict)
	require.Len(t, doc.Regimes, 6)
	require.Equal(t, "fixed", doc.Regimes[0].Labels["regime"])
	require.Equal(t, "valid", doc.Regimes[0].Verdict)
}

func TestASequenceThatTakesNoNoticeOfProposalsIsExploredOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	out, errs, code := run(t, "explore", "sequence/incr", "--clients", "2", "--crashes", "0", "--expiries", "0")
	require.Zero(t, code, errs)
	require.NotContains(t, out, "regimes")
}

func TestALoadOfASequenceNamesTheRegimesThatBreakIt(t *testing.T) {
	if !alone(t) {
		return
	}
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("doubles.lua", []byte(doubles), 0o644))
	for _, keys := range []string{"{key}", "one"} {
		out, errs, code := run(t, "run", "--script", "doubles.lua", "--as", "sequence", "--keys", keys, "--duration", "2s", "--rate", "2000", "--clients", "20")
		require.Equal(t, cli.ExitInvalid, code, errs)
		require.Regexp(t, `sequence  invalid .*: seq-beyond-2\^53\S* \d+, .*seq-clock-back`, out, keys)
		require.NotContains(t, out, "seq-growing", keys)
		require.NotContains(t, out, "seq-fixed", keys)
	}
}
