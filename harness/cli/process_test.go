package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/docker"
)

// asCommand is an environment variable that turns the test binary into the doublegrant command. As a process of its
// own, a command has its own folder, environment, limits and signals.
const asCommand = "DOUBLEGRANT_TEST_AS_COMMAND"

// source is the folder of this package's source, and clients that of programs in Python.
var source, clients string

// TestMain runs the tests in an empty folder, and fails if they leave a file there: no user asked for it.
func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	if docker.Watchdog() {
		return
	}
	_ = os.Unsetenv("GITHUB_ACTIONS") // where these tests run there, their results are not the job's
	os.Exit(inAnEmptyFolder(m))
}

func inAnEmptyFolder(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "cli-test-")
	if err == nil {
		defer os.RemoveAll(dir)
		source, err = os.Getwd()
		cli.Source = source
	}
	if err == nil {
		clients = filepath.Join(source, "../../workloads/adapters/python")
		err = os.Chdir(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shareClocks()()
	code = m.Run()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		fmt.Fprintln(os.Stderr, "tests have written into their working folder:", left, err)
		return 1
	}
	return code
}

// shareClocks compiles the library that sets clocks once, for all commands. Without a compiler it does nothing, and the
// commands report that themselves.
func shareClocks() (remove func()) {
	library, err := cluster.CompileClocks(context.Background())
	if err != nil {
		return func() {}
	}
	dir, err := os.MkdirTemp("", "cli-test-clocks-")
	path := filepath.Join(dir, "clock.so")
	if err == nil {
		err = errors.Join(os.WriteFile(path, library, 0o755), os.Setenv(cluster.ClockLibraryEnv, path))
	}
	if err != nil {
		panic(err)
	}
	return func() { _ = os.RemoveAll(dir) }
}

// run runs a command line in this process, and returns its output and exit code. It suits commands that need no folder
// or environment of their own.
func run(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = cli.Main(args, &o, &e)
	return o.String(), e.String(), code
}

// ends runs a command line in this process, and requires its exit code.
func ends(t *testing.T, code int, args ...string) (out, errs string) {
	t.Helper()
	out, errs, is := run(t, args...)
	require.Equal(t, code, is, "%s%s", out, errs)
	return out, errs
}

// place is a folder and an environment for doublegrant.
type place struct {
	*testing.T
	dir string
	env []string
}

// newPlace returns a new folder, and this process's environment with more, such as NAME=value.
func newPlace(t *testing.T, more ...string) place {
	t.Helper()
	dir := t.TempDir()
	return place{t, dir, append(append(os.Environ(), asCommand+"=1", "TMPDIR="+dir), more...)}
}

// newShortPlace returns a place with a short path, since the paths of sockets in it have to be short.
func newShortPlace(t *testing.T, more ...string) place {
	t.Helper()
	dir, err := os.MkdirTemp("", "cli-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := newPlace(t, append(more, "TMPDIR="+dir)...)
	p.dir = filepath.Join(dir, "mylock")
	require.NoError(t, os.Mkdir(p.dir, 0o755))
	return p
}

// withLibraries returns a place where libraries of other languages seem to be installed. Asking an interpreter for each
// takes most of doctor's time.
func (p place) withLibraries() place {
	bin := filepath.Dir(p.write("bin/python3", "#!/bin/sh\n"))
	require.NoError(p, os.Symlink("python3", filepath.Join(bin, "php")))
	require.NoError(p, os.Chmod(filepath.Join(bin, "python3"), 0o700))
	p.env = append(slices.Clip(p.env), "PATH="+bin+":"+os.Getenv("PATH"))
	return p
}

// command runs doublegrant there, to its end.
func (p place) command(args ...string) (out, errs string, code int) {
	p.Helper()
	var o, e bytes.Buffer
	cmd := exec.CommandContext(p.Context(), os.Args[0], args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, p.env, &o, &e
	if err := cmd.Run(); cmd.ProcessState == nil {
		require.NoError(p, err)
	}
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// ends runs doublegrant there, and requires its exit code.
func (p place) ends(code int, args ...string) (out, errs string) {
	p.Helper()
	out, errs, is := p.command(args...)
	require.Equal(p, code, is, "%s%s", out, errs)
	return out, errs
}

// folders returns the temporary folders that doublegrant has there.
func (p place) folders() []string {
	p.Helper()
	all, err := filepath.Glob(filepath.Join(p.dir, "doublegrant-*"))
	require.NoError(p, err)
	return all
}

// write writes a file there, and returns its path.
func (p place) write(name, text string) (path string) {
	p.Helper()
	path = filepath.Join(p.dir, name)
	require.NoError(p, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(p, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// start starts doublegrant there.
func (p place) start(args ...string) process { return p.startAs(exec.Command(os.Args[0], args...)) }

// startAs starts doublegrant there by a command, such as a shell, that runs the test binary.
func (p place) startAs(cmd *exec.Cmd) process {
	p.Helper()
	started := process{place: p, Cmd: cmd, output: &output{}}
	cmd.Dir, cmd.Env = p.dir, p.env
	cmd.Stdout, cmd.Stderr = started.output, started.output
	require.NoError(p, cmd.Start())
	p.Cleanup(func() { _ = cmd.Process.Kill() }) // of what the test left running
	return started
}

// start starts doublegrant in a place of its own.
func start(t *testing.T, args ...string) process {
	t.Helper()
	return newPlace(t).start(args...)
}

// process is a doublegrant under way.
type process struct {
	place
	*exec.Cmd
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

// started returns the pids of processes that the process has started to run a command of doublegrant.
func (p process) started(command string) (pids []int) {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.Process.Pid))
	require.NoError(p, err)
	for _, list := range lists {
		text, _ := os.ReadFile(list) // the thread may have ended
		for _, child := range strings.Fields(string(text)) {
			words, _ := os.ReadFile(filepath.Join("/proc", child, "cmdline"))
			if strings.Contains(string(words), "\x00"+command+"\x00") {
				pid, err := strconv.Atoi(child)
				require.NoError(p, err)
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// alive reports whether a process runs. A zombie does not count.
func alive(pid int) bool {
	_, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil
}

func (p process) awaitServers(n int) {
	p.Helper()
	p.await(func() bool { return len(p.servers()) == n }, "%d servers", n)
}

// awaitOperations waits until the history has some.
func (p process) awaitOperations() {
	p.Helper()
	p.awaitRecord("results/*/history/ops-000001.seg", 1000)
}

// awaitRecord waits until a file in the process's folder is longer than so many bytes.
func (p process) awaitRecord(pattern string, longer int64) {
	p.Helper()
	p.await(func() bool {
		files, err := filepath.Glob(filepath.Join(p.dir, pattern))
		require.NoError(p, err)
		for _, f := range files {
			if info, err := os.Stat(f); err == nil && info.Size() > longer {
				return true
			}
		}
		return false
	}, "%s", pattern)
}

// hang bounds every wait of a test, to guard against hanging. The waits take seconds, and longer on a busy machine.
const hang = 3 * time.Minute

// await waits for a condition.
func (p process) await(met func() bool, what string, args ...any) {
	p.Helper()
	require.Eventuallyf(p, met, hang, 10*time.Millisecond, "awaiting "+what+": %s", append(args, p.output)...)
}

func (p process) exitCode() int {
	p.Helper()
	_ = p.Wait() // the code says it all
	return p.ProcessState.ExitCode()
}
