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
	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// soakOfSeconds has runs of half a second, and one of 3 s, long enough to be killed halfway. Seeds count up from 70.
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

// awaitRuns waits until n runs are recorded, and the next one is under load.
func (p process) awaitRuns(n int) {
	p.Helper()
	p.await(func() bool {
		_, lines := p.recordLines()
		return strings.Count(strings.Join(lines, ""), `{"run":`) >= n && strings.Contains(p.output.String(), "] long")
	}, "%d runs", n)
	p.awaitRecord("results/2*-suite-mine/2*-sequence-digits-compare/history/ops-000001.seg", 1000)
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

func TestASuiteThatWasKilledGoesOnWithTheRunsThatAreLeft(t *testing.T) {
	t.Parallel()
	file := newPlace(t).write("mine.yaml", soakOfSeconds)
	p := start(t, "suite", file)
	p.awaitRuns(2)
	_, errs := ends(t, cli.ExitUsage, "suite", file, "--resume", filepath.Join(p.dir, "results/latest"))
	require.Contains(t, errs, "it is still running")
	require.NoError(t, p.Process.Signal(syscall.SIGKILL))
	require.Equal(t, -1, p.exitCode(), p.output)
	p.awaitServers(0)
	folder, before := p.recordLines()
	refused(t, nil, map[string]string{
		"there is no such folder":              "suite " + file + " --resume " + folder + "x",
		"is not the results folder of a suite": "suite " + file + " --resume @",
		"leave --results out":                  "suite " + file + " --resume " + folder + " --results x",
		"restore the file and its --only":      "suite " + file + " --resume " + folder + " --only first",
	})
	cut, _ := ends(t, cli.ExitUnknown, "report", folder)
	require.Contains(t, unbroken(cut), "the run in progress at that moment is not counted: its recording is in 2")
	require.FileExists(t, filepath.Join(folder, "index.html"))

	torn, err := os.OpenFile(filepath.Join(folder, "suite.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = torn.WriteString(`{"run":{"name":"lo`)
	require.NoError(t, err)
	require.NoError(t, torn.Close())

	out, errs := p.ends(cli.ExitMet, "suite", file, "--resume", "results/latest")
	require.Contains(t, errs, "continuing after 2 runs and ")
	require.NotContains(t, errs, "] first")
	require.Contains(t, unbroken(out), "4 of 4 runs ended as expected")
	require.Contains(t, unbroken(out), "interrupted and resumed 1 time.")
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

	_, errs = ends(t, cli.ExitUsage, "suite", file, "--resume", folder)
	require.Contains(t, errs, "it is complete")
	again, _ := ends(t, cli.ExitMet, "report", folder)
	require.Contains(t, unbroken(again), "4 of 4 runs ended as expected")
}

func TestLongASoakThatWasInterruptedGoesOnForTheRestOfItsTime(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	file := newPlace(t).write("mine.yaml", soakOfSeconds)
	p := start(t, "suite", file, "--for", "12s")
	p.awaitRuns(2)
	require.NoError(t, p.Process.Signal(os.Interrupt))
	require.Equal(t, cli.ExitUnknown, p.exitCode(), p.output)
	folder, before := p.recordLines()
	require.Contains(t, before[len(before)-1], `{"end":`)
	require.Contains(t, p.output.String(),
		"continue  doublegrant suite "+file+" --resume=results/"+filepath.Base(folder))

	p.ends(cli.ExitMet, "suite", file, "--resume="+filepath.Join("results", filepath.Base(folder)))
	_, after := p.recordLines()
	require.Equal(t, before, after[:len(before)], "nothing recorded is lost")
	_, seeds := runsOf(t, after)
	for name, all := range seeds {
		for i, seed := range all {
			require.EqualValues(t, 70+i, seed, "%s: seeds count on, and an interrupted run's is used again: %v", name,
				all)
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
