package adapters_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/workloads"
)

// extendOrTake is a renewal that takes the lock if it is free: one of the two mistakes of RedLock.net issue 64. The
// other is that each answered renewal sets a new timer, which nothing stops.
const extendOrTake = `local is = redis.call("get", KEYS[1]) if is and is ~= ARGV[1] then return 0 end ` +
	`redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2]) return 1`

// A watchdog in a thread with a connection of its own is part of every schedule. The right one is searched completely.
func TestLongAWatchdogOfAnAdapterRacesWithTheRelease(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	requireHolds(t, client(t, python, "python/watchdog_lock.py"), races)
	const joins = "    def release(self, key, owner):\n        self.watchdog.stop(); self.watchdog.join()\n" +
		"        return Lock.release(self, key, owner)"
	requireHolds(t, watchdog(t, joins), races)
}

// A watchdog that takes the lock again after its release is found.
func TestAWatchdogOfAnAdapterThatOutlivesItsLockIsFound(t *testing.T) {
	t.Parallel()
	wrong := watchdog(t, `
    def watch(self, key, owner, ttl_ms):
        if Beside.sleep(ttl_ms // 3) and self.extend(key, owner, ttl_ms):
            self.watchdog = Beside(lambda: self.watch(key, owner, ttl_ms))

    def extend(self, key, owner, ttl_ms):
        return self.redis.eval('''`+extendOrTake+`''', 1, key, owner, ttl_ms) == 1
`)
	requireFound(t, wrong, harness.StuckLock, 20, func(s *explore.Spec) { races(s); s.First = true })
}

// watchdogInGo is watchdog_lock.py in this process.
type watchdogInGo struct {
	inGo
	stop context.CancelFunc // stops the watchdog; nil: there is none
}

func (l *watchdogInGo) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	granted, err := l.inGo.Acquire(ctx, key, owner, ttl)
	if granted {
		ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx))
		harness.Go(ctx, func(ctx context.Context) {
			for harness.Sleep(ctx, ttl/3) == nil {
				if mine, err := l.Extend(ctx, key, owner, ttl); err != nil || !mine {
					return
				}
			}
		})
	}
	return granted, err
}

func (l *watchdogInGo) Release(ctx context.Context, key, owner string) (bool, error) {
	if l.stop != nil {
		l.stop()
	}
	return l.inGo.Release(ctx, key, owner)
}

// A watchdog in an adapter's thread takes the same steps as one in a goroutine of harness.Go, under every fault.
func TestLongAWatchdogOfAnAdapterIsSearchedAsAClientInThisProcess(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	outer := client(t, python, "python/watchdog_lock.py")
	for name, change := range oneFault {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := search(t, outer, change)
			s.MaxSchedules = 1200
			requireSameInProcess(t, s, func(r redis.UniversalClient) workloads.Locker {
				return &watchdogInGo{inGo: inGo{r}}
			})
		})
	}
}

// oneFault lists searches with one fault each.
var oneFault = map[string]func(*explore.Spec){
	"crash": bounds(1, -1, -1), "expiry": bounds(-1, 1, -1), "lost answer": bounds(-1, -1, 1),
}

// requireSameInProcess searches an adapter's lock and the same lock in this process, and requires the same results.
func requireSameInProcess(
	t *testing.T, outer explore.Spec, lock func(redis.UniversalClient) workloads.Locker,
) interleave.Result {
	t.Helper()
	outer.WithoutMemory = true
	inner := outer
	withoutExtend := func(r redis.UniversalClient) workloads.Locker { return struct{ workloads.Locker }{lock(r)} }
	inner.Program = workloads.LockProgram(workloads.Options{TTL: 70 * time.Second}, withoutExtend)
	inner.Program.NoBackgroundWork, inner.Program.Symmetric = true, true
	got, err := explore.Search(t.Context(), outer)
	require.NoError(t, err)
	want, err := explore.Search(t.Context(), inner)
	require.NoError(t, err)
	t.Log(got.Summary(), got.Schedules, got.Pruned)
	requireSame(t, want, got)
	return want
}

// requireSame requires that two searches ran the same schedules and found the same. Error texts may differ, and the
// order of SET's arguments.
func requireSame(t *testing.T, want, got interleave.Result) {
	t.Helper()
	require.Equal(t, cameTo(want), cameTo(got), want.Summary())
}

