package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
)

// run runs a command line in a folder of its own and returns what it printed and its exit code.
func run(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = cli.Main(args, &o, &e)
	return o.String(), e.String(), code
}

func TestWrongUsageIsOneLineWithTheRemedy(t *testing.T) {
	t.Chdir(t.TempDir())
	for want, args := range map[string][]string{
		"choose one of lock/setnx,":                                  {"run", "lock/none"},
		"one variant, such as":                                       {"run"},
		"needs --topology sentinel":                                  {"run", "lock/set-nx-px", "--nemesis", "kill-primary", "--topology", "standalone"},
		`unknown fault "flood"`:                                      {"run", "lock/set-nx-px", "--nemesis", "flood"},
		"invalid argument":                                           {"run", "lock/set-nx-px", "--clients", "many"},
		"--seed\" flag: want a whole number, 0 or more":              {"run", "lock/set-nx-px", "--seed", "-1"},
		"want a time with its unit":                                  {"run", "lock/set-nx-px", "--duration", "10"},
		"--clients 0: ask for more than 0":                           {"run", "lock/set-nx-px", "--clients", "0"},
		"--repeat 0: ask for more than 0":                            {"run", "lock/set-nx-px", "--nemesis", "pause-primary", "--repeat", "0"},
		"--duration 0s: ask for more than 0":                         {"compare", "lock/set-nx-px", "--duration", "0"},
		"--rate 0: ask for more than 0":                              {"run", "lock/set-nx-px", "--rate", "0"},
		"--ttl 0s: ask for more than 0":                              {"explore", "lock/set-nx-px", "--ttl", "0"},
		"--trials 0: ask for more than 0":                            {"reproduce", "jepsen-redis-2013", "--trials", "0"},
		"--parallel 0: ask for more than 0":                          {"reproduce", "jepsen-redis-2013", "--parallel", "0"},
		"--parallel 100000: ask for 1 to 16":                         {"reproduce", "jepsen-redis-2013", "--parallel", "100000"},
		"--trials -1: ask for 1 to":                                  {"reproduce", "jepsen-redis-2013", "--trials", "-1"},
		`pacing "sideways": want open or closed`:                     {"run", "lock/set-nx-px", "--pacing", "sideways"},
		"pacing open needs a rate":                                   {"run", "lock/set-nx-px", "--pacing", "open", "--rate", "-1"},
		"shows after the load only":                                  {"run", "writes/sadd", "--stop-on-first"},
		"unknown place \"podman\": choose":                           {"reproduce", "--all", "--on", "podman"},
		"unknown flag":                                               {"run", "lock/set-nx-px", "--colour"},
		"--crashes -2: ask for 0 or more":                            {"explore", "lock/set-nx-px", "--crashes", "-2"},
		"--for -1s: ask for 0 or more":                               {"explore", "lock/set-nx-px", "--for", "-1s"},
		"--times is about a --replay":                                {"explore", "lock/set-nx-px", "--times", "3"},
		"choose one of them":                                         {"list", "--color", "--no-color"},
		"unknown command":                                            {"explode"},
		"choose text or json":                                        {"list", "-o", "xml"},
		"a regime is for sequences":                                  {"compare", "lock/set-nx-px", "lock/setnx", "--regime", "fixed"},
		"a comparison wants two variants or more":                    {"compare", "lock/set-nx-px"},
		"compare those of one family":                                {"compare", "lock/set-nx-px", "sequence/incr"},
		"did you mean --clients?":                                    {"run", "lock/set-nx-px", "--client", "10"},
		"doublegrant run --help lists them all":                      {"run", "lock/set-nx-px", "--hue", "red"},
		`unknown command "lst": did you mean list?`:                  {"lst"},
		`unknown command "chek": did you mean check?`:                {"help", "client", "chek"},
		`doublegrant run has no commands of its own`:                 {"help", "run", "x"},
		`unknown regime "growingg": did you mean growing?`:           {"explore", "sequence/incr", "--regime", "growingg"},
		`did you mean jepsen-redis-2013?`:                            {"reproduce", "jepsen-redis-2012"},
		"did you mean lock/set-nx-px?":                               {"run", "lock/set-nx-pxx"},
		`begins with "dedpu": doublegrant list names them`:           {"list", "dedpu"},
		`begins with "fixd": did you mean fixed?`:                    {"list", "fixd"},
		"duration is -1s: a time cannot be negative":                 {"run", "lock/set-nx-px", "--duration", "-1s"},
		"this cannot be explored: 17 clients: ask for 2 to 16":       {"explore", "lock/set-nx-px", "--clients", "17"},
		"--list names every experiment: leave --all out":             {"reproduce", "--list", "--all"},
		"nope is not a results folder: there is no such folder":      {"check", "nope"},
		"no variant given":                                           {"compare"},
		"is not a results folder":                                    {"check", "nowhere"},
		"nowhere is not a results folder":                            {"history", "nowhere"},
		"needs --model: choose one of lock, dedup, sequence, writes": {"check", "--history", "x.jsonl"},
		"--model needs --history FILE":                               {"check", "--model", "lock"},
		"give one of them":                                           {"check", "nowhere", "--history", "x.jsonl", "--model", "lock"},
		"no history: open x.jsonl":                                   {"check", "--history", "x.jsonl", "--model", "lock"},
		`unknown model "mutex"`:                                      {"check", "--history", os.DevNull, "--model", "mutex"},
		"for the results of a run it is doublegrant check":           {"check", "--history", os.TempDir(), "--model", "lock"},
		"holds no operation":                                         {"check", "--history", os.DevNull, "--model", "lock"},
		"results cannot be kept in":                                  {"run", "sequence/incr", "--results", "/dev/null/x"},
		"give another folder with --results":                         {"explore", "lock/set-nx-px", "--results", "/dev/null/x"},
		"is not a results folder: it is a file: name the folder":     {"report", os.DevNull},
		"read .: is a directory: name the file of a counterexample":  {"explore", "--replay", "."},
	} {
		out, errs, code := run(t, args...)
		require.Equal(t, cli.ExitUsage, code, "%v: %s", args, errs)
		require.Contains(t, errs, want)
		require.Equal(t, 1, strings.Count(errs, "\n"), "more than one line: %s", errs)
		require.Empty(t, out)
	}
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestAMachineThatCannotDoItIsOneLineAndExit3(t *testing.T) {
	t.Chdir(t.TempDir())
	for want, args := range map[string][]string{
		"or leave it out":     {"run", "sequence/incr", "--redis-server", "/nowhere/redis-server"},
		"ulimit -n":           {"run", "sequence/incr", "--clients", "900000"},
		"from --redis-server": {"explore", "lock/set-nx-px", "--redis-server", "/nowhere/redis-server"},
	} {
		_, errs, code := run(t, args...)
		require.Equal(t, cli.ExitFailed, code, errs)
		require.Contains(t, errs, want)
		require.LessOrEqual(t, strings.Count(errs, "no redis-server"), 1, "said once: %s", errs)
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
	}
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestRunExitsWithItsVerdictAndCheckAgrees(t *testing.T) {
	if !alone(t) {
		return
	}
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		variant string
		clients string
		code    int
		says    string
	}{
		{"sequence/digits-compare", "20", cli.ExitMet, "VALID"},
		{"sequence/string-compare-hash", "20", cli.ExitInvalid, "INVALID"},
		{"sequence/digits-compare", "1", cli.ExitUnknown, "UNKNOWN"},
	} {
		out, errs, code := run(t, "run", c.variant, "--clients", c.clients, "--duration", "1s", "--seed", "7",
			"--rate", "4000", "--pacing", "closed") // which a busy machine keeps up, under the race detector too
		require.Equal(t, c.code, code, "%s%s", out, errs)
		require.True(t, strings.HasPrefix(out, c.says+" "), out)
		require.Contains(t, out, "seed      7")
		require.Contains(t, out, "report.html")
		again, _, code := run(t, "check", "results/latest")
		require.Equal(t, c.code, code)
		require.Equal(t, strings.Split(out, "\n")[0], strings.Split(again, "\n")[0])

		text, _, code := run(t, "history", "results/latest")
		require.Zero(t, code)
		require.NoError(t, os.WriteFile("run.jsonl", []byte(text), 0o644))
		again, errs, code = run(t, "check", "--history", "run.jsonl", "--model", "sequence")
		require.Equal(t, c.code, code, errs)
		require.Equal(t, strings.Split(out, "\n")[0], strings.Split(again, "\n")[0])
	}
}

func TestJSONIsAllThatStandardOutputHolds(t *testing.T) {
	if !alone(t) {
		return
	}
	t.Chdir(t.TempDir())
	out, _, code := run(t, "run", "sequence/incr", "--duration", "1s", "--rate", "4000", "-o", "json")
	require.Equal(t, cli.ExitMet, code, out)
	var v struct {
		Verdict string `json:"verdict"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &v))
	require.Equal(t, "valid", v.Verdict)
	for _, args := range [][]string{{"list", "-o", "json"}, {"doctor", "-o", "json"}} {
		out, _, code := run(t, args...)
		require.Zero(t, code)
		require.True(t, json.Valid([]byte(out)), out)
	}
}

func TestCompareSaysWhetherEachDidAsDocumented(t *testing.T) {
	if !alone(t) {
		return
	}
	t.Chdir(t.TempDir())
	out, errs, code := run(t, "compare", "sequence/numeric-compare-hash", "sequence/digits-compare",
		"--regime", "fixed,timestamp17", "--duration", "1s", "--rate", "2000") // which a busy machine keeps up
	require.Zero(t, code, errs)
	require.Equal(t, 4, strings.Count(out, " yes "), out)
	require.Contains(t, out, "duplicate-number")
	dirs, err := filepath.Glob("results/2*")
	require.NoError(t, err)
	require.Len(t, dirs, 9, "a run and a search for each, and the comparison")
	require.Contains(t, out, "EXPLORER")
	require.Contains(t, out, " 2 steps ")
	replay := regexp.MustCompile(`(?m)^sequence/numeric-compare-hash, timestamp17: the explorer broke it by .*duplicate-number in 2 steps.*: doublegrant explore --replay (\S+)$`).FindStringSubmatch(out)
	require.Len(t, replay, 2, out)
	_, errs, code = run(t, "explore", "--replay", replay[1])
	require.Equal(t, cli.ExitInvalid, code, errs)
	page := regexp.MustCompile(`(?m)^comparison: (\S+)$`).FindStringSubmatch(out)
	require.Len(t, page, 2, out)
	links := regexp.MustCompile(`href="(\.\./[^"]+)"`).FindAllStringSubmatch(file(t, page[1]), -1)
	require.Len(t, links, 4)
	for _, l := range links {
		require.FileExists(t, filepath.Join(filepath.Dir(page[1]), l[1]))
	}
}

