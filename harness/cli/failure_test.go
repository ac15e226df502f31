package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
	"github.com/doublegrant/doublegrant/reports/schemas"
)

// failure is what -o json prints without a result.
type failure struct {
	Schema                    int
	Kind, Verdict, Error, Dir string
	ExitCode                  int
}

// failureIn reads the only JSON value of text.
func failureIn(t *testing.T, text string) (f failure) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&f), "%s", text)
	require.False(t, d.More(), "%s", text)
	require.NoError(t, schemas.Check("error", []byte(text)))
	require.Equal(t, "unknown", f.Verdict)
	return f
}

func TestACommandWithoutAResultPrintsOneJSONValue(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("mine.yaml", "runs:\n  - {variant: lock/setnx}\n")
	for line, code := range map[string]int{
		"run lock/setnx --redis-server /none":                    cli.ExitFailed,
		"run lock/setnx --generators 2 --redis-server /none":     cli.ExitFailed,
		"compare lock/setnx dedup/get-set":                       cli.ExitUsage,
		"compare lock/setnx lock/set-nx-px --redis-server /none": cli.ExitFailed,
		"demo --redis-server /none":                              cli.ExitFailed,
		"explore lock/setnx --redis-server /none":                cli.ExitFailed,
		"explore lock/setnx --workers 2 --redis-server /none":    cli.ExitFailed,
		"explore sequence/incr --redis-server /none":             cli.ExitFailed,
		"explore --all --redis-server /none":                     cli.ExitFailed,
		"explore --replay none.json":                             cli.ExitUsage,
		"suite mine.yaml --redis-server /none":                   cli.ExitFailed,
		"suite none.yaml":                                        cli.ExitUsage,
		"coordinate suite mine.yaml --redis-server /none":        cli.ExitFailed,
		"coordinate explore lock/setnx --redis-server /none":     cli.ExitFailed,
		"reproduce jepsen-redis-2013 --redis-server /none":       cli.ExitFailed,
		"adapter check --redis-server /none -- true":             cli.ExitFailed,
		"check none":     cli.ExitUsage,
		"history none":   cli.ExitUsage,
		"report none":    cli.ExitUsage,
		"merge none":     cli.ExitUsage,
		"list nothing":   cli.ExitUsage,
		"doctor one two": cli.ExitUsage, // refused before the flags are looked at
		"lst":            cli.ExitUsage,
		"run":            cli.ExitUsage,
	} {
		args := append([]string{"-o", "json"}, strings.Fields(line)...)
		out, errs, is := p.command(args...)
		require.Equal(t, code, is, "%s: %s", line, errs)
		f := failureIn(t, out)
		require.Equal(t, code, f.ExitCode, line)
		require.True(t, strings.HasSuffix(errs, "doublegrant: "+f.Error+"\n"), "%s: %s", errs, f.Error)
		if f.Dir != "" {
			require.DirExists(t, filepath.Join(p.dir, f.Dir), line)
		}
	}
}

func TestFlagsThatCannotBeReadAskForNoJSON(t *testing.T) {
	for _, line := range []string{"list -o json --nonsense", "run lock/setnx -o json --clients many", "list -o xml"} {
		out, _ := ends(t, cli.ExitUsage, strings.Fields(line)...)
		require.Empty(t, out, line)
	}
}

// startJSON starts doublegrant with standard output in a file.
func startJSON(t *testing.T, line string) (p process, out func() string) {
	t.Helper()
	shell := exec.Command("sh", append([]string{"-c", `exec "$0" -o json "$@" >out.json`, os.Args[0]},
		strings.Fields(line)...)...)
	place := newPlace(t)
	place.write("mine.yaml", "runs:\n  - {variant: sequence/incr, topology: sentinel}\n")
	p = place.startAs(shell)
	return p, func() string {
		text, err := os.ReadFile(filepath.Join(p.dir, "out.json"))
		require.NoError(t, err)
		return string(text)
	}
}

func TestARunThatFailsSaysInJSONWhereItsRecordIs(t *testing.T) {
	t.Parallel()
	p, out := startJSON(t, "run lock/set-nx-px --generators 2 --clients 20 --rate 300 --pacing closed --duration 1m")
	p.awaitOperations()
	pids := p.started("work")
	require.Len(t, pids, 2)
	require.NoError(t, syscall.Kill(pids[0], syscall.SIGKILL))
	require.Equal(t, cli.ExitFailed, p.exitCode(), p.output)
	f := failureIn(t, out())
	require.Equal(t, cli.ExitFailed, f.ExitCode)
	require.Contains(t, f.Error, "signal: killed")
	require.FileExists(t, filepath.Join(p.dir, f.Dir, "report.html"))
}

func TestInterruptedJSON(t *testing.T) { // a short name, since socket paths include it
	t.Parallel()
	for i, line := range []string{
		"run sequence/incr --topology sentinel",
		"compare sequence/incr sequence/get-set --topology sentinel",
		"explore --all",
		"demo",
		"suite mine.yaml",
		"reproduce jepsen-redis-2013",
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			t.Log(line)
			p, out := startJSON(t, line)
			p.await(func() bool { return len(p.servers()) > 0 }, "a server")
			require.NoError(t, p.Process.Signal(os.Interrupt))
			code := p.exitCode()
			// the first row may have been there
			require.Contains(t, []int{cli.ExitInvalid, cli.ExitUnknown}, code, p.output)
			var value any
			require.NoError(t, json.Unmarshal([]byte(out()), &value), "%s%s", out(), p.output)
			if f, ok := value.(map[string]any); ok && f["kind"] == "error" {
				require.EqualValues(t, code, f["exitCode"])
			}
		})
	}
}
