package cli_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
)

// refused maps expected messages to command lines, written as for a shell. Each prints one line on standard error and
// nothing else, and exits with the code of wrong usage. @ stands for a folder with the files.
func refused(t *testing.T, files map[string]string, lines map[string]string) {
	t.Helper()
	p := newPlace(t)
	for name, text := range files {
		p.write(name, text)
	}
	for want, line := range lines {
		args, err := cli.SplitWords(strings.ReplaceAll(line, "@", p.dir))
		require.NoError(t, err)
		out, errs := ends(t, cli.ExitUsage, args...)
		require.Contains(t, errs, want, line)
		require.Equal(t, 1, strings.Count(errs, "\n"), "more than one line: %s", errs)
		require.Empty(t, out)
	}
}

func TestWrongUsageIsOneLineWithTheRemedy(t *testing.T) {
	refused(t, nil, map[string]string{
		"one variant, such as": "run",
		"no variant given: want one variant, such as doublegrant run lock/set-nx-px (doublegrant list": "run --clients 5",
		"no variant given: want one variant, such as doublegrant explore lock/set-nx-px":               "explore",
		"2 variants given: want one variant, such as":                                                  "run lock/setnx lock/redisson",
		`"client/lock" is the name that doublegrant gives to your own adapter`:                         "run client/lock",
		"give its file (--script take.lua --as lock":                                                   "explore script/take",
		"invalid argument": "run lock/set-nx-px --clients many",
		"--seed\" flag: want a whole number, 0 or more": "run lock/set-nx-px --seed -1",
		"want a time with its unit":                     "run lock/set-nx-px --duration 10",
		"--clients 0: ask for more than 0":              "run lock/set-nx-px --clients 0",
		"--repeat 0: ask for more than 0": "run lock/set-nx-px --nemesis pause-primary " +
			"--repeat 0",
		"--duration 0s: ask for more than 0":                         "compare lock/set-nx-px --duration 0",
		"--rate 0: ask for more than 0":                              "run lock/set-nx-px --rate 0",
		"--ttl 0s: ask for more than 0":                              "explore lock/set-nx-px --ttl 0",
		"--trials 0: ask for more than 0":                            "reproduce jepsen-redis-2013 --trials 0",
		"--parallel 0: ask for more than 0":                          "reproduce jepsen-redis-2013 --parallel 0",
		"--parallel 100000: ask for 1 to 16":                         "reproduce jepsen-redis-2013 --parallel 100000",
		"--trials -1: ask for 1 to":                                  "reproduce jepsen-redis-2013 --trials -1",
		`pacing "sideways": want open or closed`:                     "run lock/set-nx-px --pacing sideways",
		"pacing open needs a rate":                                   "run lock/set-nx-px --pacing open --rate -1",
		"show only after the load":                                   "run writes/sadd --stop-on-first",
		"unknown platform \"podman\": choose":                        "reproduce --all --on podman",
		"--crashes -2: ask for 0 or more":                            "explore lock/set-nx-px --crashes -2",
		"--for -1s: ask for 0 or more":                               "explore lock/set-nx-px --for -1s",
		"--times is for --replay":                                    "explore lock/set-nx-px --times 3",
		"contradict each other":                                      "list --color --no-color",
		"unknown command":                                            "explode",
		"choose text or json":                                        "list -o xml",
		"give two or more variants, plans":                           "compare lock/set-nx-px",
		"compare variants of one family":                             "compare lock/set-nx-px sequence/incr",
		"did you mean --clients?":                                    "run lock/set-nx-px --adapter 10",
		"doublegrant run --help lists them all":                      "run lock/set-nx-px --hue red",
		`unknown command "lst": did you mean list?`:                  "lst",
		`unknown command "chek": did you mean check?`:                "help client chek",
		`doublegrant run has no subcommands`:                         "help run x",
		`unknown regime "growingg": did you mean growing?`:           "explore sequence/incr --regime growingg",
		`did you mean jepsen-redis-2013?`:                            "reproduce jepsen-redis-2012",
		"did you mean lock/set-nx-px?":                               "run lock/set-nx-pxx",
		`begins with "dedpu": doublegrant list shows them`:           "list dedpu",
		"doublegrant bugs lists them":                                "list bug/",
		`begins with "fixd": did you mean fixed?`:                    "list fixd",
		"--list shows every experiment: leave --all out":             "reproduce --list --all",
		"no variant given":                                           "compare",
		"nowhere is not a results folder":                            "history nowhere",
		"needs --model: choose one of lock, dedup, sequence, writes": "check --history x.jsonl",
		"--model needs --history FILE":                               "check --model lock",
		"together with --history or --model":                         "check nowhere --history x.jsonl --model lock",
		"no history: open x.jsonl":                                   "check --history x.jsonl --model lock",
		"to check the results of a run, use doublegrant check":       "check --history /tmp --model lock",
		"results cannot be kept in":                                  "run sequence/incr --results /dev/null/x",
		"give another folder with --results":                         "explore lock/set-nx-px --results /dev/null/x",
		"is not a results folder: it is a file: name its folder":     "report /dev/null",
		"read .: is a directory: name a counterexample's file":       "explore --replay .",
	})
}

