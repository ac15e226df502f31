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

// under starts doublegrant from a shell that has first run limit, a command that lowers a limit.
func under(t *testing.T, limit string, args ...string) process {
	t.Helper()
	return startAs(t, exec.Command("sh", append([]string{"-c", limit + ` && exec "$0" "$@"`, os.Args[0]}, args...)...))
}

func TestDoctorSaysWhichLimitIsShortForSoMany(t *testing.T) {
	p := under(t, "ulimit -n 2048", "doctor")
	require.Zero(t, p.exitCode(), p.output)
	require.Contains(t, p.output.String(), "ok   open files     2048, enough for 1748 clients\n")

	p = under(t, "ulimit -n 2048", "doctor", "--clients", "1748")
	require.Zero(t, p.exitCode(), "a warning is no failure: %s", p.output)
	require.Contains(t, p.output.String(), "warn redis files    1748 clients may need 6780, and there are 2048 (")

	p = under(t, "ulimit -n 2048", "doctor", "--clients", "1749")
	require.Equal(t, cli.ExitFailed, p.exitCode(), p.output)
	require.Contains(t, p.output.String(), "BAD  open files     1749 clients need 2049, and there are 2048\n"+
		"                    run ulimit -n 2049 as root first (")
	require.Contains(t, p.output.String(), ", or ask for at most 1748 clients\n")

	p = under(t, "ulimit -n 2048", "doctor", "--clients", "1749", "-o", "json")
	require.Equal(t, cli.ExitFailed, p.exitCode(), p.output)
	var all []struct {
		What, Do string
		OK       bool
		Limit    *struct{ Need, Have, Most int }
	}
	require.NoError(t, json.Unmarshal([]byte(p.output.String()), &all))
	for _, f := range all {
		if f.What == "open files" {
			require.False(t, f.OK)
			require.NotEmpty(t, f.Do)
			require.Equal(t, struct{ Need, Have, Most int }{2049, 2048, 1748}, *f.Limit)
			return
		}
	}
	require.Fail(t, "no open files", p.output)
}

func TestASoftLimitOfFilesIsRaised(t *testing.T) {
	p := under(t, "ulimit -n 4096 && ulimit -Sn 256", "doctor", "--clients", "2000")
	require.Zero(t, p.exitCode(), p.output)
	require.Contains(t, p.output.String(), "ok   open files     4096, enough for 3796 clients\n")
}

func TestARunThatTheMachineCannotCarryNamesEachLimit(t *testing.T) {
	p := under(t, "ulimit -n 1024", "run", "lock/set-nx-px", "--clients", "900000")
	require.Equal(t, cli.ExitFailed, p.exitCode())
	require.Regexp(t, `^doublegrant: cluster: a limit of this machine is too low: open files: 900000 clients need 900300, .*; `+
		`local ports: 900000 clients need 182000, .*\n$`, p.output.String())

	p = under(t, "ulimit -n 1024", "run", "lock/redlock", "--topology", "masters:5", "--clients", "200")
	require.Equal(t, cli.ExitFailed, p.exitCode())
	require.Contains(t, p.output.String(), "open files: 200 clients of 5 masters need 1300, and there are 1024: ")
	require.NoDirExists(t, filepath.Join(p.dir, "results"), "it is known before anything starts")
}

func TestARunWarnsOfALimitThatMayBeShort(t *testing.T) {
	p := under(t, "ulimit -n 1024", "run", "sequence/incr", "--topology", "standalone", "--duration", "200ms")
	require.NotEqual(t, cli.ExitFailed, p.exitCode(), p.output) // what it finds is not the point
	require.Contains(t, p.output.String(), "doublegrant: warning: redis files: 100 clients may need 1832, and there are 1024 (")
}

// TestASuiteWarnsOnce: its runs need the same.
func TestASuiteWarnsOnce(t *testing.T) {
	t.Parallel()
	p := under(t, "ulimit -n 1024", "compare", "sequence/incr", "sequence/get-set", "--duration", "200ms")
	require.NotEqual(t, cli.ExitFailed, p.exitCode(), p.output)
	require.Equal(t, 1, strings.Count(p.output.String(), "warning: redis files"), p.output)
}
