package cli_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
	"github.com/doublegrant/doublegrant/harness/suite/tally"
)

// small is a suite of searches, repetitions and short loads, some of which are not as expected.
const small = `
defaults: {clients: 10, duration: 500ms, rate: 1000, expect: valid}
runs:
  - {name: clean, variant: sequence/digits-compare, times: 2, seed: 40}
  - {name: every order, variant: lock/set-nx-px-blind-del, explore: {clients: 3}, expect: {invalid: [stolen-release], may: [double-grant]}}
  - {name: every order twice, variant: lock/set-nx-px, explore: {clients: 2}, times: 2}
  - name: wrong
    script: {as: sequence, file: next.lua}
    duration: 1m
    stopOnFirst: true
`

// next draws each number twice.
const next = `local n = redis.call('INCR', KEYS[1])
return math.floor(n / 2)`

// smallSuite writes the suite and its script into the working folder.
func smallSuite(t *testing.T) {
	t.Helper()
	suiteFile(t, small)
	require.NoError(t, os.WriteFile("next.lua", []byte(next), 0o644))
}

// told holds what a suite says of its cases, as far as it does not depend on time.
type told struct {
	Name, Variant, Expected            string
	Runs, Met, NotMet, Unknown, Failed int
	Found, Ending, Verdict             string
}

// toldOf reads the suite.json in a results folder.
func toldOf(t *testing.T, dir string) (all []told, s tally.Suite) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(file(t, filepath.Join(dir, "suite.json"))), &s))
	for _, c := range s.Cases {
		one := told{Name: c.Name, Variant: c.Variant, Expected: c.Expected, Runs: c.Runs, Met: c.Met, NotMet: c.NotMet, Unknown: c.Unknown, Failed: c.Failed,
			Found: c.Last.Found, Ending: c.Ending().String(), Verdict: c.Last.Verdict.String()}
		if c.Last.Ops > 0 { // how many violations a load finds is chance; that some are of this class is not
			one.Found = regexp.MustCompile("duplicate-number").FindString(one.Found)
		}
		all = append(all, one)
	}
	return all, s
}

// filesIn lists the files below dir with their texts.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			all[path] = file(t, path)
		}
		return err
	}))
	return all
}

// hrefs lists the links of a page to other files.
func hrefs(page string) (all []string) {
	for _, m := range regexp.MustCompile(`href="([^"#]+)"`).FindAllStringSubmatch(page, -1) {
		all = append(all, m[1])
	}
	return all
}

// TestShardsAndOneMachineSayTheSame runs a suite whole, and in three shards as GitLab numbers them.
func TestShardsAndOneMachineSayTheSame(t *testing.T) {
	if !alone(t) {
		return
	}
	t.Chdir(t.TempDir())
	smallSuite(t)
	const canary = "sup3r-secret-canary"
	t.Setenv("CI_JOB_TOKEN", canary)
	t.Setenv("REDISCLI_AUTH", canary)
	out, errs, code := run(t, "suite", "mine.yaml", "--results", "whole")
	require.Equal(t, cli.ExitInvalid, code, out+errs)
	t.Setenv("CI_NODE_TOTAL", "3")
	codes := map[int]int{}
	for _, n := range []string{"1", "2", "3"} {
		t.Setenv("CI_NODE_INDEX", n)
		out, errs, code := run(t, "suite", "mine.yaml", "--shard", "auto", "--results", "artifacts/job-"+n)
		require.Contains(t, errs, "shard "+n+"/3: ")
		require.Contains(t, out, "This is shard "+n+" of 3: doublegrant merge puts all together.")
		codes[code]++
	}
	require.Equal(t, map[int]int{cli.ExitMet: 2, cli.ExitInvalid: 1}, codes)
	before := filesIn(t, "artifacts")

	out, errs, code = run(t, "merge", "artifacts")
	require.Equal(t, cli.ExitInvalid, code, out+errs)
	require.Contains(t, out, "5 of 6 runs ended as expected, 1 not, in 3 shards of at most ")
	require.Equal(t, before, filesIn(t, "artifacts"), "what is merged stays as it is")

	one, _ := toldOf(t, "whole/latest")
	merged, s := toldOf(t, "results/latest")
	require.Equal(t, one, merged)
	require.Len(t, s.Shards, 3)
	require.Empty(t, s.Ended)
	require.NotEmpty(t, s.Servers["process"])
	require.NotEmpty(t, s.Fingerprint)
	require.Contains(t, s.Version, "doublegrant")
	for _, c := range s.Cases {
		if c.Name == "clean" {
			require.EqualValues(t, 41, c.Last.Seed, "the seeds of one machine")
		}
	}
	dir, err := filepath.EvalSymlinks("results/latest")
	require.NoError(t, err)
	links := hrefs(file(t, filepath.Join(dir, "index.html")))
	require.GreaterOrEqual(t, len(links), 8)
	for _, l := range links {
		require.FileExists(t, filepath.Join(dir, l))
	}
	junit := file(t, filepath.Join(dir, "junit.xml"))
	require.Contains(t, junit, `tests="4" failures="1"`)
	require.Contains(t, file(t, filepath.Join(dir, "summary.md")), "| 3/3 |")
	for _, command := range printed(t, out, "^  again   ") {
		require.Contains(t, command, "--script=next.lua", "as it is called in the suite's folder")
	}

	written := filesIn(t, dir)
	again, _, code := run(t, "report", dir)
	require.Equal(t, cli.ExitInvalid, code)
	require.Equal(t, out, again)
	require.Equal(t, written, filesIn(t, dir), "its reports can be written again")
	for path, text := range written {
		require.NotContains(t, text, canary, path)
	}
}