// cameTo lists what two searches have to have in common: their results, without texts of errors and commands.
func cameTo(r interleave.Result) []any {
	all := []any{r.Stopped, r.Schedules, r.Pruned, r.Exhausted}
	for _, s := range r.Situations {
		all = append(all, s.Name, s.Count)
		for _, step := range s.Steps {
			all = append(all, step.Choice)
		}
	}
	for _, found := range r.Counterexamples {
		all = append(all, found.Anomaly.Class, found.Schedule)
	}
	return all
}

// watchdog returns a program in Python whose watchdog runs body.
func watchdog(t *testing.T, body string) workloads.Adapter {
	return pythonClass(t, "WatchdogLock", body)
}

// pythonClass returns a program in Python whose class has that body, and is derived from an adapter's class.
func pythonClass(t *testing.T, class, body string) workloads.Adapter {
	t.Helper()
	folder, err := filepath.Abs("python")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "own.py")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `
import os, sys, threading, time
sys.path.insert(0, %q)
from lock import Beside, Lock, ask, main
from pubsub_lock import Messages, PubSubLock, channel
from watchdog_lock import WatchdogLock

class Own(%s):
%s

main(Own)
`, folder, class, body), 0o644))
	return client(t, python, file)
}

// Threads that break the protocol end the search, with a one-line reason.
func TestThreadsOfAnAdapterThatBreakDown(t *testing.T) {
	t.Parallel()
	requireBreakDown(t, watchdog, map[string]badProgram{
		"it dies in one": {"    def watch(self, *_): time.sleep(0.05); os._exit(3)",
			`the adapter has broken down: it ended \(exit status 3\)`},
		"one works beside": {
			"    def watch(self, *_):\n        threading.Thread(target=lambda: self.redis.get('x')).start()\n" +
				"        self.redis.get('y')",
			"on one connection while a command was pending on another: let it do one thing at a time, and ask to " +
				"start each further thread|behaves differently each time: ",
		},
		"a clock for one thread": {"    clock = 'preloaded'",
			"it started a thread, and its clock is preloaded, which is known for one thread only"},
	})
}

func TestLongThreadsOfAnAdapterThatBreakDown(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	requireBreakDown(t, watchdog, map[string]badProgram{
		"one waits for something else": {"    def watch(self, *_): time.sleep(3600)",
			"client 1's thread 2 neither sent a command nor finished within 5s"},
		"too many": {
			"    def release(self, key, owner):\n        for _ in range(40): Beside(lambda: Beside.sleep(1000))\n" +
				"        return super().release(key, owner)",
			"client 1 has started [0-9]+ goroutines and subscriptions in one schedule, the most that are explored",
		},
		"it subscribes": {
			"    def watch(self, *_):\n        p = self.redis.pubsub()\n        p.subscribe('x')\n" +
				"        p.get_message(timeout=1)",
			"it subscribed without ever asking for a message, so what it reads there is not part of the " +
				"search: see Subscriptions",
		},
	})
}

// badProgram is the body of a class that breaks the rules, and the reason why its search is stopped.
type badProgram struct{ body, why string }

// requireBreakDown requires that the search of each program is stopped, with a one-line reason.
func requireBreakDown(t *testing.T, program func(*testing.T, string) workloads.Adapter, all map[string]badProgram) {
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireStopped(t, program(t, c.body), c.why, races)
		})
	}
}

// A thread may ignore that its client has crashed. Then its process is replaced, and the search goes on.
func TestLongAThreadOfAnAdapterThatNeverStops(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	c := watchdog(t, "    def watch(self, *_):\n        while True: Beside.sleep(1000)\n"+
		"    def release(self, key, owner): return Lock.release(self, key, owner)")
	_, res := runSearch(t, c, func(s *explore.Spec) { bounds(1, -1, -1)(s); s.MaxSchedules = 10 })
	require.Empty(t, res.Counterexamples)
	require.Equal(t, 10, res.Schedules, res.Stopped)
}

// Under load an adapter's watchdog renews by the machine's clock. A request for messages is answered at once, so the
// program waits by itself.
func TestLongLocksOfAnAdapterThatWaitUnderLoad(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	for file, hold := range map[string]time.Duration{
		"watchdog_lock.py": 200 * time.Millisecond, "pubsub_lock.py": 20 * time.Millisecond,
	} {
		o := workloads.Options{Keys: 2, TTL: 300 * time.Millisecond, Hold: hold}
		requireHoldsUnderLoad(t, client(t, python, "python/"+file), o, 8, 2*time.Second)
	}
}
