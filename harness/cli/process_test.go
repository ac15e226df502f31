package cli_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
	"github.com/doublegrant/doublegrant/harness/cluster/docker"
)

// asCommand, in the environment, makes the test binary the doublegrant command: what happens to a process can only be
// shown on one.
const asCommand = "DOUBLEGRANT_TEST_AS_COMMAND"

// long is set by test-long in the Makefile.
var long = flag.Bool("long", false, "run the slowest tests as well")

// onlyLong skips a test that make test leaves to make test-long.
func onlyLong(t *testing.T) {
	t.Helper()
	if !*long {
		t.Skip("make test-long")
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	if docker.Watchdog() {
		return
	}
	os.Exit(m.Run())
}

// process is a doublegrant under way, in a folder and with temporary files of its own.
type process struct {
	*testing.T
	*exec.Cmd
	dir    string
	output *output
}

// output holds what a process has printed so far.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func start(t *testing.T, args ...string) process {
	t.Helper()
	return startAs(t, exec.Command(os.Args[0], args...))
}

// startAs starts doublegrant by a command that runs the test binary in the end, such as a shell.
func startAs(t *testing.T, cmd *exec.Cmd) process {
	t.Helper()
	p := process{T: t, Cmd: cmd, dir: t.TempDir(), output: &output{}}
	p.Cmd.Dir = p.dir
	p.Cmd.Env = append(os.Environ(), asCommand+"=1", "TMPDIR="+p.dir)
	p.Cmd.Stdout, p.Cmd.Stderr = p.output, p.output
	require.NoError(t, p.Cmd.Start())
	t.Cleanup(func() { _ = p.Process.Kill() }) // of what the test left running
	return p
}

// servers returns the pids of processes that work in the process's temporary folders: its Redis nodes.
func (p process) servers() (pids []string) {
	dirs, err := filepath.Glob("/proc/[0-9]*/cwd")
	require.NoError(p, err)
	for _, link := range dirs {
		dir, err := os.Readlink(link)
		if err == nil && strings.HasPrefix(dir, filepath.Join(p.dir, "doublegrant-")) {
			pids = append(pids, link)
		}
	}
	return pids
}

func (p process) awaitServers(n int) {
	p.Helper()
	require.Eventually(p, func() bool { return len(p.servers()) == n }, 10*time.Second, 10*time.Millisecond,
		"want %d servers", n)
}

// awaitOperations waits until the history has some.
func (p process) awaitOperations() {
	p.Helper()
	require.Eventually(p, func() bool {
		files, err := filepath.Glob(filepath.Join(p.dir, "results/*/history/ops-000001.seg"))
		if err != nil || len(files) == 0 {
			return false
		}
		info, err := os.Stat(files[0])
		return err == nil && info.Size() > 1000
	}, 30*time.Second, 10*time.Millisecond)
}

func (p process) exitCode() int {
	p.Helper()
	_ = p.Wait() // the code says it all
	return p.ProcessState.ExitCode()
}

func TestCtrlCEndsARunInGoodOrder(t *testing.T) {
	t.Parallel()
	p := start(t, "run", "sequence/incr", "--nemesis", "pause-primary", "--duration", "1m", "--fault-for", "1m")
	p.awaitServers(6)
	p.awaitOperations()
	require.NoError(t, p.Process.Signal(os.Interrupt))
	require.Equal(t, cli.ExitUnknown, p.exitCode(), p.output)
	require.Contains(t, p.output.String(), "interrupted")
	require.FileExists(t, filepath.Join(p.dir, "results/latest/report.html"))
	require.Empty(t, p.servers())
	left, err := filepath.Glob(filepath.Join(p.dir, "doublegrant-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestCtrlCWhileTheClusterStartsIsNoFailure(t *testing.T) {
	t.Parallel()
	p := start(t, "run", "sequence/incr", "--topology", "sentinel", "--duration", "1m")
	require.Eventually(t, func() bool { return len(p.servers()) > 0 }, 10*time.Second, time.Millisecond)
	require.NoError(t, p.Process.Signal(os.Interrupt))
	require.Equal(t, cli.ExitUnknown, p.exitCode(), p.output)
	require.Contains(t, p.output.String(), "interrupt")
	require.Empty(t, p.servers())
}

func TestAKilledHarnessTakesEveryRedisWithItAndLeavesAReadableHistory(t *testing.T) {
	t.Parallel()
	p := start(t, "run", "sequence/incr", "--topology", "sentinel", "--duration", "1m")
	p.awaitServers(6)
	p.awaitOperations()
	require.NoError(t, p.Process.Signal(syscall.SIGKILL))
	require.Equal(t, -1, p.exitCode())
	p.awaitServers(0)
	results, err := filepath.Glob(filepath.Join(p.dir, "results/2*"))
	require.NoError(t, err)
	require.Len(t, results, 1)
	out, errs, code := run(t, "check", filepath.Join(p.dir, "results/latest"))
	require.Equal(t, cli.ExitUnknown, code, errs)
	require.Contains(t, out, "the record stops before the run did")
}
