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

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/outside"
	"github.com/doublegrant/doublegrant/workloads"
)

// language says how programs of a language are started, and how to see that its Redis client is there.
type language struct {
	commands []string // interpreters; the first that has the Redis client is taken
	probe    []string // arguments with which the interpreter says by its exit code whether it has
	packages string   // Debian packages that it needs
}

var (
	python = language{[]string{"python3", "/usr/bin/python3"}, []string{"-c", "import redis"}, "python3-redis"}
	rq     = language{python.commands, []string{"-c", "import rq"}, "python3-rq"}
	node   = language{[]string{"node", "nodejs"}, []string{"-e", "require('redis')"}, "nodejs node-redis"}
	php    = language{[]string{"php"}, []string{"-r", "exit(extension_loaded('redis') ? 0 : 1);"}, "php-cli php-redis"}
	ruby   = language{[]string{"ruby"}, []string{"-e", "require 'redis'"}, "ruby ruby-redis"}

	symfony = language{php.commands, []string{"-r", "require 'Symfony/Component/Lock/autoload.php'; exit(extension_loaded('redis') ? 0 : 1);"},
		"php-cli php-redis php-symfony-lock"}
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

// client is an adapter as it is run, with what its program says that it can do.
func client(t *testing.T, l language, file string, args ...string) workloads.Client {
	t.Helper()
	c := workloads.Client{Command: append([]string{l.interpreter(t), file}, args...)}
	s := cluster.Standalone(cluster.Options{})
	clustertest.Start(t, s)
	r, err := s.Connect(0)
	require.NoError(t, err)
	c, err = outside.Describe(t.Context(), c, r)
	require.NoError(t, err)
	return c
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
		Program: p, Checkers: checkers.ForSearch(p.Kinds...), Clients: 2, Crashes: 1, Expiries: 1, LostAnswers: -1, For: time.Minute, Workers: 1,
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
	{python, "python/lock.py", 100}, {node, "javascript/lock.js", 100}, {php, "php/lock.php", 10}, {ruby, "ruby/lock.rb", 10},
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
	require.Equal(t, 1, strings.Count(string(text), rightRelease), "one place to plant it")
	path := filepath.Join(t.TempDir(), filepath.Base(file))
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), rightRelease, blindRelease, 1)), 0o644))
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

// Libraries as they come show the flaws that README.md declares, and no others.
func TestLibrariesAsTheyCome(t *testing.T) {
	t.Parallel()
	quiet := func(s *explore.Spec) { s.Crashes, s.Expiries = -1, -1 } // clients that race, and nothing else
	for _, c := range []struct {
		language language
		command  []string
		change   func(*explore.Spec)
		class    harness.Class // empty: none
		steps    int           // of the smallest counterexample, at most
	}{
		{python, []string{"python/redis_py_lock.py"}, func(*explore.Spec) {}, "", 0},
		{python, []string{"python/redis_py_lock.py", "timeout=0"}, quiet, harness.DoubleGrant, 4},
		{rq, []string{"python/rq_scheduler.py"}, func(s *explore.Spec) { s.Clients, s.Crashes, s.First = 3, -1, true }, harness.DoubleGrant, 8},
		{rq, []string{"python/rq_scheduler.py", "two-queues"}, func(s *explore.Spec) { quiet(s); s.Clients, s.First = 3, true }, harness.DoubleGrant, 8},
		{symfony, []string{"php/symfony_lock.php"}, func(s *explore.Spec) { s.MaxSchedules = 300 }, "", 0}, // all of them take minutes
	} {
		t.Run(strings.Join(c.command, " "), func(t *testing.T) {
			t.Parallel()
			s := search(t, client(t, c.language, c.command[0], c.command[1:]...), c.change)
			res, err := explore.Search(t.Context(), s)
			require.NoError(t, err)
			t.Logf("%s: %d schedules, %.0f a second", res.Summary(), res.Schedules, float64(res.Schedules)/res.Elapsed.Seconds())
			if c.class == "" {
				require.Empty(t, res.Found)
				require.True(t, res.Exhausted || res.Schedules == s.MaxSchedules, res.Stopped)
				return
			}
			require.Equal(t, harness.Invalid, res.Verdict(), res.Stopped)
			require.Equal(t, c.class, res.Found[0].Anomaly.Class)
			require.LessOrEqual(t, res.Found[0].Length(), c.steps)
			require.NoError(t, explore.Replay(t.Context(), s, res.Found[0], 5))
		})
	}
}
