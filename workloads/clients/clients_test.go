// Package clients_test puts the adapters of this folder under test: each correct lock is exhausted, each planted one is found, and each
// library shows what the table in README.md declares.
package clients_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/outside"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/workloads"
)

// language says how programs of a language are started, and how to see that its Redis client is there.
type language struct {
	commands []string // interpreters; the first that has the Redis client is taken
	probe    []string // arguments with which the interpreter says by its exit code whether it has
	packages string   // Debian packages that it needs
	compiled bool     // commands are compilers: what they make is run
}

var (
	python = language{[]string{"python3", "/usr/bin/python3"}, []string{"-c", "import redis"}, "python3-redis", false}
	node   = language{[]string{"node", "nodejs"}, []string{"-e", "require('redis')"}, "nodejs node-redis", false}
	php    = language{[]string{"php"}, []string{"-r", "exit(extension_loaded('redis') ? 0 : 1);"}, "php-cli php-redis", false}
	ruby   = language{[]string{"ruby"}, []string{"-e", "require 'redis'"}, "ruby ruby-redis", false}
	c      = language{[]string{"gcc", "cc"}, []string{"-E", "-include", "hiredis/hiredis.h", "-x", "c", "/dev/null"}, "gcc libc6-dev libhiredis-dev", true}
)

// requireAll makes a missing interpreter a failure: CI sets it.
const requireAll = "DOUBLEGRANT_REQUIRE_CLIENTS"

// TestMain lets Node find the Redis client of its Debian package.
func TestMain(m *testing.M) {
	_ = os.Setenv("NODE_PATH", "/usr/share/nodejs"+string(filepath.ListSeparator)+os.Getenv("NODE_PATH"))
	os.Exit(m.Run())
}

// interpreter returns a language's interpreter. Where there is none with a Redis client the test is skipped, or fails in CI.
func (l language) interpreter(t testing.TB) string {
	t.Helper()
	for _, name := range l.commands {
		if exec.Command(name, l.probe...).Run() == nil {
			return name
		}
	}
	missing := fmt.Sprintf("%s cannot run %q: install %s", strings.Join(l.commands, " and "), l.probe, l.packages)
	if os.Getenv(requireAll) != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// command returns the command that runs a file.
func (l language) command(t testing.TB, file string) []string {
	t.Helper()
	tool := l.interpreter(t)
	if !l.compiled {
		return []string{tool, file}
	}
	binary := filepath.Join(t.TempDir(), "lock")
	out, err := exec.Command(tool, "-Wall", "-Wextra", "-Werror", "-o", binary, file, "-lhiredis").CombinedOutput()
	require.NoError(t, err, string(out))
	return []string{binary}
}

// client is an adapter as it is run, with what its program says that it can do.
func client(t *testing.T, l language, file string, args ...string) workloads.Client {
	t.Helper()
	c := workloads.Client{Command: append(l.command(t, file), args...)}
	s := cluster.Standalone(cluster.Options{})
	clustertest.Start(t, s)
	r, err := s.Connect(0)
	require.NoError(t, err)
	c, err = outside.Describe(t.Context(), c, only(r))
	require.NoError(t, err)
	return c
}

// only returns servers of which there is one.
func only(r redis.UniversalClient) outside.Servers {
	return func(int) ([]redis.UniversalClient, error) { return []redis.UniversalClient{r}, nil }
}

// search returns the search of a client.
func search(t *testing.T, c workloads.Client, change func(*explore.Spec)) explore.Spec {
	t.Helper()
	v, err := outside.Variant(c)
	require.NoError(t, err)
	t.Cleanup(v.Close)
	p, ok := v.Program(workloads.Options{TTL: 70 * time.Second})
	require.True(t, ok)
	s := explore.Spec{
		Program: p, Checkers: checkers.ForSearch(p.Kinds...), Clients: 2, Crashes: 1, Expiries: 1, LostAnswers: -1, For: 5 * time.Minute, Workers: 1,
	}
	change(&s)
	return s
}

// adapters lists the adapters of locks.
var adapters = []struct {
	language language
	file     string
	replays  int // of its counterexample
}{
	{python, "python/lock.py", 100}, {node, "javascript/lock.js", 100}, {php, "php/lock.php", 10}, {ruby, "ruby/lock.rb", 10}, {c, "c/lock.c", 10},
}

// The texts of every adapter's release, right and blind.
const (
	rightRelease = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`
	blindRelease = `return redis.call("del", KEYS[1])`
)

// planted writes a copy of an adapter whose release deletes the lock whoever has it.
func planted(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	right, blind := rightRelease, blindRelease
	if filepath.Ext(file) == ".c" {
		right, blind = strings.ReplaceAll(right, `"`, `\"`), strings.ReplaceAll(blind, `"`, `\"`)
	}
	require.Equal(t, 1, strings.Count(string(text), right), "one place to plant it")
	path := filepath.Join(t.TempDir(), filepath.Base(file))
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), right, blind, 1)), 0o644))
	return path
}

// The lock of every adapter is exhausted without a violation, by the same schedules in each language.
func TestEveryAdaptersLockHolds(t *testing.T) {
	t.Parallel()
	for _, a := range adapters {
		t.Run(a.file, func(t *testing.T) {
			t.Parallel()
			res, err := explore.Search(t.Context(), search(t, client(t, a.language, a.file), func(*explore.Spec) {}))
			require.NoError(t, err)
			require.Equal(t, harness.Valid, res.Verdict(), res.Stopped)
			t.Logf("%d schedules, %.0f a second", res.Schedules, float64(res.Schedules)/res.Elapsed.Seconds())
		})
	}
}

