package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pasted runs a command line as a shell does, in a place where doublegrant is in the PATH. It returns its output.
func (p place) pasted(line string) string {
	p.Helper()
	bin := p.TempDir()
	require.NoError(p, os.Symlink(os.Args[0], filepath.Join(bin, "doublegrant")))
	cmd := exec.CommandContext(p.Context(), "sh", "-c", line)
	cmd.Dir, cmd.Env = p.dir, append(p.env[:len(p.env):len(p.env)], "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		require.NoError(p, err)
	}
	return string(out)
}

// read returns the text of a file there.
func (p place) read(name string) string {
	p.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	require.NoError(p, err)
	return string(text)
}

// printedBehind returns the command that follows a word at the beginning of a line.
func printedBehind(t *testing.T, word, out string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^ *` + word + ` +(doublegrant .*)$`).FindStringSubmatch(out)
	require.NotNil(t, found, "%s: %s", word, out)
	return found[1]
}

// verdictIn returns what a run came to, and whether its operations were due at fixed times.
func verdictIn(t *testing.T, text string) (v struct {
	Verdict, Summary, Command string
	Meta                      struct{ Open bool }
}) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &v))
	return v
}

// The command that repeats a run, copied from what was printed or written, is the same plan with the same seed and
// pacing. The verdict is the same, too, unless the machine was too busy for enough operations.
func TestTheCommandThatRepeatsARunIsTheSameRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		line string
		open bool
	}{
		"closed":         {"run sequence/incr --topology standalone --clients 10 --duration 400ms", false},
		"closed at rate": {"run sequence/incr --topology standalone --clients 10 --duration 400ms --rate 500", false},
		"open":           {"run dedup/get-set --clients 10 --duration 400ms --rate 900 --pacing open", true},
		"by a file":      {"run --plan my.yaml", false},
		"of a script":    {"run --script it's.lua --as sequence --clients 10 --duration 400ms --rate 500", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("my.yaml", "variant: sequence/incr\nclients: 10\nduration: 400ms\nrate: 500\ncalm: 400ms\n"+
				"faults: [{fault: pause-primary, for: 200ms}]\n")
			p.write("it's.lua", "return redis.call('incr', KEYS[1])")
			out, errs, _ := p.command(strings.Fields(c.line)...)
			command := printedBehind(t, "again", out)
			plan, first := p.read("results/latest/plan.yaml"), verdictIn(t, p.read("results/latest/verdict.json"))
			require.Equal(t, first.Command, command, errs)
			require.Equal(t, c.open, first.Meta.Open)
			for _, file := range []string{"report.html", "summary.md"} {
				require.Contains(t, asCopied(p.read("results/latest/"+file)), command, file)
			}
			p.pasted(command)
			second := verdictIn(t, p.read("results/latest/verdict.json"))
			require.Equal(t, plan, p.read("results/latest/plan.yaml"))
			if !strings.Contains(first.Summary+second.Summary, "were wanted") {
				require.Equal(t, first.Verdict, second.Verdict, "%s %s", first.Summary, second.Summary)
			}
			require.Equal(t, first.Meta, second.Meta)
		})
	}
}

// What a suite prints for a run that was not as expected repeats that run.
func TestTheCommandThatRepeatsARunOfASuiteIsTheSameRun(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("mine.yaml", "runs:\n  - {name: a, variant: sequence/get-set, clients: 10, duration: 300ms, rate: 500, "+
		"expect: valid}\n")
	out, _ := p.ends(1, "suite", "mine.yaml")
	plans, err := filepath.Glob(filepath.Join(p.dir, "results/latest/*/plan.yaml"))
	require.NoError(t, err)
	if len(plans) == 0 {
		plans, err = filepath.Glob(filepath.Join(p.dir, "results/*/*/plan.yaml"))
		require.NoError(t, err)
	}
	require.Len(t, plans, 1)
	was := p.read(strings.TrimPrefix(plans[0], p.dir))
	p.pasted(printedBehind(t, "again", out))
	asRun := regexp.MustCompile(`(?m)^expect: .*\n|^name: .*\n`) // which are the suite's
	require.Equal(t, asRun.ReplaceAllString(was, ""), asRun.ReplaceAllString(p.read("results/latest/plan.yaml"), ""))
}

// What a suite prints for a run whose failover took too long repeats the run with that limit, and with the same seed.
func TestTheCommandThatRepeatsARunRepeatsTheLimitOfItsFailover(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("mine.yaml", "runs:\n  - {name: it's slow, variant: lock/set-nx-px, nemesis: kill-primary, clients: 10, "+
		"rate: 500, duration: 300ms, expect: {may: [double-grant, stolen-release]}, failover: {firstWrite: 1ms}}\n")
	out, _ := p.ends(1, "suite", "mine.yaml")
	holds := func(out string) {
		require.Regexp(t, `not met it's slow, seed \d+: the first write of a client came [0-9.]+ m?s after the fault; `+
			`the limit is 1ms to do See in the report's waterfall which stage takes longest`, asOneLine(out))
	}
	holds(out)
	command := printedBehind(t, "again", out)
	again := p.pasted(command)
	holds(again)
	seed := regexp.MustCompile(`seed \d+`)
	require.Equal(t, seed.FindString(out), seed.FindString(again))
	require.Contains(t, p.read("results/latest/junit.xml"), "expected valid, or invalid: double-grant or stolen-release; "+
		"first write within 1ms: the first write of a client came")
}