func TestListNamesEverything(t *testing.T) {
	out, _, code := run(t, "list")
	require.Zero(t, code)
	for _, want := range []string{"lock/set-nx-px-blind-del", "stolen-release", "a release comes after the lease", "partition-primary", "timestamp17"} {
		require.Contains(t, out, want)
	}
	out, _, code = run(t)
	require.Zero(t, code)
	require.Contains(t, out, "Is my Redis lock safe?")
}

func TestListChoosesByName(t *testing.T) {
	for _, c := range []struct {
		args   []string
		has    []string
		hasNot []string
	}{
		{[]string{"lock/set-nx-px"}, []string{"lock/set-nx-px ", "double-grant"}, []string{"lock/set-nx-px-blind-del", "FAULTS", "REGIME"}},
		{[]string{"dedup"}, []string{"dedup/get-set", "dedup/set-nx-ex"}, []string{"lock/", "FAULTS"}},
		{[]string{"faults"}, []string{"FAULTS: nodes", "kill-HOST", "SIDES: "}, []string{"VARIANT", "REGIME"}},
		{[]string{"kill-primary", "regimes"}, []string{"kill-HOST", "HOST: primary", "growing", "each caller a little behind"}, []string{"pause-HOST", "SIDES: "}},
	} {
		out, errs, code := run(t, append([]string{"list"}, c.args...)...)
		require.Zero(t, code, errs)
		for _, want := range c.has {
			require.Contains(t, out, want, "%v", c.args)
		}
		for _, not := range c.hasNot {
			require.NotContains(t, out, not, "%v", c.args)
		}
	}
}

func TestReproduceListsHowLongItTakes(t *testing.T) {
	out, errs, code := run(t, "reproduce", "--list")
	require.Zero(t, code, errs)
	require.Regexp(t, `(?m)^EXPERIMENT +TRIALS +ABOUT +WHAT`, out)
	require.Regexp(t, `(?m)^split-brain-guards +35 +\d+ min `, out)
	plain, _, _ := run(t, "reproduce")
	require.Equal(t, plain, out)
}

func TestTheVersionIsOneLine(t *testing.T) {
	for _, args := range [][]string{{"--version"}, {"version"}} {
		out, errs, code := run(t, args...)
		require.Zero(t, code, errs)
		require.Regexp(t, `^doublegrant [^\n]+, go1\.[^\n]+\n$`, out)
	}
}

func TestDoctorFindsWhatIsMissing(t *testing.T) {
	out, _, code := run(t, "doctor")
	require.Zero(t, code, out)
	out, _, code = run(t, "doctor", "--redis-server", "/nowhere/redis-server")
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, out, "BAD")
}