// A blind DEL that is planted in an adapter is found, and its schedule is the same each time.
func TestEveryAdaptersPlantedReleaseIsFound(t *testing.T) {
	t.Parallel()
	for _, a := range adapters {
		t.Run(a.file, func(t *testing.T) {
			t.Parallel()
			s := search(t, client(t, a.language, planted(t, a.file)), func(s *explore.Spec) { s.Crashes, s.Expiries, s.LostAnswers, s.First = -1, -1, 1, true })
			res, err := explore.Search(t.Context(), s)
			require.NoError(t, err)
			require.Len(t, res.Found, 1, res.Stopped)
			require.Equal(t, harness.DoubleGrant, res.Found[0].Anomaly.Class)
			require.NoError(t, explore.Replay(t.Context(), s, res.Found[0], a.replays))
		})
	}
}

// The filter and the generator in Python hold.
func TestTheOtherFamiliesHold(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"python/dedup.py", "python/sequence.py"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			res, err := explore.Search(t.Context(), search(t, client(t, python, file), func(*explore.Spec) {}))
			require.NoError(t, err)
			require.Equal(t, harness.Valid, res.Verdict(), res.Stopped)
		})
	}
}

// twoConnections is a lock in Python that reads a key by a thread and a connection of its own, while it acquires.
const twoConnections = `
import sys, threading, redis
sys.path.insert(0, %q)
from lock import Lock, main

class TwoConnections(Lock):
    def acquire(self, key, owner, ttl_ms):
        other = redis.Redis(connection_pool=self.redis.connection_pool)
        reader = threading.Thread(target=lambda: other.get("x"))
        reader.start()
        granted = super().acquire(key, owner, ttl_ms)
        reader.join()
        return granted

main(TwoConnections)
`

// besideAdapters writes a program in Python that imports the adapters there, from the folder for which its text has a verb.
func besideAdapters(t *testing.T, text string) (file string) {
	t.Helper()
	folder, err := filepath.Abs("python")
	require.NoError(t, err)
	file = filepath.Join(t.TempDir(), "own.py")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, text, folder), 0o644))
	return file
}

// The connections of a program outside are not explored beside each other: it is refused, with one line that says so.
func TestTwoConnectionsAtOnceAreRefused(t *testing.T) {
	t.Parallel()
	file := besideAdapters(t, twoConnections)
	res, err := explore.Search(t.Context(), search(t, client(t, python, file), func(*explore.Spec) {}))
	require.NoError(t, err)
	require.Equal(t, harness.Unknown, res.Verdict())
	require.Regexp(t, "has sent (get|set) on one connection while a command was under way on another|not do the same each time: .*: one command at a time", res.Stopped)
	require.NotContains(t, res.Stopped, "\n")
}

// Every library of the catalogue that is there shows the flaws that it declares, and no others, by its own code.
func TestLibrariesAsTheyCome(t *testing.T) {
	t.Parallel()
	for _, v := range workloads.Catalogue() {
		l, isLibrary := v.Library()
		if !isLibrary {
			continue
		}
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			language{l.Interpreters, l.Probe, l.Packages, false}.interpreter(t)
			s := plan.Search{Variant: v.ID, Clients: 2, Crashes: -1, LostAnswers: -1, For: time.Minute}
			switch v.ID {
			case "lib/redis-py-lock-endless":
				s.Crashes, s.Expiries = 1, -1
			case "lib/rq-scheduler-two-queues": // the second scheduler deletes what the first has, and the third takes it
				s.Clients, s.Expiries, s.First = 3, -1, true
			case "lib/rq-scheduler-lock":
				s.Clients, s.First = 3, true
			case "lib/symfony-lock": // all schedules take minutes
				s.Expiries, s.MaxSchedules = -1, 300
			}
			_, spec, err := s.Resolve("")
			require.NoError(t, err)
			res, err := explore.Search(t.Context(), spec)
			require.NoError(t, err)
			t.Logf("%s: %d schedules, %.0f a second", res.Summary(), res.Schedules, float64(res.Schedules)/res.Elapsed.Seconds())
			if want := s.Expectation(v); len(want.Must) > 0 {
				require.Equal(t, harness.Invalid, res.Verdict(), res.Stopped)
				require.True(t, want.Met(res), "%v", res.Summary())
				require.LessOrEqual(t, res.Found[0].Length(), 8)
				require.NoError(t, explore.Replay(t.Context(), spec, res.Found[0], 5))
				return
			}
			require.Empty(t, res.Found)
			require.True(t, res.Exhausted || res.Schedules == s.MaxSchedules, res.Stopped)
		})
	}
}

// redis-py's Lock(timeout=0) is lost within 4 steps: reacquire() deletes it, and returns True.
func TestALockWithoutAnEndIsLostInFourSteps(t *testing.T) {
	t.Parallel()
	python.interpreter(t)
	_, spec, err := plan.Search{Variant: "lib/redis-py-lock-endless", Clients: 2, Crashes: -1, Expiries: -1, LostAnswers: -1, For: time.Minute}.Resolve("")
	require.NoError(t, err)
	res, err := explore.Search(t.Context(), spec)
	require.NoError(t, err)
	require.Equal(t, harness.DoubleGrant, res.Found[0].Anomaly.Class, res.Stopped)
	require.LessOrEqual(t, res.Found[0].Length(), 4)
}
