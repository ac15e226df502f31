package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
)

func TestABadClientIsOneLineWithTheRemedy(t *testing.T) {
	for want, args := range map[string][]string{
		`"no-such-program" cannot be started`:               {"explore", "--", "no-such-program"},
		"want one of ok, fail, info and ask":                {"run", "--client", "cat"},
		"it ended (exit status 0)":                          {"explore", "--client", "true"},
		"it ended (exit status 1)":                          {"compare", "lock/set-nx-px", "--", "false"},
		"is not a family of clients":                        {"explore", "--as", "queue", "--", "true"},
		"by --client and after --":                          {"explore", "--client", "true", "--", "false"},
		"no program after --":                               {"explore", "--"},
		"are about Lua, and true is a program":              {"explore", "--keys", "k", "--", "true"},
		"--client: a quote or backslash at its end is open": {"explore", "--client", "python3 'x"},
		"no program given":                                  {"client", "check"},
		"nobody listens on unix:/no/such: start":            {"explore", "--connect", "unix:/no/such"},
		"give unix: and the path of the socket":             {"run", "--connect", "/no/such"},
		"both a command (true) and where to connect":        {"explore", "--connect", "unix:/a", "--", "true"},
		"are about a program in another language":           {"run", "lock/set-nx-px", "--processes", "2"},
		"-1 processes: ask for 1 or more":                   {"run", "--client", "true", "--processes", "-1"},
		"says its clock itself":                             {"explore", "--clock", "preloaded", "--", "true"},
		`clock "sundial": choose one of`:                    {"explore", "--announces", "--clock", "sundial", "--as", "lock", "--", "true"},
		"so say what it is":                                 {"explore", "--announces", "--", "true"},
		"drives itself, so it can be explored":              {"run", "--announces", "--as", "lock", "--client", "true"},
		"there is doublegrant client check -- COMMAND":      {"client", "chekc"},
	} {
		out, errs, code := run(t, args...)
		require.Equal(t, cli.ExitUsage, code, errs)
		require.Empty(t, out)
		require.Contains(t, errs, want)
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
	}
}

func TestClientCheckSaysWhatIsWrong(t *testing.T) {
	out, errs, code := run(t, "client", "check", "--", "echo", "hello")
	require.Equal(t, cli.ExitInvalid, code, errs)
	require.Contains(t, out, `WRONG  init: `)
	require.Contains(t, out, `it wrote "hello", which is not a line of the protocol`)
	out, errs, code = run(t, "client", "check", "-o", "json", "--", "echo", "hello")
	require.Equal(t, cli.ExitInvalid, code, errs)
	require.Contains(t, out, `"wrong": true`)
}

// pythonWithRedis returns an interpreter that has redis-py. Without one it skips the test, or fails it where clients are required.
func pythonWithRedis(t *testing.T) string {
	t.Helper()
	const python = "/usr/bin/python3"
	if exec.Command(python, "-c", "import redis").Run() != nil {
		require.Empty(t, os.Getenv("DOUBLEGRANT_REQUIRE_CLIENTS"), python+" has no redis: make clients installs it")
		t.Skip(python + " has no redis: install python3-redis")
	}
	return python
}

// A lock on several masters runs where it has them, and is refused elsewhere.
func TestARedlockInPython(t *testing.T) {
	if !alone(t) {
		return
	}
	python := pythonWithRedis(t)
	lock, err := filepath.Abs("../../workloads/clients/python/redlock.py")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	out, errs, code := run(t, "client", "check", "--", python, lock)
	require.Equal(t, cli.ExitMet, code, out+errs)
	require.Contains(t, out, "so it is a lock on 3 masters or more")
	require.Contains(t, out, "next: doublegrant run --topology masters:5 -- ")
	run3s := []string{"run", "--duration", "3s", "--clients", "20", "--rate", "400", "--pacing", "closed", "--", python, lock}
	out, errs, code = run(t, run3s...)
	require.NotEqual(t, cli.ExitFailed, code, errs)
	require.Contains(t, out, "no two certain holds overlap", errs)
	require.Contains(t, file(t, "results/latest/plan.yaml"), "topology: masters:5")
	out, errs, code = run(t, append(run3s, "two")...)
	require.Equal(t, cli.ExitInvalid, code, errs)
	require.Contains(t, out, "double-grant")

	for want, args := range map[string][]string{
		"needs 3 masters or more: use --topology masters:5":                {"run", "--topology", "sentinel", "--", python, lock},
		"cannot be explored: it needs 3 masters, and the explorer has one": {"explore", "--", python, lock},
	} {
		_, errs, code := run(t, args...)
		require.Equal(t, cli.ExitUsage, code)
		require.Contains(t, errs, want)
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
	}
}

// A lock in Python goes the way of the README: checked, explored, under load, and replayed where it is broken.
func TestALockInPython(t *testing.T) {
	if !alone(t) {
		return
	}
	python := pythonWithRedis(t)
	lock, err := filepath.Abs("../../workloads/clients/python/redis_py_lock.py")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	out, errs, code := run(t, "client", "check", "--", python, lock)
	require.Equal(t, cli.ExitMet, code, out+errs)
	require.Contains(t, out, "next: doublegrant explore -- ")
	out, errs, code = run(t, "explore", "--clients", "2", "--crashes", "0", "--expiries", "0", "--", python, lock, "timeout=0")
	require.Equal(t, cli.ExitInvalid, code, errs)
	require.Contains(t, out, "double-grant in 3 steps")
	found, err := filepath.Glob("results/latest/anomalies/*double-grant.json")
	require.NoError(t, err)
	require.Len(t, found, 1)
	out, errs, code = run(t, "explore", "--replay", found[0], "--times", "20")
	require.Equal(t, cli.ExitInvalid, code, errs)
	require.Contains(t, out, "the same 20 of 20 times")
	out, errs, code = run(t, "run", "--client", python+" "+lock, "--duration", "1s", "--clients", "10")
	require.NotEqual(t, cli.ExitUsage, code, errs)
	require.Contains(t, out, "no two certain holds overlap", errs)
}