func TestASearchThatCannotBeIsOneLineWithTheRemedy(t *testing.T) {
	refused(t, map[string]string{
		"ok.lua": "return redis.call('incr', KEYS[1])", "foreign": "x", "our.yaml": "name: ours",
	}, map[string]string{
		"a suite is run by doublegrant suite ":                                  "run @/our.yaml",
		"ok.lua is a file, not a variant: your own script is given by --script": "explore @/ok.lua",
		"such as doublegrant explore -- python3 ":                               "explore python3 @/foreign",
		"such as doublegrant run -- python3 ":                                   "run --adapter python3 @/foreign",
		"list cannot write markdown: choose text or json":                       "list -o markdown",
		`unknown output "xml": choose text, markdown or json`:                   "explore lock/set-nx-px -o xml",
		"name a variant instead of --all":                                       "explore --all -o markdown",
		"leave --all, -o json and -o markdown out": "explore lock/set-nx-px --situation 'client crashed' " +
			"-o markdown",
		`there is no "client crashd" here: did you mean`: "explore lock/set-nx-px --situation 'client crashd'",
		"--script needs --as":                            "explore --script @/ok.lua",
		"name its file":                                  "explore lock/set-nx-px --as lock",
		"want one variant":                               "explore lock/set-nx-px --script @/ok.lua --as sequence",
		"leave the variant out":                          "explore --all lock/set-nx-px",
		"leave --regime and --ttl out":                   "explore --all --ttl 20s",
		"leave --script, --adapter and --all out":        "explore --all --replay x.json",
		"ask for 2 to 16":                                "explore lock/set-nx-px --clients 17",
		"or a time (--for)":                              "explore lock/set-nx-px --clients 5 --for 0",
		"--random 0: ask for more":                       "explore lock/set-nx-px --random 0",
		"-3 schedules at random":                         "explore lock/set-nx-px --random -3",
		"--depth 0: ask for more":                        "explore lock/set-nx-px --random 5 --depth 0",
		"for schedules at random: give":                  "explore lock/set-nx-px --depth 2",
		"leave --max-schedules":                          "explore lock/set-nx-px --random 5 --max-schedules 5",
		"name one variant for":                           "explore --all --random 5",
		"0 replays":                                      "explore --replay @/ok.lua --times 0",
		"since a replay reads its variant":               "explore --replay @/ok.lua a b",
		"ask for 1ms to 512409h0m0s":                     "explore lock/set-nx-px --ttl 876000h",
		"sequence/string-compare-hash":                   "explore sequence/none",
		"--workers 0: ask for 1 to 8":                    "explore lock/setnx --workers 0",
		"--workers 9: ask for 1 to 8":                    "explore lock/setnx --workers 9",
		"are for one search":                             "explore --all --workers 2",
		"choose one with --regime":                       "explore sequence/string-compare --save x",
		"--resume reads the variant from its file":       "explore lock/setnx --resume x",
		"(--for, --max-schedules): leave --clients out":  "explore --resume x --clients 2",
		"x: cannot read the saved search: no such":       "explore --resume x",
		`there is no "nothing" here: choose one of`:      "explore --resume x --situation nothing",
		"foreign: it is not a saved search":              "explore --resume @/foreign",
		"leave them out of a replay":                     "explore --replay x --workers 2",
		"--save none/x: cannot write to its folder: op":  "explore lock/setnx --save none/x",
		": it is not a regular file: name another":       "explore lock/setnx --save @",
		"leave no definite work to save: say how many":   "explore lock/setnx --clients 5 --save x",
	})
}

