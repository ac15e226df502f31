package adapters_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/workloads"
)

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

// A lock that computes leases with time.time() is searched in the schedule's time. Schedule by schedule it gives the
// same results as that lock in Go, also if the second client's clock is ahead.
func TestLongAPreloadedClockIsTheSchedules(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	file, err := filepath.Abs("python/deadline_lock.py")
	require.NoError(t, err)
	for _, skew := range []time.Duration{0, 80 * time.Second} {
		s := search(t, client(t, python, file), func(s *explore.Spec) { noCrash(s); s.Skew = skew })
		inProcess := requireSameInProcess(t, s, func(r redis.UniversalClient) workloads.Locker { return deadlineLock{r} })
		require.True(t, inProcess.Exhausted, inProcess.Stopped)
		require.Equal(t, skew > 0, len(inProcess.Counterexamples) > 0, inProcess.Summary())
	}
}

// Do not use this lock: in a search with three clients its release deletes another owner's key.
func TestLongADeadlineLockIsNoLockToUse(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	requireFound(t, client(t, python, "python/deadline_lock.py"), harness.StolenRelease, 1,
		func(s *explore.Spec) { noCrash(s); s.Clients, s.First = 3, true })
}

// Two comparisons by which an owner decides whether its lease lasts. inTime is right to the millisecond. With tooSoon
// the lease ends a millisecond early.
const (
	inTime  = "time.time() * 1000 <= int(held)"
	tooSoon = "time.time() * 1000 <= int(held) - 1"
)

// A lock that measures its lease by time.time() ends it in the right millisecond. If the lock ends it one millisecond
// early, the search finds that.
func TestADeadlineIsKeptToTheMillisecond(t *testing.T) {
	t.Parallel()
	few := func(s *explore.Spec) { noCrash(s); s.First, s.MaxSchedules = true, 100 }
	requireFound(t, comparing(t, tooSoon), harness.DoubleGrant, 1, few)
	_, res := runSearch(t, comparing(t, inTime), few)
	require.Empty(t, res.Counterexamples)
	require.Equal(t, 100, res.Schedules, res.Stopped)
}

func TestLongADeadlineMayHaveAFraction(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	requireHolds(t, comparing(t, inTime), noCrash)
}

// comparing returns the lock of python/deadline_lock.py with another comparison.
func comparing(t *testing.T, text string) workloads.Adapter {
	t.Helper()
	return client(t, python, withReplacement(t, "python/deadline_lock.py", "self.now() <= int(held)", text))
}

// withReplacement writes a copy of an adapter in Python with one text replaced. The copy can import the other adapters.
func withReplacement(t *testing.T, file, old, text string) string {
	t.Helper()
	folder, err := filepath.Abs(filepath.Dir(file))
	require.NoError(t, err)
	return withTexts(t, file, old, text, "import time", fmt.Sprintf("import sys, time; sys.path.insert(0, %q)", folder))
}

// drivingTest is a user's test that runs the lock of python/deadline_lock.py itself.
const drivingTest = `
import os, sys
from redis.exceptions import ConnectionError

from deadline_lock import DeadlineLock

lock = DeadlineLock(os.environ["REDIS_URL"], None)
me, ttl = os.environ["DOUBLEGRANT_CLIENT"], int(os.environ["DOUBLEGRANT_TTL_MS"])
say = lambda text: lock.redis.execute_command("ECHO", "dg " + text)
try:
    say("invoke acquire lock %d" % ttl)
    granted = lock.acquire("lock", me, ttl)
    say("return ok" if granted else "return no")
except ConnectionError:
    sys.exit(0)
`

