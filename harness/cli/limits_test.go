package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
)

// under runs doublegrant from a shell after limit, a command that lowers a limit.
func under(t *testing.T, limit, line string) (output string, code int) {
	t.Helper()
	shell := exec.Command("sh", append([]string{"-c", limit + ` && exec "$0" "$@"`, os.Args[0]},
		strings.Fields(line)...)...)
	p := newPlace(t).withLibraries().startAs(shell)
	code = p.exitCode()
	require.NoDirExists(t, filepath.Join(p.dir, "results"), "it is known before anything starts")
	return p.output.String(), code
}

func TestDoctorSaysWhichLimitIsShortForSoMany(t *testing.T) {
	t.Parallel()
	out, code := under(t, "ulimit -n 4096 && ulimit -Sn 256", "doctor --clients 2000")
	require.Zero(t, code, "a warning is no failure: %s", out)
	require.Contains(t, out, "ok   open files     4096, enough for 3796 clients\n", "the soft limit is raised")
	require.Contains(t, out, "warn redis files    2000 clients may need ")

	out, code = under(t, "ulimit -n 256", "doctor")
	require.Equal(t, cli.ExitFailed, code, out)
	require.Regexp(t, `(?m)^BAD  open files     100 clients need \d+, and there are 256: run ulimit -n \d+ as root first \(`, out)
	require.NotContains(t, out, "at most 0")

	out, code = under(t, "ulimit -n 2048", "doctor --clients 1749 -o json")
	require.Equal(t, cli.ExitFailed, code, out)
	var all struct {
		Findings []struct {
			What, Do string
			OK       bool
			Limit    *struct{ Need, Have, Most int }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &all))
	for _, f := range all.Findings {
		if f.What == "open files" {
			require.False(t, f.OK)
			require.Regexp(t, `^run ulimit -n 2049 as root first \(.*, or ask for at most 1748 clients$`, f.Do)
			require.Equal(t, struct{ Need, Have, Most int }{2049, 2048, 1748}, *f.Limit)
			return
		}
	}
	require.Fail(t, "no open files", out)
}

func TestARunThatTheMachineCannotCarryNamesEachLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ limit, line, says string }{
		{"ulimit -n 1024", "run lock/set-nx-px --clients 900000",
			`open files: 900000 clients need 900300, .*; local ports: 900000 clients need 182000, `},
		{"ulimit -n 1024", "run lock/redlock --topology masters:5 --clients 200",
			`open files: 200 clients of 5 masters need 1300, and there are 1024: `},
	} {
		out, code := under(t, c.limit, c.line)
		require.Equal(t, cli.ExitFailed, code, out)
		require.Regexp(t, `^doublegrant: cluster: a limit of this machine is too low: `+c.says+`[^\n]*\n$`, out)
		require.NotContains(t, out, "at most 0")
	}
}

// TestALimitThatMayBeShortIsWarnedOfOnce runs a comparison, whose runs all need the same limit.
func TestALimitThatMayBeShortIsWarnedOfOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	shell := exec.Command("sh", "-c", `ulimit -n 1024 && exec "$0" compare sequence/incr sequence/get-set --duration 200ms --explore-for 0`, os.Args[0])
	started := p.startAs(shell)
	require.NotEqual(t, cli.ExitFailed, started.exitCode(), started.output) // what it finds is not the point
	require.Equal(t, 1, strings.Count(started.output.String(),
		"doublegrant: warning: redis files: 100 clients may need 1832, and there are 1024 ("), started.output)
}
