package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
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
