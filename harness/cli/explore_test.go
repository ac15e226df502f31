package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// calm is a small search: two clients that neither crash nor lose their leases.
var calm = []string{"--clients", "2", "--crashes", "0", "--expiries", "0"}

func TestExplorePrintsTheCommandsThatBreakAVariant(t *testing.T) {
	t.Chdir(t.TempDir())
	out, errs, code := run(t, append([]string{"explore", "dedup/get-set"}, calm...)...)
	require.Equal(t, cli.ExitInvalid, code, errs)
	require.Regexp(t, `(?s)duplicate-delivery in 7 steps:\n +1  client 1  GET msg +\(nil\)\n +2  client 2  GET msg +\(nil\)\n +3  client 1  SET msg 1`, out)
	require.Contains(t, out, "were both told that msg is new")
	first := out
	require.FileExists(t, "results/latest/report.html")
	page, err := os.ReadFile("results/latest/report.html")
	require.NoError(t, err)
	require.Contains(t, string(page), "<svg")
	require.FileExists(t, "results/latest/summary.md")

	files, err := filepath.Glob("results/latest/anomalies/*.json")
	require.NoError(t, err)
	require.Len(t, files, 2)
	require.Equal(t, "results/latest/anomalies/002-duplicate-delivery.json", files[1])
	files = files[1:]
	out, errs, code = run(t, "explore", "--replay", files[0], "--times", "5")
	require.Equal(t, cli.ExitInvalid, code, errs)
	require.Contains(t, out, "the same 5 of 5 times")
	require.Contains(t, out, "client 2  GET msg")
	_, errs, code = run(t, "explore", "dedup/set-nx-ex", "--replay", files[0])
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, errs, "is a schedule of dedup/get-set, not of dedup/set-nx-ex")

	// The word that is printed says all that the file does.
	word := regexp.MustCompile(`replay anywhere: doublegrant explore --replay (dg1-\S+)`).FindAllStringSubmatch(first, -1)
	require.Len(t, word, 2)
	out, errs, code = run(t, "explore", "--replay", word[1][1], "--times", "5")
	require.Equal(t, cli.ExitInvalid, code, errs)
	require.Contains(t, out, "duplicate-delivery in 7 steps, the same 5 of 5 times")
	require.Contains(t, out, word[1][0])
	out, errs, code = run(t, "explore", "--replay", word[1][1], "-o", "markdown")
	require.Equal(t, cli.ExitInvalid, code, errs)
	require.Contains(t, out, "**Promised:** Each message is delivered by one worker only.")
	require.Contains(t, out, "**Repeat it:** `doublegrant explore --replay "+word[1][1]+"`")
	require.NotContains(t, out, "INVALID")
	_, errs, code = run(t, "explore", "--replay", word[1][1][:50])
	require.Equal(t, cli.ExitUsage, code)
	require.Regexp(t, `^doublegrant: dg1-[^\n]*damaged[^\n]*\n$`, errs)

	b, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("other.json", []byte(strings.ReplaceAll(string(b), `"dedup/get-set"`, `"dedup/set-nx-ex"`)), 0o644))
	out, _, code = run(t, "explore", "--replay", "other.json")
	require.Equal(t, cli.ExitUnknown, code)
	require.Contains(t, out, "another version of this variant")
}

