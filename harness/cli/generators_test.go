package cli_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
)

// generatorsOf returns the processes that p has started to generate load.
func generatorsOf(p process) (pids []string) {
	for _, pid := range children(p, p.Process.Pid) {
		words, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
		if err == nil && strings.Contains(string(words), "\x00work\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// children returns the pids of the children of a process.
func children(p process, of int) []string {
	files, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(of), "task/*/children"))
	require.NoError(p, err)
	var all []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil {
			all = append(all, strings.Fields(string(text))...)
		}
	}
	return all
}

func TestARunByGeneratorsOfThisMachine(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	out, errs, code := p.command("run", "lock/set-nx-px-blind-del", "--generators", "2", "--clients", "20", "--rate", "1000", "--pacing", "closed",
		"--duration", "1m", "--stop-on-first")
	require.Equal(t, cli.ExitInvalid, code, out+errs)
	require.Contains(t, out, "clocks known to within")
	require.Contains(t, out, "as its documentation says")
	p.leavesNoFolder()
	again, errs, code := p.command("check", "results/latest")
	require.Equal(t, cli.ExitInvalid, code, again+errs)
}

// TestAGeneratorThatIsKilled leaves a record that is not whole, which proves nothing.
func TestAGeneratorThatIsKilled(t *testing.T) {
	t.Parallel()
	p := start(t, "run", "lock/set-nx-px", "--generators", "3", "--clients", "30", "--rate", "300", "--pacing", "closed", "--duration", "1m")
	p.awaitOperations()
	pids := generatorsOf(p)
	require.Len(t, pids, 3)
	pid, err := strconv.Atoi(pids[1])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.Equal(t, cli.ExitFailed, p.exitCode(), p.output)
	require.Regexp(t, `doublegrant: .*generator [123]`, p.output.String())
	require.NotContains(t, p.output.String(), "INVALID")
	for _, pid := range pids {
		require.NoDirExists(t, filepath.Join("/proc", pid))
	}
	require.FileExists(t, filepath.Join(p.dir, "results/latest/report.html"))
	require.Empty(t, p.servers())
}

// TestGeneratorsEndWithTheirCoordinator that is killed.
func TestGeneratorsEndWithTheirCoordinator(t *testing.T) {
	t.Parallel()
	p := start(t, "run", "lock/set-nx-px", "--generators", "2", "--clients", "20", "--rate", "200", "--pacing", "closed", "--duration", "1m")
	p.awaitOperations()
	pids := generatorsOf(p)
	require.Len(t, pids, 2)
	require.NoError(t, p.Process.Kill())
	p.exitCode()
	for _, pid := range pids {
		p.await(func() bool { return !exists(filepath.Join("/proc", pid, "exe")) }, "the end of process %s", pid)
	}
}

// TestGeneratorsThatJoin from elsewhere: the right ones do, and no file has their token.
func TestGeneratorsThatJoin(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	p := start(t, "run", "dedup/get-set", "--generators", "2", "--clients", "20", "--rate", "1000", "--pacing", "closed", "--duration", "3s", "--listen", "127.0.0.1", "--state", state)
	p.says("workers join by")
	url := joinURL.FindStringSubmatch(p.output.String())[1]
	token, err := os.ReadFile(filepath.Join(state, "token"))
	require.NoError(t, err)
	_, errs, code := newPlace(t).command("work", "--join", url)
	require.Equal(t, cli.ExitUsage, code, errs)
	require.Contains(t, errs, "refuses the token or credentials")
	var workers []process
	for range 2 {
		workers = append(workers, start(t, "work", "--join", url, "--token-file", filepath.Join(state, "token")))
	}
	p.says("generator 2 of 2")
	_, errs, code = newPlace(t).command("work", "--join", url, "--token-file", filepath.Join(state, "token"))
	require.Equal(t, cli.ExitUsage, code, errs)
	require.Contains(t, errs, "its 2 generators are there already")
	require.Equal(t, cli.ExitInvalid, p.exitCode(), p.output)
	for _, w := range append(workers, p) {
		if w.dir != p.dir {
			require.Equal(t, cli.ExitMet, w.exitCode(), w.output)
		}
		w.keepsSecret(strings.TrimSpace(string(token)))
	}
	require.NoDirExists(t, state, "nothing is left of it")
}

// exists reports whether there is such a file. That of a process which has ended and is not waited for is none.
func exists(path string) bool {
	_, err := os.Readlink(path)
	return err == nil
}