// A test that drives itself is also searched in the schedule's time. The search finds a lease that ends a millisecond
// early, and nothing if the lease ends in time.
func TestLongADrivingTestInTheSchedulesTime(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	tool := python.interpreter(t)
	for text, class := range map[string]harness.Class{"self.now() <= int(held)": "", inTime: "",
		tooSoon: harness.DoubleGrant} {
		lock := withReplacement(t, "python/deadline_lock.py", "self.now() <= int(held)", text)
		file := filepath.Join(filepath.Dir(lock), "test_lock.py")
		require.NoError(t, os.WriteFile(file, []byte(drivingTest), 0o644))
		c := workloads.Adapter{As: workloads.Lock, Command: []string{tool, file}, Announces: true,
			Clock: workloads.PreloadedClock}
		few := func(s *explore.Spec) { noCrash(s); s.First, s.MaxSchedules = true, 10 } // each starts two interpreters
		if class != "" {
			// Time passes to more than ten instants.
			requireFound(t, c, class, 1, func(s *explore.Spec) { few(s); s.MaxSchedules = 60 })
			continue
		}
		_, res := runSearch(t, c, few)
		require.Empty(t, res.Counterexamples)
		require.Equal(t, 10, res.Schedules, res.Stopped)
	}
}

// A lock that tries for a minute and sleeps in between takes no real time in a search.
func TestAPreloadedSleepTakesNoTime(t *testing.T) {
	t.Parallel()
	requireHolds(t, pythonClass(t, "Lock", `
    can, clock = ["acquire", "release"], "preloaded"

    def acquire(self, key, owner, ttl_ms):
        until = time.time() + 60
        while time.time() < until:
            if super().acquire(key, owner, ttl_ms):
                return True
            time.sleep(20)
        return False
`), races)
}

// withTexts writes a copy of an adapter with other texts, given as pairs of old and new. Each old text is there once.
func withTexts(t *testing.T, file string, pairs ...string) string {
	t.Helper()
	source, err := os.ReadFile(file)
	require.NoError(t, err)
	text := string(source)
	for i := 0; i < len(pairs); i += 2 {
		require.Equal(t, 1, strings.Count(text, pairs[i]), pairs[i])
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	path := filepath.Join(t.TempDir(), filepath.Base(file))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// A lock in Ruby sleeps after a refusal until the owner's lease is over, and tries again. In a search that sleep takes
// no real time.
func TestLongASleepInRubyTakesNoTime(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	file := withTexts(t, "ruby/lock.rb", "CLOCK = 'asked'", "CLOCK = 'preloaded'", "def acquire(r)", `def acquire(r)
    try(r) || (sleep(r['ttl_ms'] / 1000.0 + 1) && try(r))
  end

  def try(r)`)
	requireHolds(t, client(t, ruby, file), races) // a sleep is longer than a search waits for a step
}

// A search refuses timers of an event loop, with a one-line reason: the schedule cannot decide whether a timer or an
// answer comes first.
func TestLongATimerOfAnEventLoopIsRefused(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	file := withTexts(t, "javascript/lock.js", "can: Lock.can, symmetric: true",
		"can: Lock.can, symmetric: true, clock: 'preloaded'",
		"  async acquire (", `  async acquire (r) {
    await new Promise(resolve => setTimeout(resolve, 50))
    return this.try(r)
  }

  async try (`)
	requireStopped(t, client(t, node, file),
		regexp.QuoteMeta("it waits for a timer of its event loop (setTimeout, asyncio.sleep), which a preloaded "+
			"clock cannot answer"), races)
}

// A search in which time passes refuses a program that reads the machine's clock.
func TestARealClockIsRefusedWhereTimePasses(t *testing.T) {
	t.Parallel()
	file := withReplacement(t, "python/deadline_lock.py", `clock = "preloaded"`, `clock = "real"`)
	c := client(t, python, file)
	require.Equal(t, workloads.RealClock, c.Clock)
	_, err := explore.Search(t.Context(), search(t, c, func(*explore.Spec) {}))
	require.ErrorIs(t, err, explore.ErrSpec)
	require.ErrorContains(t, err, "reads the machine's clock")
	_, res := runSearch(t, c, bounds(1, -1, -1))
	require.Empty(t, res.Counterexamples, "its lock stands after a crash, by a clock that has not moved")
	require.Contains(t, strings.Join(res.Limits, " "), "it was not checked whether everything is free in the end")
}
