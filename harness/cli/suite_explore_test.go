package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
)

// TestASuiteSearchesAndLoadsTheSameFile: scripts are named from the suite's folder, and what is printed of them is repeated
// from where the suite was run.
func TestASuiteSearchesAndLoadsTheSameFile(t *testing.T) {
	if !alone(t) {
		return
	}
	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll("ci/lua", 0o755))
	require.NoError(t, os.WriteFile("ci/lua/take.lua", []byte(take), 0o644))
	require.NoError(t, os.WriteFile("ci/lua/give.lua", []byte(give), 0o644))
	require.NoError(t, os.WriteFile("ci/mine.yaml", []byte(`
defaults: {duration: 1s, clients: 10, rate: 1000, pacing: closed, ttl: 300ms}
runs:
  - name: every order of the old script
    script: &old {as: lock, file: lua/take.lua, releaseFile: lua/give.lua}
    explore: {clients: 2, crashes: 0}
    expect: valid
  - name: every order, as it is known
    script: *old
    explore: {clients: 3}
    expect: {invalid: [stolen-release], may: [double-grant]}
  - name: as documented
    variant: dedup/get-set
    explore: {clients: 5, random: 100, seed: 1}
  - name: under load
    script: {as: lock, file: lua/take.lua}
    expect: valid
`), 0o644))
	out, errs, code := run(t, "suite", "ci/mine.yaml")
	require.Equal(t, cli.ExitInvalid, code, out+errs)
	require.Contains(t, out, "3 of 4 runs ended as expected, 1 not")
	latest, err := filepath.EvalSymlinks("results/latest") // which will lead elsewhere
	require.NoError(t, err)
	lines := printed(t, out, "^  again   ")
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], "doublegrant explore --script=ci/lua/take.lua --as=lock --release=ci/lua/give.lua")
	require.Equal(t, cli.ExitInvalid, asInAShell(t, lines[0]))
	searched, err := filepath.Glob(filepath.Join(latest, "*-explore-dedup-get-set*/verdict.json"))
	require.NoError(t, err)
	require.Len(t, searched, 1)
	require.Contains(t, file(t, searched[0]), `"atRandom": true`)
	junit := file(t, filepath.Join(latest, "junit.xml"))
	require.Contains(t, junit, lines[0])
	require.Contains(t, junit, `tests="4" failures="1"`)
	reportsOfRuns, err := filepath.Glob(filepath.Join(latest, "*/report.html"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(reportsOfRuns), 4)
	plans, err := filepath.Glob(filepath.Join(latest, "*/plan.yaml"))
	require.NoError(t, err)
	require.Len(t, plans, 1)
	require.Contains(t, file(t, plans[0]), "redis.call('set'", "the text, which may change in its file")
	require.NotContains(t, file(t, plans[0]), "file:")
}

func TestARunThatIsASearchSaysWhereItIsWrong(t *testing.T) {
	t.Chdir(t.TempDir())
	for text, want := range map[string]string{
		"  - {variant: lock/setnx, explore: {}, clients: 5}\n":                                       "mine.yaml:2: clients is about load, and this run is a search",
		"  - {variant: lock/setnx, explore: {clients: 17}}\n":                                        "mine.yaml:2: ",
		"  - {variant: lock/setnx, explore: {crashes: some}}\n":                                      `mine.yaml:2: crashes is "some": want a whole number, 0 or more`,
		"  - {variant: lock/setnx, explore: {crashs: 1}}\n":                                          `unknown field "crashs": did you mean crashes?`,
		"  - {variant: writes/sadd, explore: {}}\n":                                                  "cannot be explored",
		"  - {variant: lock/setnx, explore: {}, expect: {invalid: [lost-message]}}\n":                "no run of lock/setnx can show lost-message",
		"  - script: {as: lock, file: none.lua}\n    expect: valid\n":                                "mine.yaml:2: file: open none.lua: no such file or directory",
		"  - script: {as: lock, file: none.lua, source: return 1}\n    expect: valid\n":              "a file and a source: leave one of them out",
		"  - script: {as: lock, name: x, source: return 1, releaseFile: y.lua, release: return 1}\n": "a releaseFile and a release: leave one",
	} {
		require.NoError(t, os.WriteFile("mine.yaml", []byte("runs:\n"+text), 0o644))
		out, errs, code := run(t, "suite", "mine.yaml")
		require.Equal(t, cli.ExitUsage, code, "%s%s%s", text, out, errs)
		require.Contains(t, errs, want, text)
	}
	require.NoDirExists(t, "results")
}
