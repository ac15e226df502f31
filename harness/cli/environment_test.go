package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// apart runs the shell commands before, and then doublegrant, in new Linux namespaces. In the end it kills the
// background process that the commands started, if any. It skips the test where namespaces cannot be made.
func apart(t *testing.T, namespaces, before string, args ...string) process {
	t.Helper()
	if out, err := exec.Command("unshare", namespaces, "true").CombinedOutput(); err != nil {
		testenv.LeftOut(t, "tests in namespaces of their own",
			fmt.Sprintf("run them as root (unshare %s: %v: %s)", namespaces, err, bytes.TrimSpace(out)))
	}
	shell := before + ` && { "$0" "$@"; code=$?; [ -z "$!" ] || kill $!; exit $code; }`
	return newPlace(t).withLibraries().startAs(exec.Command("unshare",
		append([]string{namespaces, "sh", "-c", shell, os.Args[0]}, args...)...))
}

// somebodyAt returns shell commands for apart that start another Redis on the port, at all addresses.
func somebodyAt(port string) string {
	return `ip link set lo up && { redis-server --port ` + port + ` --bind 0.0.0.0 --save "" >/dev/null & } && ` +
		`until redis-cli -p ` + port + ` ping >/dev/null 2>&1; do sleep 0.05; done`
}

func TestLongARunLivesBesideARedisAtAllAddresses(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	p := apart(t, "-n", somebodyAt("6379"), "run", "sequence/incr", "--nemesis", "kill-primary", "--duration", "1s",
		"--clients", "20", "--rate", "500")
	require.Zero(t, p.exitCode(), p.output)
	require.Contains(t, p.output.String(), "failover  kill-primary, r1 to r")

	p = apart(t, "-n", somebodyAt("6379"), "doctor")
	require.Zero(t, p.exitCode(), p.output)
	require.Contains(t, p.output.String(),
		"warn loopback       another program listens on Redis's usual ports at all addresses: nodes use port "+
			"7379 instead\n")
}

// A run reports a problem of the machine in one line, before it writes anything. Doctor reports it as well.
func TestAMachineThatCannotRunSaysWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ namespaces, before, run, doctor string }{
		"a taken lock port": {"-n", somebodyAt("6378"),
			`cluster: a limit of this machine is too low: port 6378 of .* is taken, .*: end what listens there \(ss -ltnp 'sport = :6378' shows it\): `,
			"loopback       .*port 6378 of "},
		"loopback is down": {"-n", "true", "[^\n]*" + loopbackIsDown, "loopback       .*" + loopbackIsDown},
		"a full temporary folder": {"-m", `mkdir full && mount -t tmpfs -o size=64k none full && export TMPDIR=$PWD/full`,
			`cluster: a limit of this machine is too low: the folder for temporary files, .*/full, cannot take the 1024 KiB of a cluster: ` +
				`free some space there, or set TMPDIR to another: [^\n]*no space left on device`,
			"temp folder    .*/full, cannot take"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := apart(t, c.namespaces, c.before, "run", "sequence/incr")
			require.Equal(t, cli.ExitFailed, p.exitCode(), p.output)
			require.Regexp(t, `^doublegrant: `+c.run+`[^\n]*\n$`, p.output.String())
			require.NoDirExists(t, filepath.Join(p.dir, "results"))

			p = apart(t, c.namespaces, c.before, "doctor")
			require.Equal(t, cli.ExitFailed, p.exitCode(), p.output)
			require.Regexp(t, `(?m)^BAD  `+c.doctor, p.output.String())
		})
	}
}

const loopbackIsDown = "the loopback interface seems to be down: as root: ip link set lo up"

func TestARedisThatNeverTellsItsVersionIsNamed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "redis-server")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nexec sleep 60\n"), 0o755))
	out, _ := newPlace(t).withLibraries().ends(cli.ExitFailed, "doctor", "--redis-server", path)
	require.Regexp(t, "(?m)^BAD  redis-server   .*does not answer --version within 20s: ", out)
}

// A full disk ends a run early. The run judges what was recorded, and says why it ended.
func TestARunOnAFullDiskExitsByItsVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		variant, says string
		code          int
	}{
		{"sequence/incr", "UNKNOWN", cli.ExitUnknown},
		{"sequence/get-set", "INVALID", cli.ExitInvalid},
	} {
		disk := t.TempDir()
		if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1250k"); err != nil {
			testenv.LeftOut(t, "a run on a full disk", "run it as root: mounting a small disk: "+err.Error())
		}
		t.Cleanup(func() { require.NoError(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
		out, errs := ends(t, c.code, "run", c.variant, "--clients", "50", "--duration", "10m", "--results", disk)
		require.True(t, strings.HasPrefix(out, c.says+" "), out)
		require.Contains(t, errs, "no space left on the disk: free some")
		require.Contains(t, errs, "the recording is in "+disk)
	}
}
