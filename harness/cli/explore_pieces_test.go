package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/results"
)

// command runs a doublegrant of its own in dir, to its end.
func command(t *testing.T, dir string, args ...string) (out, errs string, code int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	var o, e output
	cmd.Dir, cmd.Env = dir, append(os.Environ(), asCommand+"=1", "TMPDIR="+dir)
	cmd.Stdout, cmd.Stderr = &o, &e
	_ = cmd.Run() // the code says it all
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// cameTo returns all of a search's result but times and texts that name the machine's folders.
func cameTo(t *testing.T, text string) (res interleave.Result) {
	t.Helper()
	var d struct {
		Result interleave.Result `json:"result"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &d), text)
	d.Result.First, d.Result.Elapsed = 0, 0
	return d.Result
}

func TestASavedSearchGoesOnToTheSame(t *testing.T) {
	t.Parallel()
	for i, search := range [][]string{
		{"explore", "lock/setnx-expire", "--clients", "2"},
		{"explore", "lock/setnx-expire"},
		{"explore", "lib/redislock", "--clients", "2", "--workers", "1"},
		{"explore", "lock/watch-multi", "--random", "300", "--clients", "5", "--seed", "3"},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if i > 0 {
				onlyLong(t)
			}
			dir, atRandom := t.TempDir(), slices.Contains(search, "--random")
			whole, errs, code := command(t, dir, append(search, "-o", "json")...)
			require.Less(t, code, cli.ExitFailed, errs)

			first := append(search, "--save", "saved")
			if !atRandom {
				first = append(first, "--max-schedules", "1")
			} else {
				first = append(first, "--for", "20ms")
			}
			out, errs, _ := command(t, dir, first...)
			require.Contains(t, out, "saved: saved; go on: doublegrant explore --resume saved", errs)
			for _, limit := range []string{"17", "64", "100"} {
				args := []string{"explore", "--resume", "saved", "--max-schedules", limit}
				if atRandom {
					args = []string{"explore", "--resume", "saved", "--for", limit + "ms"}
				}
				_, errs, code = command(t, dir, args...)
				require.Less(t, code, cli.ExitFailed, errs)
			}
			saved := filepath.Join(dir, "saved")
			before, err := results.ReadSearch(saved)
			require.NoError(t, err)

			killed := startAs(t, exec.Command(os.Args[0], "explore", "--resume", saved))
			require.Eventually(t, func() bool { return len(killed.servers()) > 0 }, 30*time.Second, time.Millisecond)
			require.NoError(t, killed.Process.Signal(syscall.SIGKILL))
			killed.exitCode()
			killed.awaitServers(0)
			after, err := results.ReadSearch(saved)
			require.NoError(t, err)
			require.GreaterOrEqual(t, after.Checkpoint.Schedules(), before.Checkpoint.Schedules(), "nothing that was written is lost")

			resumed, errs, _ := command(t, dir, "explore", "--resume", "saved", "-o", "json")
			require.Equal(t, cameTo(t, whole), cameTo(t, resumed), errs)
			again, errs, _ := command(t, dir, "explore", "--resume", "saved")
			require.Contains(t, again, "saved: saved; no work is left", errs)
		})
	}
}

// workersOf returns the worker processes of a process.
func (p process) workersOf() (pids []int) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(p, err)
	for _, path := range stats {
		text, _ := os.ReadFile(path)
		_, rest, _ := strings.Cut(string(text), ") ")
		words, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if f := strings.Fields(rest); len(f) > 1 && f[1] == fmt.Sprint(p.Process.Pid) && strings.HasSuffix(string(words), "\x00worker\x00") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestWorkersComeToTheSameThoughOneIsKilled(t *testing.T) {
	onlyLong(t)
	t.Parallel()
	const least = 10000
	search := []string{"explore", "lock/getset-deadline", "--clients", "2", "--crashes", "0", "--lost-answers", "1", "--unpruned", "-o", "json"}
	dir := t.TempDir()
	plain, errs, _ := command(t, dir, search...)
	one, errs1, _ := command(t, dir, append(search, "--workers", "1")...)
	require.Equal(t, cameTo(t, plain), cameTo(t, one), "where no states are compared the counts are those of a search that is not in pieces: %s%s", errs, errs1)
	require.Greater(t, cameTo(t, one).Schedules, least, "or it was one piece or two")

	p := startAs(t, exec.Command(os.Args[0], append(search, "--workers", "2", "--save", "saved")...))
	require.Eventually(t, func() bool { return len(p.workersOf()) == 2 && len(p.servers()) == 3 }, time.Minute, time.Millisecond, "%v", p.output)
	require.NoError(t, syscall.Kill(p.workersOf()[0], syscall.SIGKILL))
	require.Less(t, p.exitCode(), cli.ExitFailed, p.output)
	text := p.output.String()
	require.Equal(t, cameTo(t, one), cameTo(t, text[strings.Index(text, "{\n"):]))
	p.awaitServers(0)
}

// However many workers there are, a search of a script or of a program outside comes to the same. Each worker starts the program anew.
func TestWorkersComeToTheSameOfYourOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "take.lua"), []byte(take), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "give.lua"), []byte(give), 0o644))
	lock, err := filepath.Abs("../../workloads/clients/python/lock.py")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		search []string
		python bool // the search goes on with --client
		code   int
		least  int // schedules that the search has at least, so that it takes more than one piece
	}{
		"script": {
			[]string{"--script", "take.lua", "--as", "lock", "--release", "give.lua", "--args", "{owner}", "--args", "{ttl_ms}", "--lost-answers", "1"},
			false, cli.ExitInvalid, 2000,
		},
		"program": {[]string{"--as", "lock", "--clients", "2", "--expiries", "0"}, true, cli.ExitMet, 110},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			search := append([]string{"explore", "-o", "json"}, c.search...)
			if c.python {
				search = append(search, "--client", pythonWithRedis(t)+" "+lock)
			}
			var came []interleave.Result
			for _, workers := range []string{"1", "2"} {
				out, errs, code := command(t, dir, append(search, "--workers", workers)...)
				require.Equal(t, c.code, code, errs)
				came = append(came, cameTo(t, out))
			}
			require.Equal(t, came[0], came[1])
			require.Greater(t, came[0].Schedules, c.least, "or it was one piece")
		})
	}
}

func TestWorkersEndWithTheirParent(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{syscall.SIGKILL, os.Interrupt} {
		p := start(t, "explore", "lock/watch-multi", "--clients", "5", "--random", "100000", "--workers", "2")
		require.Eventually(t, func() bool { return len(p.workersOf()) == 2 && len(p.servers()) == 3 }, time.Minute, time.Millisecond, "%v", p.output)
		pids := p.workersOf()
		require.NoError(t, p.Process.Signal(signal))
		p.exitCode()
		p.awaitServers(0)
		for _, pid := range pids {
			require.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, 10*time.Second, time.Millisecond)
		}
	}
}

func TestFlagsOfPiecesThatDoNotGoTogether(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("foreign", []byte("x"), 0o644))
	for want, args := range map[string][]string{
		"--workers 0: ask for 1 to 8":                        {"explore", "lock/setnx", "--workers", "0"},
		"--workers 9: ask for 1 to 8":                        {"explore", "lock/setnx", "--workers", "9"},
		"are of one search":                                  {"explore", "--all", "--workers", "2"},
		"name it by --regime":                                {"explore", "sequence/string-compare", "--save", "x"},
		"--resume takes the variant from its file":           {"explore", "lock/setnx", "--resume", "x"},
		"(--for, --max-schedules): leave --clients out":      {"explore", "--resume", "x", "--clients", "2"},
		"x: the file of a search cannot be read: no such":    {"explore", "--resume", "x"},
		"foreign: it holds no search":                        {"explore", "--resume", "foreign"},
		"leave them out of a replay":                         {"explore", "--replay", "x", "--workers", "2"},
		"--save none/x: its folder cannot be written to: op": {"explore", "lock/setnx", "--save", "none/x"},
		"leave no work that could be counted: say how many":  {"explore", "lock/setnx", "--clients", "5", "--save", "x"},
		"no search on the standard input":                    {"worker"},
	} {
		_, errs, code := run(t, args...)
		require.Equal(t, cli.ExitUsage, code, "%v: %s", args, errs)
		require.Contains(t, errs, want)
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
	}
}
