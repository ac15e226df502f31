package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
	"github.com/doublegrant/doublegrant/harness/suite/tally"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// soakOfSeconds has runs of half a second, and one of 3 s, long enough to be killed in its middle. Seeds count up from 70.
const soakOfSeconds = `
defaults: {clients: 20, duration: 500ms, rate: 400, pacing: closed, seed: 70, expect: valid}
runs:
  - {name: first, variant: sequence/digits-compare, times: 2}
  - {name: long, variant: sequence/digits-compare, duration: 3s}
  - {name: last, variant: sequence/incr}
`

// recordLines returns the lines of the record of the only suite in the process's folder.
func (p process) recordLines() (folder string, lines []string) {
	p.Helper()
	files, err := filepath.Glob(filepath.Join(p.dir, "results/2*-suite-mine/suite.jsonl"))
	require.NoError(p, err)
	if len(files) == 0 {
		return "", nil
	}
	require.Len(p, files, 1, "it went on in the same folder")
	text, err := os.ReadFile(files[0])
	require.NoError(p, err)
	return filepath.Dir(files[0]), slices.Collect(strings.Lines(string(text)))
}

// awaitRuns waits until n runs are on record, and the next one is under load.
func (p process) awaitRuns(n int) {
	p.Helper()
	p.await(func() bool {
		folder, lines := p.recordLines()
		if strings.Count(strings.Join(lines, ""), `{"run":`) < n {
			return false
		}
		segments, _ := filepath.Glob(filepath.Join(folder, "2*-sequence-digits-compare/history/ops-000001.seg"))
		for _, s := range segments {
			if info, err := os.Stat(s); err == nil && info.Size() > 1000 && strings.Contains(p.output.String(), "] long") {
				return true
			}
		}
		return false
	}, "%d runs, and load of the next", n)
}

// interruptedAfterTwoRuns interrupts the suite and waits for its end. It returns the suite's folder and the lines of its record.
func (p process) interruptedAfterTwoRuns() (folder string, lines []string) {
	p.Helper()
	p.awaitRuns(2)
	require.NoError(p, p.Process.Signal(os.Interrupt))
	require.Equal(p, cli.ExitUnknown, p.exitCode(), p.output)
	return p.recordLines()
}

// runsOf counts the runs that ended, by name, and lists their seeds.
func runsOf(t *testing.T, lines []string) (n map[string]int, seeds map[string][]uint64) {
	t.Helper()
	n, seeds = map[string]int{}, map[string][]uint64{}
	for _, line := range lines {
		var one struct{ Run *tally.Run }
		require.NoError(t, json.Unmarshal([]byte(line), &one))
		if one.Run != nil && one.Run.Ending != tally.NotRun {
			n[one.Run.Name]++
			seeds[one.Run.Name] = append(seeds[one.Run.Name], one.Run.Seed)
		}
	}
	return n, seeds
}

// mine writes a suite file into a folder of its own.
func mine(t *testing.T, text string) (path string) {
	t.Helper()
	return newPlace(t).write("mine.yaml", text)
}

