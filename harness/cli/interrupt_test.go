package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
)

const saidOnce = "doublegrant: interrupted: healing faults, stopping Redis and judging what was recorded; press " +
	"Ctrl-C again to quit at once without a verdict\n"

// says waits until the process has printed text.
func (p process) says(text string) {
	p.Helper()
	p.await(func() bool { return strings.Contains(p.output.String(), text) }, "%q", text)
}

func TestCtrlCEndsARunInGoodOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args  string
		ready func(process)
	}{
		"under a fault": {"--nemesis pause-primary --fault-for 1m", process.awaitOperations},
		"by generators": {"--generators 2 --clients 20 --rate 200 --pacing closed", process.awaitOperations},
		"while the cluster starts": {"--topology sentinel",
			func(p process) { p.await(func() bool { return len(p.servers()) > 0 }, "a server") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, append([]string{"run", "sequence/incr", "--duration", "1m"}, strings.Fields(c.args)...)...)
			c.ready(p)
			pids := p.started("work")
			require.NoError(t, p.Process.Signal(os.Interrupt))
			require.Equal(t, cli.ExitUnknown, p.exitCode(), p.output)
			require.Contains(t, p.output.String(), "interrupt")
			require.Empty(t, p.servers())
			require.Empty(t, p.folders())
			for _, pid := range pids {
				require.False(t, alive(pid))
			}
			if name != "while the cluster starts" {
				require.FileExists(t, filepath.Join(p.dir, "results/latest/report.html"))
			}
		})
	}
}

// TestTheSecondCtrlCEndsTheProcessAtOnce sends a second Ctrl-C while the first still ends the run in good order.
func TestTheSecondCtrlCEndsTheProcessAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, "run", "sequence/incr", "--topology", "sentinel", "--duration", "1m")
	p.awaitServers(6)
	p.awaitOperations()
	require.NoError(t, p.Process.Signal(os.Interrupt))
	p.says(saidOnce)
	require.NoError(t, p.Process.Signal(os.Interrupt))
	require.Equal(t, cli.ExitInterrupted, p.exitCode(), p.output)
	require.Equal(t, 130, cli.ExitInterrupted)
	require.NotContains(t, p.output.String(), "expected ", "no verdict")
	p.awaitServers(0)
	p.await(func() bool { return len(p.folders()) == 0 }, "the end of nodes' folders")
}

// TestSearchesThatWereInterruptedHaveTheirRows checks that earlier results are shown.
func TestSearchesThatWereInterruptedHaveTheirRows(t *testing.T) {
	t.Parallel()
	p := start(t, "explore", "--all")
	p.says("\n[3/")
	require.NoError(t, p.Process.Signal(os.Interrupt))
	require.Contains(t, []int{cli.ExitUnknown, cli.ExitInvalid}, p.exitCode(), p.output)
	out := p.output.String()
	require.Equal(t, 1, strings.Count(out, saidOnce))
	require.Contains(t, out, "AS DOCUMENTED")
	require.GreaterOrEqual(t, len(regexp.MustCompile(`(?m)^(lock|dedup|sequence)/.* (yes|NO) `).FindAllString(out, -1)),
		2, out)
	require.Regexp(t, `\d+ of \d+ searches were not made, or ended early`, out)
}

// TestAnInterruptedSuiteNamesTheRunItWasIn checks that the run's folder is named, too.
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
	require.Contains(t, out, "a pass, repeated for 1h")
	require.Regexp(t, `(?m)^      interrupted: had found .*duplicate-number.*, expected invalid: `, out)
	require.NotContains(t, out, "not run: invalid")
	named := regexp.MustCompile(`It ended early: interrupted during the run "endless", whose folder is (\S+)\. `).
		FindStringSubmatch(unbroken(out))
	require.Len(t, named, 2, out)
	require.FileExists(t, filepath.Join(p.dir, "results/latest", named[1], "report.html"))
}
