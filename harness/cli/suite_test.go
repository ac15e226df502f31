package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
)

// TestAnInterruptedSuiteNamesTheRunItWasIn, and the folder of what that had recorded.
func TestAnInterruptedSuiteNamesTheRunItWasIn(t *testing.T) {
	t.Parallel()
	file := newPlace(t).write("mine.yaml", `
defaults: {clients: 20, rate: 1000, pacing: closed, duration: 1m}
runs:
  - {name: endless, variant: sequence/string-compare-hash, expect: {invalid: [duplicate-number], may: [regression]}}
`)
	p := start(t, "suite", file, "--for", "1h")
	p.awaitRecord("results/*-suite-mine/2*/history/ops-000001.seg", 10_000)
	require.NoError(t, p.Process.Signal(os.Interrupt))
	require.Equal(t, cli.ExitUnknown, p.exitCode(), p.output)
	out := p.output.String()
	require.Contains(t, out, "1 run, about 1m")
	require.Contains(t, out, "each pass, for 1h")
	require.Regexp(t, `(?m)^      interrupted: found .*duplicate-number.* by then, expected invalid: `, out)
	require.NotContains(t, out, "not run: invalid")
	named := regexp.MustCompile(`It ended early: interrupted in the run "endless", which is in (\S+)\.\n`).FindStringSubmatch(out)
	require.Len(t, named, 2, out)
	require.FileExists(t, filepath.Join(p.dir, "results/latest", named[1], "report.html"))
}

// TestAKilledSoakHasItsRecordOnDisk, with the runs that had ended, and nothing of those that were as expected.
func TestAKilledSoakHasItsRecordOnDisk(t *testing.T) {
	t.Parallel()
	file := newPlace(t).write("mine.yaml", "runs: [{variant: sequence/digits-compare, clients: 20, duration: 300ms, rate: 1000, pacing: closed, expect: valid}]\n")
	p := start(t, "suite", file, "--for", "1h")
	record := func() string {
		files, err := filepath.Glob(filepath.Join(p.dir, "results/*-suite-mine/suite.jsonl"))
		require.NoError(t, err)
		if len(files) == 0 {
			return ""
		}
		text, err := os.ReadFile(files[0])
		require.NoError(t, err)
		return string(text)
	}
	p.await(func() bool { return strings.Count(record(), `{"run":`) >= 2 }, "two runs")
	require.NoError(t, p.Process.Signal(syscall.SIGKILL))
	require.Equal(t, -1, p.exitCode())
	require.Contains(t, record(), `"ending":"met"`)
	require.Contains(t, record(), `"rss":`)
	require.NotContains(t, record(), `{"end":`, "it was killed")
	left, err := filepath.Glob(filepath.Join(p.dir, "results/*-suite-mine/2*"))
	require.NoError(t, err)
	require.LessOrEqual(t, len(left), 1, "the run that was under way")
	p.awaitServers(0)
	_, errs, code := run(t, "report", filepath.Join(p.dir, "results/latest"))
	require.Equal(t, cli.ExitUnknown, code, errs)

	dirs, err := filepath.Glob(filepath.Join(p.dir, "results/*-suite-mine"))
	require.NoError(t, err)
	out, errs, code := run(t, "report", dirs[0])
	require.Equal(t, cli.ExitUnknown, code, errs)
	met := strings.Count(record(), `"ending":"met"`)
	require.Contains(t, out, fmt.Sprintf("%d of %d runs ended as expected", met, met))
	require.Contains(t, out, "It ended early: it was cut short")
	page, err := os.ReadFile(filepath.Join(dirs[0], "index.html"))
	require.NoError(t, err)
	require.Contains(t, string(page), "It ended early: it was cut short")
	require.FileExists(t, filepath.Join(dirs[0], "summary.md"))
}