func TestExploreSaysThatNothingBreaksAVariant(t *testing.T) {
	t.Chdir(t.TempDir())
	out, errs, code := run(t, "explore", "lock/set-nx-px", "-o", "json")
	require.Zero(t, code, errs)
	var doc struct {
		Verdict string `json:"verdict"`
		Result  struct {
			Exhausted bool `json:"exhausted"`
			Schedules int  `json:"schedules"`
		} `json:"result"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	require.Equal(t, "valid", doc.Verdict)
	require.True(t, doc.Result.Exhausted)
	require.Positive(t, doc.Result.Schedules)
}

func TestExploreWritesMarkdownForAnIssue(t *testing.T) {
	t.Chdir(t.TempDir())
	out, errs, code := run(t, append([]string{"explore", "sequence/string-compare-hash", "-o", "markdown"}, calm...)...)
	require.Equal(t, cli.ExitInvalid, code, errs)
	require.Contains(t, out, "**Promised:**")
	require.Contains(t, out, "| Redis | ")
	require.Contains(t, out, "| regime | fixed |", "each regime has a part")
	require.Contains(t, out, "| regime | growing |")
	for want, args := range map[string][]string{
		"list writes no markdown: choose text or json":        {"list", "-o", "markdown"},
		`unknown output "xml": choose text, markdown or json`: {"explore", "lock/set-nx-px", "-o", "xml"},
		"name a variant instead of --all":                     {"explore", "--all", "-o", "markdown"},
		"leave --all, -o json and -o markdown out":            {"explore", "lock/set-nx-px", "--situation", "client crashed", "-o", "markdown"},
		`there is no "client crashd" here: did you mean`:      {"explore", "lock/set-nx-px", "--situation", "client crashd"},
	} {
		_, errs, code := run(t, args...)
		require.Equal(t, cli.ExitUsage, code, errs)
		require.Contains(t, errs, want)
	}
}

// The word that the README shows replays, and is that of the counterexample above it.
func TestTheWordOfTheReadmeReplays(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	word := regexp.MustCompile(`dg1-\w[\w-]+`).FindString(string(readme))
	require.NotEmpty(t, word)
	t.Chdir(t.TempDir())
	out, errs, code := run(t, "explore", "--replay", word)
	require.Equal(t, cli.ExitInvalid, code, errs+out)
	step := regexp.MustCompile(`(?m)^ +5  client 3  SET lock CLIENT-1 .*$`)
	require.Equal(t, strings.Fields(step.FindString(string(readme))), strings.Fields(step.FindString(out)))
}

func TestExploreSaysThatItsLimitCameFirst(t *testing.T) {
	t.Chdir(t.TempDir())
	out, errs, code := run(t, "explore", "lock/set-nx-px", "--max-schedules", "5")
	require.Equal(t, cli.ExitUnknown, code, errs)
	require.Contains(t, out, "5 schedules were run")
}

const (
	naive = `if redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('set', KEYS[1], ARGV[1])
return 1`
	counter = `return redis.call('incr', KEYS[1])`
)

func TestALuaFileIsExploredRunAndCompared(t *testing.T) {
	if !alone(t) {
		return
	}
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("naive.lua", []byte(naive), 0o644))
	require.NoError(t, os.WriteFile("counter.lua", []byte(counter), 0o644))
	out, errs, code := run(t, "explore", "--script", "naive.lua", "--as", "lock", "--args", "{owner}")
	require.Equal(t, cli.ExitInvalid, code, errs)
	require.Contains(t, out, "stuck-lock in 5 steps")
	require.Contains(t, out, "naive.lua")
	files, err := filepath.Glob("results/latest/anomalies/*stuck*.json")
	require.NoError(t, err)
	require.Len(t, files, 1)
	_, errs, code = run(t, "explore", "--replay", files[0])
	require.Equal(t, cli.ExitInvalid, code, errs)

	sequence := []string{"--script", "counter.lua", "--as", "sequence", "--keys", "k", "--args", "{proposed}"}
	out, errs, code = run(t, append([]string{"explore"}, sequence...)...)
	require.Zero(t, code, errs+out)
	out, errs, code = run(t, append([]string{"run", "--duration", "1s", "--clients", "20", "--rate", "2000"}, sequence...)...)
	require.Zero(t, code, errs+out)
	out, errs, code = run(t, "check", "results/latest")
	require.Zero(t, code, errs+out)
	out, errs, code = run(t, append([]string{"compare", "sequence/incr", "--duration", "1s", "--clients", "20", "--rate", "2000"}, sequence...)...)
	require.Zero(t, code, errs+out)
	require.Contains(t, out, "script/counter")
	require.Contains(t, out, " hold")

	// Nothing is documented of a script, so that what breaks it is no surprise.
	out, errs, code = run(t, "compare", "lock/set-nx-px", "--script", "naive.lua", "--as", "lock", "--args", "{owner}",
		"--duration", "3s", "--ttl", "200ms", "--clients", "20")
	require.Zero(t, code, errs+out)
	require.Regexp(t, `(?m)^lock/set-nx-px .* yes `, out)
	require.Regexp(t, `(?m)^script/naive .* \d steps +- +`, out)
}

func TestWhatNobodyCanJudgeIsNoProof(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("negative.lua", []byte("return -5"), 0o644))
	out, errs, code := run(t, "explore", "--script", "negative.lua", "--as", "sequence")
	require.Equal(t, cli.ExitUnknown, code, errs)
	require.Contains(t, out, "are not decimal numbers")

	// Milliseconds where Redis takes seconds: a lease a thousand times too long.
	require.NoError(t, os.WriteFile("unit.lua", []byte("return redis.call('set', KEYS[1], ARGV[1], 'NX', 'EX', ARGV[2]) or 0"), 0o644))
	out, errs, code = run(t, "explore", "--script", "unit.lua", "--as", "lock")
	require.Equal(t, cli.ExitInvalid, code, errs+out)
	require.Contains(t, out, "stuck-lock")
}

func TestCompareAsksTheExplorerAboutWhatItCanSearch(t *testing.T) {
	if !alone(t) {
		return
	}
	t.Chdir(t.TempDir())
	out, errs, _ := run(t, "compare", "lock/set-nx-px", "lock/set-nx-px-get-del", "--ttl", "50ms", "--duration", "1s", "--clients", "20")
	require.Regexp(t, `all \d+ hold`, out, errs)
	out, errs, _ = run(t, "compare", "writes/sadd", "writes/sadd-wait", "--duration", "1s", "--clients", "20")
	require.Contains(t, out, "not asked", errs)
}

func TestABadScriptIsOneLineWithTheRemedy(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"syntax.lua": "return // 1", "list.lua": "return {1, 2}", "fails.lua": "return redis.call('hget', KEYS[1])", "ok.lua": counter,
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	for want, args := range map[string][]string{
		"does not compile":                       {"explore", "--script", "syntax.lua", "--as", "sequence"},
		"returned an array":                      {"explore", "--script", "list.lua", "--as", "sequence"},
		"fails at line":                          {"run", "--script", "fails.lua", "--as", "sequence"},
		"no such file":                           {"explore", "--script", "none.lua", "--as", "lock"},
		"--script needs --as":                    {"explore", "--script", "ok.lua"},
		"is not a family":                        {"explore", "--script", "ok.lua", "--as", "queue"},
		"name its file":                          {"explore", "lock/set-nx-px", "--as", "lock"},
		"stands for nothing":                     {"compare", "--script", "ok.lua", "--as", "sequence", "--args", "{owner}"},
		"want one variant":                       {"explore", "lock/set-nx-px", "--script", "ok.lua", "--as", "sequence"},
		"only a lock has a release":              {"explore", "--script", "ok.lua", "--as", "sequence", "--release", "ok.lua"},
		"name no variant beside it":              {"explore", "--all", "lock/set-nx-px"},
		"leave --regime and --ttl out":           {"explore", "--all", "--ttl", "20s"},
		"leave --script, --client and --all out": {"explore", "--all", "--replay", "x.json"},
		"cannot be explored":                     {"explore", "writes/sadd"},
		"ask for 2 to 16":                        {"explore", "lock/set-nx-px", "--clients", "17"},
		"or for how long (--for)":                {"explore", "lock/set-nx-px", "--clients", "5", "--for", "0"},
		"--random 0: ask for more":               {"explore", "lock/set-nx-px", "--random", "0"},
		"-3 schedules at random":                 {"explore", "lock/set-nx-px", "--random", "-3"},
		"--depth 0: ask for more":                {"explore", "lock/set-nx-px", "--random", "5", "--depth", "0"},
		"depth 11: ask for 1 to 10":              {"explore", "lock/set-nx-px", "--random", "5", "--depth", "11"},
		"for schedules at random: say":           {"explore", "lock/set-nx-px", "--depth", "2"},
		"leave --max-schedules":                  {"explore", "lock/set-nx-px", "--random", "5", "--max-schedules", "5"},
		"name one variant for":                   {"explore", "--all", "--random", "5"},
		"0 replays":                              {"explore", "--replay", "ok.lua", "--times", "0"},
		"is not a schedule":                      {"explore", "--replay", "ok.lua"},
		"a replay needs none":                    {"explore", "--replay", "ok.lua", "a", "b"},
		"ask for 1ms or more":                    {"explore", "lock/set-nx-px", "--ttl", "1us"},
		"ask for 1ms to 512409h0m0s":             {"explore", "lock/set-nx-px", "--ttl", "876000h"},
		"sequence/string-compare-hash":           {"explore", "sequence/none"},
	} {
		out, errs, code := run(t, args...)
		require.Equal(t, cli.ExitUsage, code, "%v: %s", args, errs)
		require.Contains(t, errs, want)
		require.Equal(t, 1, strings.Count(errs, "\n"), "more than one line: %s", errs)
		require.Empty(t, out)
	}
	require.NoDirExists(t, "results")
}

func TestSchedulesAreDrawnAtRandom(t *testing.T) {
	t.Chdir(t.TempDir())
	out, errs, code := run(t, "explore", "lock/set-nx-px-blind-del", "--clients", "6", "--random", "40", "--first", "--seed", "5", "--twice")
	require.Equal(t, cli.ExitInvalid, code, errs+out)
	require.Contains(t, out, "double-grant in 4 steps:")
	require.Regexp(t, `first found by schedule \d+; shrunk from \d+ steps of 6 clients by running \d+ schedules`, out)
	require.Contains(t, out, "Nothing is claimed about deeper bugs.")
	require.Regexp(t, `(?m)^search again: .* --random=40 --seed=5 --twice=true$`, out)
	page, err := os.ReadFile("results/latest/report.html")
	require.NoError(t, err)
	require.Contains(t, string(page), "It was first found by schedule")
	require.Contains(t, string(page), "drawn at random")
	files, err := filepath.Glob("results/latest/anomalies/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	again, errs, code := run(t, "explore", "--replay", files[0], "--times", "2")
	require.Equal(t, cli.ExitInvalid, code, errs+again)
	require.Contains(t, again, "the same 2 of 2 times")

	out, errs, code = run(t, "explore", "lock/set-nx-px", "--clients", "6", "--random", "20", "-o", "json")
	require.Equal(t, cli.ExitUnknown, code, errs)
	var doc struct {
		Verdict, Summary, Command string
		Result                    struct{ Random interleave.Random }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	require.Equal(t, "unknown", doc.Verdict)
	require.Contains(t, doc.Summary, "Searched at random, nothing found: 20 schedules at random of 6 clients")
	require.Contains(t, doc.Summary, "One schedule finds a bug of depth 3 or less that needs no fault with a probability of at least 1 in ")
	require.Equal(t, 20, doc.Result.Random.Schedules)
	require.Positive(t, doc.Result.Random.Probability)
	require.Contains(t, doc.Command, fmt.Sprintf("--seed=%d", doc.Result.Random.Seed), "what was drawn can be drawn again")
}
