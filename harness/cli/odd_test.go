package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
)

// A replay that does not show what was recorded may be good news, but says nothing about other schedules.
func TestAReplayThatNoLongerFailsSaysToSearchAgain(t *testing.T) {
	p := newPlace(t)
	ends(t, cli.ExitInvalid, "explore", "dedup/get-set", "--first", "--results", p.dir)
	files, err := filepath.Glob(filepath.Join(p.dir, "*", "anomalies", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	out, _ := ends(t, cli.ExitInvalid, "explore", "--replay", files[0])
	require.NotContains(t, out, "mended")
	changed := p.write("changed.json", strings.Replace(string(text), `"(nil)"`, `"1"`, 1))
	out, _ = ends(t, cli.ExitUnknown, "explore", "--replay", changed)
	require.Contains(t, strings.Join(strings.Fields(out), " "),
		". If the code has changed since, this may be mended: search again to be sure.")
}

// If a script always gives the same answer, a note beside its counterexample says so.
func TestAScriptThatAlwaysAnswersTheSameIsNoted(t *testing.T) {
	p := newPlace(t)
	for source, noted := range map[string]bool{
		"return 1": true, "return redis.call('set', KEYS[1], 1, 'nx', 'ex', ARGV[1])": false,
	} {
		file := p.write("s.lua", source)
		_, errs, _ := run(t, "explore", "--script", file, "--as", "dedup", "--first", "--results", p.dir)
		require.Equal(t, noted, strings.Contains(errs, "note: script/s answered 1 to two callers in a row, where only "+
			"one can be the first: it may always answer the same\n"), errs)
	}
}
