// Package clients_test puts the adapters of this folder under test: each correct lock is exhausted, each planted one is found, and each
// library shows what the table in README.md declares.
package clients_test

import (
	"context"
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

// deadlineLock does in Go what python/deadline_lock.py does.
type deadlineLock struct{ redis redis.UniversalClient }

func (l deadlineLock) Acquire(ctx context.Context, key, _ string, ttl time.Duration) (bool, error) {
	deadline := func() int64 { return harness.Now(ctx).UnixMilli() + ttl.Milliseconds() }
	if ok, err := l.redis.SetNX(ctx, key, deadline(), 0).Result(); err != nil || ok {
		return ok, err
	}
	held, err := l.redis.Get(ctx, key).Int64()
	if err == redis.Nil {
		return false, nil
	}
	if err != nil || harness.Now(ctx).UnixMilli() <= held {
		return false, err
	}
	old, err := l.redis.GetSet(ctx, key, deadline()).Int64()
	if err == redis.Nil {
		return false, nil
	}
	return err == nil && old == held, err
}

func (l deadlineLock) Release(ctx context.Context, key, _ string) (bool, error) {
	return true, l.redis.Del(ctx, key).Err()
}

// A lock that reckons leases by time.time() is searched in the schedule's time. It shows what the same lock shows in Go, schedule by
// schedule, also where the second client's clock is ahead.
func TestAPreloadedClockIsTheSchedules(t *testing.T) {
	t.Parallel()
	file, err := filepath.Abs("python/deadline_lock.py")
	require.NoError(t, err)
	for _, skew := range []time.Duration{0, 80 * time.Second} {
		s := search(t, client(t, python, file), func(s *explore.Spec) { s.Crashes, s.Skew = -1, skew })
		res, err := explore.Search(t.Context(), s)
		require.NoError(t, err)
		require.True(t, res.Exhausted, res.Stopped)
		s.Program = workloads.LockProgram(workloads.LockOptions{TTL: 70 * time.Second}, func(r redis.UniversalClient) workloads.Locker { return deadlineLock{r} })
		s.Program.Symmetric, s.Program.NoBackgroundWork, s.Unremembered = true, true, true
		inside, err := explore.Search(t.Context(), s)
		require.NoError(t, err)
		require.Equal(t, skew > 0, len(inside.Found) > 0, inside.Summary())
		require.Equal(t, [2]int{inside.Schedules, inside.Pruned}, [2]int{res.Schedules, res.Pruned})
		require.Len(t, res.Found, len(inside.Found))
		for i, found := range res.Found {
			require.Equal(t, inside.Found[i].Anomaly.Class, found.Anomaly.Class)
			require.Equal(t, inside.Found[i].Schedule, found.Schedule)
		}
	}
}

// It is no lock to use: three clients show that its release deletes whatever is there.
func TestADeadlineLockIsNoLockToUse(t *testing.T) {
	t.Parallel()
	res, err := explore.Search(t.Context(), search(t, client(t, python, "python/deadline_lock.py"), func(s *explore.Spec) {
		s.Clients, s.Crashes, s.First, s.For = 3, -1, true, 5*time.Minute
	}))
	require.NoError(t, err)
	require.Len(t, res.Found, 1, res.Stopped)
}

// The same lock is found out that compares its deadline with a fraction of a millisecond: its lease ends too early.
func TestADeadlineIsComparedInWholeMilliseconds(t *testing.T) {
	t.Parallel()
	file := changed(t, "python/deadline_lock.py", "self.now() <= int(held)", "time.time() * 1000 <= int(held)")
	res, err := explore.Search(t.Context(), search(t, client(t, python, file), func(s *explore.Spec) { s.Crashes, s.First = -1, true }))
	require.NoError(t, err)
	require.Len(t, res.Found, 1, res.Stopped)
	require.Equal(t, harness.DoubleGrant, res.Found[0].Anomaly.Class)
}

// changed writes a copy of an adapter in Python with another text in one place. It finds the adapters that it imports.
func changed(t *testing.T, file, old, text string) string {
	t.Helper()
	source, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(source), old))
	folder, err := filepath.Abs(filepath.Dir(file))
	require.NoError(t, err)
	copied := strings.Replace(string(source), old, text, 1)
	copied = strings.Replace(copied, "import time", fmt.Sprintf("import sys, time; sys.path.insert(0, %q)", folder), 1)
	path := filepath.Join(t.TempDir(), filepath.Base(file))
	require.NoError(t, os.WriteFile(path, []byte(copied), 0o644))
	return path
}

// waitingLock is a lock in Python that waits by the machine's clock, for longer than a search waits for a step.
const waitingLock = `
import sys, time
sys.path.insert(0, %q)
from lock import Lock, main

class WaitingLock(Lock):
    can, clock = ["acquire", "release"], "preloaded"

    def acquire(self, key, owner, ttl_ms):
        until = time.time() + 60
        while time.time() < until:
            if super().acquire(key, owner, ttl_ms):
                return True
            time.sleep(20)
        return False

main(WaitingLock)
`

// A lock that sleeps sleeps in the schedule's time.
func TestAPreloadedSleepTakesNoTime(t *testing.T) {
	t.Parallel()
	folder, err := filepath.Abs("python")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "waiting.py")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, waitingLock, folder), 0o644))
	res, err := explore.Search(t.Context(), search(t, client(t, python, file), func(s *explore.Spec) { s.Crashes, s.Expiries = -1, -1 }))
	require.NoError(t, err)
	require.Equal(t, harness.Valid, res.Verdict(), res.Stopped)
}

// A program that reads the machine's clock is not searched where time passes.
func TestARealClockIsRefusedWhereTimePasses(t *testing.T) {
	t.Parallel()
	file := changed(t, "python/deadline_lock.py", `clock = "preloaded"`, `clock = "real"`)
	c := client(t, python, file)
	require.Equal(t, workloads.RealClock, c.Clock)
	_, err := explore.Search(t.Context(), search(t, c, func(*explore.Spec) {}))
	require.ErrorIs(t, err, explore.ErrSpec)
	require.ErrorContains(t, err, "reads the machine's clock")
	res, err := explore.Search(t.Context(), search(t, c, func(s *explore.Spec) { s.Expiries = -1 }))
	require.NoError(t, err)
	require.Empty(t, res.Found, "its lock stands after a crash, by a clock that has not moved")
	require.Contains(t, strings.Join(res.Limits, " "), "nobody looked whether all is free in the end")
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
