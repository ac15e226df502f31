package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
)

// suiteFile writes a suite into the working folder.
func suiteFile(t *testing.T, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile("mine.yaml", []byte(text), 0o644))
}

// runsOfASecond are runs that a busy machine does in time as well: those that are to find something go on until they do.
const runsOfASecond = `
defaults: {clients: 20, duration: 500ms, rate: 1000}
runs:
  - {name: clean, variant: sequence/digits-compare, expect: valid}
  - {name: caught, variant: sequence/string-compare-hash, duration: 1m, stopOnFirst: true, expect: {invalid: [duplicate-number], may: [regression]}}
`

func TestASuiteExitsWithItsWorstRun(t *testing.T) {
	if !alone(t) {
		return
	}
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		more string
		code int
		says string
	}{
		{"", cli.ExitMet, "2 of 2 runs ended as expected"},
		{"  - {name: silent, variant: sequence/digits-compare, clients: 1}\n", cli.ExitUnknown, "1 unknown"},
		{"  - {name: silent, variant: sequence/digits-compare, clients: 1}\n" +
			"  - {name: wrong, variant: sequence/string-compare-hash, duration: 1m, stopOnFirst: true, expect: valid}\n", cli.ExitInvalid, "which was not expected"},
	} {
		suiteFile(t, runsOfASecond+c.more)
		out, errs, code := run(t, "suite", "mine.yaml")
		require.Equal(t, c.code, code, errs)
		require.Contains(t, out, c.says)
		require.Contains(t, errs, "[1/")
		require.FileExists(t, "results/latest/junit.xml")
	}
	before := summaryOfRuns(t)
	_, errs, code := run(t, "report", "results/latest")
	require.Equal(t, cli.ExitInvalid, code, errs)
	require.Equal(t, before, summaryOfRuns(t), "of a suite that came to its end the record says all of it")
	out, _, code := run(t, "suite", "mine.yaml", "--only", "clean", "-o", "json")
	require.Equal(t, cli.ExitMet, code)
	var doc struct{ Cases []struct{ Name string } }
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	require.Len(t, doc.Cases, 1)
}

// summaryOfRuns returns the latest summary without what it says of memory, of which the record has some samples only.
func summaryOfRuns(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("results/latest/summary.md")
	require.NoError(t, err)
	runs, _, found := strings.Cut(string(text), "\n- left by a run")
	require.True(t, found)
	return runs
}

func TestASuiteThatCannotBeRunIsOneLine(t *testing.T) {
	t.Chdir(t.TempDir())
	suiteFile(t, runsOfASecond+"  - {name: bad, variant: sequence/incr, expect: {invalid: [double-grant]}}\n")
	for want, args := range map[string][]string{
		"no suite given": {"suite"},
		"did you mean ci? doublegrant suite --list":       {"suite", "cii"},
		"no suite: open none.yaml":                        {"suite", "none.yaml"},
		"mine.yaml:6: no run of ":                         {"suite", "mine.yaml"},
		"no run of ci has such a name":                    {"suite", "ci", "--only", "nothing"},
		"is not a regular expression":                     {"suite", "ci", "--only", "("},
		"--for 0s: ask for more than 0":                   {"suite", "ci", "--for", "0"},
		"--for -1s: ask for more than 0 and at most 100h": {"suite", "ci", "--for", "-1s"},
		"--print takes one":                               {"suite", "--print"},
		"--list names all suites":                         {"suite", "ci", "--list"},
		"results cannot be kept in":                       {"suite", "ci", "--results", "/dev/null/x"},
	} {
		out, errs, code := run(t, args...)
		require.Equal(t, cli.ExitUsage, code, "%v: %s", args, errs)
		require.Contains(t, errs, want)
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
		require.Empty(t, out)
	}
	require.NoFileExists(t, "results")
}

func TestABuiltInSuiteCanBeCopied(t *testing.T) {
	t.Chdir(t.TempDir())
	list, _, code := run(t, "suite", "--list")
	require.Zero(t, code)
	require.Contains(t, list, "\nci ")
	text, _, code := run(t, "suite", "ci", "--print")
	require.Zero(t, code)
	suiteFile(t, text)
	_, errs, code := run(t, "suite", "mine.yaml", "--only", "no run has this name")
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, errs, "no run of ci has such a name", "it was read and checked")
}

// TestAnInterruptedSuiteNamesTheRunItWasIn, and the folder of what that had recorded.
func TestAnInterruptedSuiteNamesTheRunItWasIn(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "mine.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
defaults: {clients: 20, rate: 2000, duration: 1m}
runs:
  - {name: endless, variant: sequence/string-compare-hash, expect: {invalid: [duplicate-number], may: [regression]}}
`), 0o644))
	p := start(t, "suite", file, "--for", "1h")
	require.Eventually(t, func() bool {
		segments, _ := filepath.Glob(filepath.Join(p.dir, "results/*-suite-mine/2*/history/ops-000001.seg"))
		if len(segments) == 0 {
			return false
		}
		info, err := os.Stat(segments[0])
		return err == nil && info.Size() > 10_000
	}, 30*time.Second, 10*time.Millisecond)
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
	file := filepath.Join(t.TempDir(), "mine.yaml")
	require.NoError(t, os.WriteFile(file, []byte(runsOfASecond), 0o644))
	p := start(t, "suite", file, "--for", "1h", "--only", "clean")
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
	require.Eventually(t, func() bool { return strings.Count(record(), `{"run":`) >= 2 }, 30*time.Second, 10*time.Millisecond)
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