func TestABadClientIsOneLineWithTheRemedy(t *testing.T) {
	refused(t, nil, map[string]string{
		"want one of ok, fail, info and ask":                 "run --adapter cat",
		"it ended (exit status 1)":                           "compare lock/set-nx-px -- false",
		"by --adapter and after --":                          "explore --adapter true -- false",
		"no adapter after --":                                "explore --",
		"are about Lua, and true is an adapter":              "explore --keys k -- true",
		"--adapter: a quote or backslash at its end is open": `explore --adapter "python3 'x"`,
		"no adapter given":                                   "adapter check",
		"nothing listens on unix:/no/such: start":            "explore --connect unix:/no/such",
		"are about an adapter":                               "run lock/set-nx-px --processes 2",
		"-1 processes: ask for 1 or more":                    "run --adapter true --processes -1",
		"says its clock itself":                              "explore --clock preloaded -- true",
		`clock "sundial": choose one of`:                     "explore --announces --clock sundial --as lock -- true",
		"decides itself what it does, so it can be explored": "run --announces --as lock --adapter true",
		"there is doublegrant adapter check -- COMMAND":      "adapter chekc",
	})
}

func TestAPlanThatCannotBeIsOneLineWithItsPlace(t *testing.T) {
	refused(t, map[string]string{
		"typo.yaml": "variant: lock/set-nx-px\nfaults:\n  - start: 2s\n    fault: kill-primry\n",
		"good.yaml": "variant: lock/set-nx-px\n",
	}, map[string]string{
		`typo.yaml:4: unknown fault "kill-primry": unknown host "primry": did you mean primary? choose `: "run --plan @/typo.yaml",
		"open nowhere.yaml":                                       "run --plan nowhere.yaml",
		"--clients cannot be given with --plan":                   "run --plan @/good.yaml --clients 5",
		"--regime cannot be given with --plan":                    "compare --plan @/good.yaml --regime fixed",
		"good.yaml already names a variant: leave lock/setnx out": "run --plan @/good.yaml lock/setnx",
		"2 plans given":                                           "run --plan @/good.yaml --plan @/good.yaml",
		"min-replicas needs replicas":                             "run lock/set-nx-px --min-replicas 1",
		"ask for 1 to 2": "run lock/set-nx-px --topology sentinel " +
			"--min-replicas 3",
		"max-lag needs min-replicas": "run lock/set-nx-px --topology sentinel " +
			"--max-lag 1s",
		"Redis takes whole seconds": "run lock/set-nx-px --topology sentinel " +
			"--min-replicas 1 --max-lag 1500ms",
		"choose always, everysec or no": "compare lock/set-nx-px lock/setnx --aof often",
		"does not wait for any: acks are for variants with WAIT": "run lock/set-nx-px --topology sentinel " +
			"--acks 1",
		"waits for 3 replicas, and sentinel has 2: ask for acks 1 to 2": "run lock/set-nx-px-wait --acks 3",
		"--nemesis: one of the names is empty: leave it out":            "run lock/set-nx-px --nemesis ''",
		"an image is for containers: use --on docker":                   "run lock/set-nx-px --redis-image redis:7",
		"choose process or docker":                                      "run lock/set-nx-px --on cloud",
		"a resource is for locks":                                       "run sequence/incr --resource",
		"lock/redlock needs 3 masters or more":                          "run lock/redlock --topology sentinel",
		"works on one primary, and masters:5 has several":               "run lock/set-nx-px --topology masters:5",
	})
}