func TestWhatDoesNotBelongTogetherIsNotMerged(t *testing.T) {
	if !alone(t) {
		return
	}
	t.Chdir(t.TempDir())
	suiteFile(t, "runs:\n  - {variant: lock/set-nx-px, explore: {clients: 2}}\n  - {variant: dedup/set-nx-ex, explore: {clients: 2}}\n")
	for results, more := range map[string][]string{
		"a": {"--shard", "1/2"}, "b": {"--shard", "2/2"}, "again": {"--shard", "2/2"}, "whole": nil, "chosen": {"--shard", "1/1", "--only", "lock"},
	} {
		_, errs, code := run(t, append([]string{"suite", "mine.yaml", "--results", results}, more...)...)
		require.Equal(t, cli.ExitMet, code, errs)
	}
	require.NoError(t, os.MkdirAll("empty", 0o755))
	for _, c := range []struct {
		want string
		args []string
	}{
		{"no folder given", nil},
		{"none: there is no such folder", []string{"none"}},
		{"no shard is in empty", []string{"a", "b", "empty"}},
		{"no shard is in whole", []string{"whole"}},
		{"whole/latest is the results folder of a whole suite: only shards are merged", []string{"a", "whole/latest"}},
		{"shard 2 of 2 is missing: name its folder, too, or run it", []string{"a"}},
		{"shard 2 of 2 is missing", []string{"a", "a/latest"}}, // one folder
		{"shard 2/2 is there twice, in b/", []string{"a", "b", "again"}},
		{"is of another suite (", []string{"a", "chosen"}},
	} {
		out, errs, code := run(t, append([]string{"merge"}, c.args...)...)
		require.Equal(t, cli.ExitUsage, code, "%v: %s%s", c.args, out, errs)
		require.Contains(t, errs, c.want)
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
		require.Empty(t, out)
	}
	require.NoDirExists(t, "results")

	require.NoError(t, os.Rename("b", "a/nested"), "at any depth")
	require.NoError(t, os.Rename("whole", "a/whole"), "whatever else is there")
	for range 2 { // what was merged before is passed over
		out, errs, code := run(t, "merge", "a", "--results", "a")
		require.Equal(t, cli.ExitMet, code, errs)
		require.Contains(t, out, "2 of 2 runs ended as expected, in 2 shards of at most ")
	}
	_, errs, code := run(t, "merge", "a/latest")
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, errs, "a/latest is what merge put together from 2 shards")
	_, errs, code = run(t, "suite", "mine.yaml", "--resume", "a/latest")
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, errs, "merge put it together from 2 shards: resume the shard that was interrupted")
}

func TestAShardThatCannotBeRunIsOneLine(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"CI_NODE_INDEX", "CI_NODE_TOTAL", "CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL",
		"BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", "JOB_COMPLETION_INDEX"} {
		t.Setenv(name, "")
	}
	for want, args := range map[string][]string{
		"shards count from 1":                            {"suite", "ci", "--shard", "0/8"},
		`--shard "": give a number and how many`:         {"suite", "ci", "--shard", ""},
		"this is not a job of a CI system that is known": {"suite", "ci", "--shard", "auto"},
		"split it into 11 shards at most":                {"suite", "ci", "--shard", "3/12"},
		"did you mean --shard?":                          {"suite", "ci", "--shards", "3/12"},
		`unknown command "merg": did you mean merge?`:    {"merg"},
	} {
		out, errs, code := run(t, args...)
		require.Equal(t, cli.ExitUsage, code, "%v: %s", args, errs)
		require.Contains(t, errs, want)
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
		require.Empty(t, out)
	}
	require.NoDirExists(t, "results")
}