func TestASuiteThatWasKilledGoesOnWithTheRunsThatAreLeft(t *testing.T) {
	t.Parallel()
	file := mine(t, soakOfSeconds)
	p := start(t, "suite", file)
	p.awaitRuns(2)
	_, errs, code := run(t, "suite", file, "--resume", filepath.Join(p.dir, "results/latest"))
	require.Equal(t, cli.ExitUsage, code, errs)
	require.Contains(t, errs, "it is still under way")
	require.NoError(t, p.Process.Signal(syscall.SIGKILL))
	require.Equal(t, -1, p.exitCode(), p.output)
	p.awaitServers(0)
	folder, before := p.recordLines()
	cut, errs, code := run(t, "report", folder)
	require.Equal(t, cli.ExitUnknown, code, errs)
	require.Contains(t, cut, "the run of that moment is not counted: what was recorded of it is in 2")
	require.FileExists(t, filepath.Join(folder, "index.html"))

	torn, err := os.OpenFile(filepath.Join(folder, "suite.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = torn.WriteString(`{"run":{"name":"lo`)
	require.NoError(t, err)
	require.NoError(t, torn.Close())

	out, errs, code := p.command("suite", file, "--resume", "results/latest")
	require.Equal(t, cli.ExitMet, code, out+errs)
	require.Contains(t, errs, "it goes on after 2 runs and ")
	require.NotContains(t, errs, "] first")
	require.Contains(t, out, "4 of 4 runs ended as expected")
	require.Contains(t, out, "interrupted and resumed 1 time.")
	require.NotContains(t, out, "go on ")

	_, after := p.recordLines()
	require.Equal(t, before, after[:len(before)], "nothing recorded is lost")
	n, seeds := runsOf(t, after)
	require.Equal(t, map[string]int{"first": 2, "long": 1, "last": 1}, n)
	require.Equal(t, []uint64{70, 71}, seeds["first"])
	for _, name := range []string{"index.html", "junit.xml", "summary.md", "suite.json"} {
		require.FileExists(t, filepath.Join(folder, name))
	}
	link, err := os.Readlink(filepath.Join(p.dir, "results/latest"))
	require.NoError(t, err)
	require.Equal(t, filepath.Base(folder), link)

	_, errs, code = run(t, "suite", file, "--resume", folder)
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, errs, "it ran to its end")
	again, _, code := run(t, "report", folder)
	require.Equal(t, cli.ExitMet, code)
	require.Contains(t, again, "4 of 4 runs ended as expected")
}

func TestLongASoakThatWasInterruptedGoesOnForTheRestOfItsTime(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	file := mine(t, soakOfSeconds)
	p := start(t, "suite", file, "--for", "12s")
	folder, before := p.interruptedAfterTwoRuns()
	require.Contains(t, before[len(before)-1], `{"end":`)
	require.Contains(t, p.output.String(), "go on     doublegrant suite "+file+" --resume=results/"+filepath.Base(folder))

	out, errs, code := p.command("suite", file, "--resume="+filepath.Join("results", filepath.Base(folder)))
	require.Equal(t, cli.ExitMet, code, out+errs)
	_, after := p.recordLines()
	require.Equal(t, before, after[:len(before)], "nothing recorded is lost")
	_, seeds := runsOf(t, after)
	for name, all := range seeds {
		for i, seed := range all {
			require.EqualValues(t, 70+i, seed, "%s: seeds count on, and an interrupted run's is used again: %v", name, all)
		}
	}
	require.Equal(t, before[0], after[0])
	var s tally.Suite
	text, err := os.ReadFile(filepath.Join(folder, "suite.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &s))
	require.GreaterOrEqual(t, s.Elapsed, 12*time.Second)
	require.GreaterOrEqual(t, s.Passes, 2)
	require.Equal(t, 1, s.Resumed)
	require.Empty(t, s.Ended)
}

func TestAFolderThatDoesNotFitIsNotResumed(t *testing.T) {
	t.Parallel()
	file := mine(t, soakOfSeconds)
	p := start(t, "suite", file, "--for", "1h")
	folder, before := p.interruptedAfterTwoRuns()
	other := mine(t, strings.Replace(soakOfSeconds, "duration: 3s", "duration: 4s", 1))
	named := mine(t, "name: theirs"+soakOfSeconds)
	refused(t, nil, map[string]string{
		"there is no such folder":                 "suite " + file + " --resume " + folder + "x",
		"is not the results folder of a suite":    "suite " + file + " --resume @",
		"other runs, scripts or expectations":     "suite " + other + " --resume " + folder,
		`it was begun with the suite "mine", and`: "suite " + named + " --resume " + folder,
		"it was begun with --for 1h0m0s":          "suite " + file + " --resume " + folder + " --for 2h",
		"leave --results out":                     "suite " + file + " --resume " + folder + " --results x",
		"and the --only, of then":                 "suite " + file + " --resume " + folder + " --only first",
	})
	_, after := p.recordLines()
	require.Equal(t, before, after)
}