func TestASuiteThatCannotBeRunIsOneLine(t *testing.T) {
	refused(t, nil, map[string]string{
		"no suite given": "suite",
		"did you mean ci? doublegrant suite --list":                      "suite cii",
		"no suite: open none.yaml":                                       "suite none.yaml",
		"is not a regular expression":                                    "suite ci --only (",
		`--shard "4/3": shards count from 1: choose one from 1/3 to 3/3`: "suite ci --shard 4/3",
		"--for 0s: ask for more than 0":                                  "suite ci --for 0",
		"--for -1s: ask for more than 0 and at most 100h":                "suite ci --for -1s",
		"--print takes one":                                              "suite --print",
		"--list shows all suites":                                        "suite ci --list",
		"results cannot be kept in":                                      "suite ci --results /dev/null/x",
	})
	for text, want := range map[string]string{
		"  - {variant: lock/setnx, explore: {}, clients: 5}\n": "mine.yaml:2: clients is for " +
			"load, and this run is a search",
		"  - {variant: lock/setnx, explore: {crashes: some}}\n":                       `mine.yaml:2: crashes is "some": want a whole number, 0 or more`,
		"  - {variant: lock/setnx, explore: {crashs: 1}}\n":                           `unknown field "crashs": did you mean crashes?`,
		"  - {variant: writes/sadd, explore: {}}\n":                                   "cannot be explored",
		"  - {variant: lock/setnx, explore: {}, expect: {invalid: [lost-message]}}\n": "no run of lock/setnx can show lost-message",
		"  - script: {as: lock, file: none.lua}\n    expect: valid\n":                 "mine.yaml:2: file: open ",
		"  - script: {as: lock, file: none.lua, source: return 1}\n    expect: valid\n": "both file " +
			"and source: leave one of them out",
		"  - script: {as: lock, name: x, source: return 1, releaseFile: y.lua, release: return 1}\n": "both " +
			"releaseFile and release: leave one",
	} {
		refused(t, map[string]string{"mine.yaml": "runs:\n" + text}, map[string]string{want: "suite @/mine.yaml"})
	}
}

func TestGeneratorsThatCannotBeAreOneLine(t *testing.T) {
	refused(t, nil, map[string]string{
		"--listen is for generators: add --generators":     "run lock/set-nx-px --listen 127.0.0.1",
		"--nats is for generators":                         "run lock/set-nx-px --nats nats://127.0.0.1:1",
		"--name is for a NATS server that generators join": "run lock/set-nx-px --generators 2 --name x",
		"cannot be the name of a coordination": "run lock/set-nx-px --generators 2 --listen 127.0.0.1 " +
			"--name 'a b'",
		"101 generators: ask for 1 to 64": "run lock/set-nx-px --generators 101 --clients 200",
	})
}

// TestNoFlagIsSilentlyOverruledByAPlan checks that no flag for a field of the plan can be given with --plan.
func TestNoFlagIsSilentlyOverruledByAPlan(t *testing.T) {
	good := newPlace(t).write("good.yaml", "variant: lock/set-nx-px\n")
	help, _, _ := run(t, "run", "--help")
	values := map[string]string{"int": "=1", "uint": "=1", "float": "=1", "duration": "=1s", "string": "=x",
		"strings": "=x"}
	beside := []string{"plan", "seed", "results", "redis-server", "output", "color", "no-color", "help", "as", "args",
		"keys", "yes", "no-error", "release", "release-args", "script", "adapter", "verbose", "connect", "announces",
		"clock",
		"processes", "real-crash",
		"redis", "redis-url-file", "redis-ca", "redis-cert", "redis-key", "i-may-load", // which Redis is not in a plan
		// nor where generators come from
		"listen", "nats", "expose", "name", "state", "token-file", "credentials", "tls-ca", "give-up-after"}
	flags := regexp.MustCompile(`(?m)^ +(?:-\w, )?--([\w-]+) (int|uint|float|duration|strings?)?`).FindAllStringSubmatch(help, -1)
	require.Greater(t, len(flags), 25)
	for _, f := range flags {
		if slices.Contains(beside, f[1]) {
			continue
		}
		_, errs := ends(t, cli.ExitUsage, "run", "--plan", good, "--"+f[1]+values[f[2]])
		require.Contains(t, errs, "--"+f[1]+" cannot be given with --plan")
	}
}