// asOneLine returns text with each stretch of blanks and line ends as one blank.
func asOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// A rate means the same in a plan and as a flag. Neither decides whether operations are due at fixed times.
func TestARateHasOneMeaning(t *testing.T) {
	t.Parallel()
	const flags = "--topology standalone --clients 10 --duration 300ms --seed 7"
	p := newPlace(t)
	p.write("my.yaml", "variant: sequence/incr\ntopology: standalone\nclients: 10\nduration: 300ms\nrate: 500\nseed: 7\n")
	p.command(strings.Fields("run sequence/incr --rate 500 " + flags)...)
	byFlags := p.read("results/latest/plan.yaml")
	p.command("run", "--plan", "my.yaml")
	require.Equal(t, byFlags, p.read("results/latest/plan.yaml"))
	require.False(t, verdictIn(t, p.read("results/latest/verdict.json")).Meta.Open)
}

// The commands below a counterexample repeat its steps, and the command below a search repeats the search.
func TestTheCommandsOfASearchComeToTheSame(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"explore lock/set-nx-px-blind-del --clients 2 --crashes 0",
		"explore lock/set-nx-px-blind-del --clients 6 --random 40 --first --strategy pos",
	} {
		p := newPlace(t)
		out, _ := p.ends(1, strings.Fields(line)...)
		boards := regexp.MustCompile(`(?ms)^[a-z-]+ in \d+ steps:\n.*?^  replay anywhere: .*?$`).FindAllString(out, -1)
		require.NotEmpty(t, boards, out)
		for _, board := range boards {
			steps := regexp.MustCompile(`(?s)^.* in \d+ steps:\n(?:  +\d+  .*?\n|    .*?\n)+`).FindString(board)
			require.NotEmpty(t, steps, board)
			for _, word := range []string{"replay:", "replay anywhere:"} {
				require.Contains(t, p.pasted(printedBehind(t, word, board)), steps, word)
			}
		}
		var was, is map[string]any
		require.NoError(t, json.Unmarshal([]byte(p.read("results/latest/verdict.json")), &was))
		p.pasted(printedBehind(t, "search again:", out))
		require.NoError(t, json.Unmarshal([]byte(p.read("results/latest/verdict.json")), &is))
		for _, field := range []string{"verdict", "command", "summary"} {
			require.Equal(t, was[field], is[field], "%s: %s", line, field)
		}
		schedules := func(v map[string]any) any { return v["result"].(map[string]any)["schedules"] }
		require.Equal(t, schedules(was), schedules(is), line)
	}
}
