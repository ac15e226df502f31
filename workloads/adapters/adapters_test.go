// Package adapters_test tests the adapters of this folder: each follows the protocol, holds under load, and fails when
// its release is made wrong. What all languages share is tested with Python. In test-long each lock is searched
// completely, and each library shows the flaws that its variant declares.
package adapters_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/adapter"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/workloads"
)

// language describes how to start programs of a language, and how to check for its Redis client.
type language struct {
	name     string
	commands []string // interpreters; the first with the Redis client is used
	probe    []string // arguments with which the interpreter exits with 0 if it has the client
	packages string   // required Debian packages
	compiled bool     // commands are compilers: their output is run
}

var (
	python = language{"Python", []string{"python3", "/usr/bin/python3"}, []string{"-c", "import redis"},
		"python3-redis", false}
	node = language{"JavaScript", []string{"node", "nodejs"}, []string{"-e", "require('redis')"}, "nodejs node-redis",
		false}
	php = language{"PHP", []string{"php"}, []string{"-r", "exit(extension_loaded('redis') ? 0 : 1);"},
		"php-cli php-redis", false}
	ruby = language{"Ruby", []string{"ruby"}, []string{"-e", "require 'redis'"}, "ruby ruby-redis", false}
	c    = language{"C", []string{"gcc", "cc"}, []string{"-E", "-include", "hiredis/hiredis.h", "-x", "c", "/dev/null"},
		"gcc libc6-dev libhiredis-dev", true}
	java = language{"Java", []string{"javac"}, []string{"-version"}, "default-jdk-headless", true}
)

// TestMain lets Node find the Redis client of its Debian package.
func TestMain(m *testing.M) {
	_ = os.Setenv("NODE_PATH", "/usr/share/nodejs"+string(filepath.ListSeparator)+os.Getenv("NODE_PATH"))
	os.Exit(m.Run())
}

// interpreters caches the interpreter of each language, since each check takes a process.
var interpreters sync.Map // func() string, by the language's probe

// interpreter returns a language's interpreter. If none has the Redis client, it skips the test.
func (l language) interpreter(t testing.TB) string {
	t.Helper()
	ask, _ := interpreters.LoadOrStore(fmt.Sprint(l.commands, l.probe), sync.OnceValue(func() string {
		for _, name := range l.commands {
			if exec.Command(name, l.probe...).Run() == nil {
				return name
			}
		}
		return ""
	}))
	name := ask.(func() string)()
	if name == "" {
		if _, benchmark := t.(*testing.B); benchmark { // go test prints nothing about a skipped benchmark
			fmt.Printf("%s is left out: install %s\n", t.Name(), l.packages)
		}
		testenv.LeftOut(t, "clients in "+l.name, "install "+l.packages)
	}
	return name
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

// client returns an adapter as it is run, with the abilities that its program declares.
func client(t *testing.T, l language, file string) workloads.Adapter {
	t.Helper()
	c, err := adapter.Describe(t.Context(), workloads.Adapter{Command: l.command(t, file)}, oneRedis(t))
	require.NoError(t, err)
	return c
}

// oneRedis returns servers for one test: a Redis, with or without replicas, each time that it is called.
func oneRedis(t *testing.T) adapter.Servers {
	return func(_ int, replicated bool) ([]redis.UniversalClient, error) {
		kind := cluster.Standalone
		if replicated {
			kind = cluster.Replicated
		}
		return clustertest.Start(t, kind(cluster.Options{})).ConnectAll(0)
	}
}

// A program that sends WAIT is checked on a Redis with two replicas. A check fails if the program needs three.
func TestATrialHasReplicasForWhomWaits(t *testing.T) {
	t.Parallel()
	const waits = `
    can = ["acquire", "release"]

    def acquire(self, key, owner, ttl_ms):
        return super().acquire(key, owner, ttl_ms) and self.redis.wait(%d, %d) >= %d
`
	requireRight(t, pythonClass(t, "Lock", fmt.Sprintf(waits, 1, 60000, 1)))
	steps := map[string]int{}
	c := pythonClass(t, "Lock", fmt.Sprintf(waits, 3, 100, 3)) // there are two
	_, err := adapter.Check(t.Context(), c, oneRedis(t), func(step string, _ error) { steps[step]++ })
	require.EqualError(t, err, "acquire: ok, for the lock is free: it answered ok: false")
	require.Equal(t, 1, steps["acquire: ok, for the lock is free"])
}

// requireRight requires that a program follows the protocol, as adapter check does.
func requireRight(t *testing.T, c workloads.Adapter) workloads.Adapter {
	t.Helper()
	c, err := adapter.Check(t.Context(), c, oneRedis(t), func(string, error) {})
	require.NoError(t, err)
	return c
}

// search returns the search of an adapter, as changed by change.
func search(t *testing.T, c workloads.Adapter, change func(*explore.Spec)) explore.Spec {
	t.Helper()
	v, err := adapter.Variant(c)
	require.NoError(t, err)
	t.Cleanup(v.Close)
	p, ok := v.Program(workloads.Options{TTL: 70 * time.Second})
	require.True(t, ok)
	s := explore.Spec{
		Program: p, Checkers: checkers.ForSearch(p.Kinds...), For: 5 * time.Minute, Workers: 1,
		Bounds: interleave.Bounds{Clients: 2, Crashes: 1, Expiries: 1, LostAnswers: -1},
	}
	change(&s)
	return s
}

// bounds sets how many crashes, expired leases and lost answers a search has; -1: none.
func bounds(crashes, expiries, lostAnswers int) func(*explore.Spec) {
	return func(s *explore.Spec) { s.Crashes, s.Expiries, s.LostAnswers = crashes, expiries, lostAnswers }
}

// races leaves all faults out of a search. noCrash leaves out all but the end of a lease.
var races, noCrash = bounds(-1, -1, -1), bounds(-1, 1, -1)

// runSearch runs the search of an adapter.
func runSearch(t *testing.T, c workloads.Adapter, change func(*explore.Spec)) (explore.Spec, interleave.Result) {
	t.Helper()
	s := search(t, c, change)
	res, err := explore.Search(t.Context(), s)
	require.NoError(t, err)
	return s, res
}

// requireHolds requires that the search of an adapter ends and finds nothing.
func requireHolds(t *testing.T, c workloads.Adapter, change func(*explore.Spec)) interleave.Result {
	t.Helper()
	_, res := runSearch(t, c, change)
	require.Equal(t, harness.Valid, res.Verdict(), "%s %s", res.Stopped, res.Summary())
	require.True(t, res.Exhausted)
	t.Logf("%d schedules, %.0f a second", res.Schedules, float64(res.Schedules)/res.Elapsed.Seconds())
	return res
}

// requireFound requires that the search of an adapter finds an anomaly of a class, with the same schedule each time.
func requireFound(t *testing.T, c workloads.Adapter, class harness.Class, replays int,
	change func(*explore.Spec)) interleave.Counterexample {
	t.Helper()
	s, res := runSearch(t, c, change)
	require.Len(t, res.Counterexamples, 1, "%s %s", res.Stopped, res.Summary())
	require.Equal(t, class, res.Counterexamples[0].Anomaly.Class)
	require.NoError(t, explore.Replay(t.Context(), s, res.Counterexamples[0], replays))
	t.Logf("found after %d schedules\n%s", res.Schedules, res.Counterexamples[0].Text())
	return res.Counterexamples[0]
}

// requireStopped requires that the search of an adapter ends without a verdict, with a one-line reason.
func requireStopped(t *testing.T, c workloads.Adapter, why string, change func(*explore.Spec)) {
	t.Helper()
	_, res := runSearch(t, c, change)
	require.Equal(t, harness.Unknown, res.Verdict(), res.Summary())
	require.Regexp(t, why, res.Stopped)
	require.NotContains(t, res.Stopped, "\n")
}

// requireHoldsUnderLoad requires that a short load on a lock, without a limit of its rate, is valid.
func requireHoldsUnderLoad(t *testing.T, c workloads.Adapter, o workloads.Options, clients int, length time.Duration) {
	t.Helper()
	v, err := adapter.Variant(c)
	require.NoError(t, err)
	defer v.Close()
	s := cluster.Standalone(cluster.Options{Clients: clients, ClientGroups: 1})
	w := v.Workload(s, o)
	res, err := harness.Run(t.Context(), harness.Spec{
		Name: v.ID, System: s, Workload: w, Clients: clients, Duration: length,
		Checkers: []harness.Checker{checkers.Mutex()}, Seed: 1,
	})
	require.NoError(t, err)
	require.Equal(t, harness.Valid, res.Verdict, "%+v", res.Judged)
	granted := 0
	for op := range res.History.Ops {
		if op.Kind == harness.Acquire && op.Outcome == harness.OK {
			granted++
		}
	}
	require.Positive(t, granted)
}

// adapters lists the adapters of locks.
var adapters = []struct {
	language language
	file     string
}{
	{python, "python/lock.py"}, {node, "javascript/lock.js"}, {php, "php/lock.php"}, {ruby, "ruby/lock.rb"},
	{c, "c/lock.c"},
}

// The texts of each adapter's release, right and blind.
const (
	rightRelease = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`
	blindRelease = `return redis.call("del", KEYS[1])`
)

// withBlindRelease writes a copy of an adapter whose release deletes the lock of any owner.
func withBlindRelease(t *testing.T, file string) string {
	t.Helper()
	right, blind := rightRelease, blindRelease
	if filepath.Ext(file) == ".c" {
		right, blind = strings.ReplaceAll(right, `"`, `\"`), strings.ReplaceAll(blind, `"`, `\"`)
	}
	return withTexts(t, file, right, blind)
}

// Every adapter answers each message correctly and holds under load. If its release deletes any owner's lock, a search
// finds that, with the same schedule each time.
func TestEveryAdapter(t *testing.T) {
	t.Parallel()
	for _, a := range adapters {
		t.Run(a.file, func(t *testing.T) {
			t.Parallel()
			right := requireRight(t, workloads.Adapter{Command: a.language.command(t, a.file)})
			requireHoldsUnderLoad(t, right, workloads.Options{Keys: 1, TTL: 300 * time.Millisecond}, 3,
				300*time.Millisecond)
			wrong := right
			wrong.Command = a.language.command(t, withBlindRelease(t, a.file))
			requireFound(t, wrong, harness.DoubleGrant, 10,
				func(s *explore.Spec) { races(s); s.LostAnswers, s.First = 1, true })
		})
	}
}

// Every adapter passes the check and the search with a preloaded clock. Even if its library reads the clock while it
// reconnects, it has as many schedules as a lock without a clock.
func TestEveryAdapterUnderAPreloadedClock(t *testing.T) { adaptersAgree(t, workloads.PreloadedClock) }

func TestLongEveryAdapterUnderEveryClock(t *testing.T) {
	testenv.NeedLong(t)
	adaptersAgree(t, workloads.AskedClock, workloads.PreloadedClock, workloads.RealClock)
}

// adaptersAgree requires the same number of schedules of every adapter with each clock, and of one without a clock.
func adaptersAgree(t *testing.T, clocks ...workloads.AdapterClock) {
	t.Parallel()
	var mu sync.Mutex
	counts := map[int][]string{} // adapters and their clocks, by number of schedules
	t.Cleanup(func() {
		if len(counts) > 1 { // FailNow would end the test before this is reported
			t.Errorf("not the same schedules: %v", counts)
		}
	})
	for _, a := range adapters {
		under := clocks
		if a.file == "c/lock.c" && !slices.Contains(under, workloads.AskedClock) {
			under = append([]workloads.AdapterClock{workloads.AskedClock}, under...)
		}
		for _, clock := range under {
			t.Run(a.file+" "+string(clock), func(t *testing.T) {
				t.Parallel()
				c := requireRight(t, workloads.Adapter{Command: a.language.command(t, withClock(t, a.file, clock))})
				require.Equal(t, clock, c.Clock)
				held := requireHolds(t, c, func(s *explore.Spec) { bounds(-1, -1, 1)(s); s.RunTwice = 3 })
				require.Positive(t, held.Schedules)
				mu.Lock()
				defer mu.Unlock()
				counts[held.Schedules] = append(counts[held.Schedules], a.file+" "+string(clock))
			})
		}
	}
}

// withClock writes a copy of an adapter that declares the given clock.
func withClock(t *testing.T, file string, clock workloads.AdapterClock) string {
	t.Helper()
	change := map[string][2]string{
		".py":  {`    clock = "asked"`, "    clock = %q"},
		".js":  {"can: Lock.can,", "can: Lock.can, clock: %q,"},
		".php": {"'can' => Lock::CAN,", "'can' => Lock::CAN, 'clock' => %q,"},
		".rb":  {"CLOCK = 'asked'", "CLOCK = %q"},
		".c":   {`\"symmetric\":true`, `\"symmetric\":true,\"clock\":\"%s\"`},
	}[filepath.Ext(file)]
	return withTexts(t, file, change[0], fmt.Sprintf(change[1], clock))
}

// Every adapter's lock is searched completely without a violation, by the same schedules in each language.
func TestLongEveryAdaptersLockHolds(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	for _, a := range adapters {
		t.Run(a.file, func(t *testing.T) {
			t.Parallel()
			requireHolds(t, client(t, a.language, a.file), func(*explore.Spec) {})
		})
	}
}

// The filter and the generator in Python hold.
func TestTheOtherFamiliesHold(t *testing.T) { holdFamilies(t, races) }

func TestLongTheOtherFamiliesHold(t *testing.T) {
	testenv.NeedLong(t)
	holdFamilies(t, func(*explore.Spec) {})
}

// holdFamilies searches the filter and the generator in Python within bounds.
func holdFamilies(t *testing.T, bounds func(*explore.Spec)) {
	t.Parallel()
	for _, file := range []string{"python/dedup.py", "python/sequence.py"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			right := requireRight(t, workloads.Adapter{Command: python.command(t, file)})
			requireHolds(t, right, bounds)
		})
	}
}

// State that a class in Python keeps between schedules does not affect a search, if the class declares it.
func TestAClassThatKeepsSomethingIsMadeAnew(t *testing.T) {
	t.Parallel()
	const keeps = `
    keeps_state = %s
    any_thread = %s
    calls = 0

    def acquire(self, key, owner, ttl_ms):
        self.calls += 1
        return (self.calls < 3 or self.redis.exists(key) == 0) and super().acquire(key, owner, ttl_ms)
`
	for _, anyThread := range []string{"True", "False"} {
		requireHolds(t, pythonClass(t, "Lock", fmt.Sprintf(keeps, "True", anyThread)), races)
		requireStopped(t, pythonClass(t, "Lock", fmt.Sprintf(keeps, "False", anyThread)),
			"behaves differently each time.*let it ask for reset", races)
	}
}

// A generator may write its numbers with leading zeros: 007 is 7. One that draws 007 after 7 draws it twice.
func TestZerosBeforeANumberDoNotCount(t *testing.T) {
	t.Parallel()
	folder, err := filepath.Abs("python")
	require.NoError(t, err)
	padded := func(draw string) workloads.Adapter {
		file := filepath.Join(t.TempDir(), "padded.py")
		require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `
import sys
sys.path.insert(0, %q)
from lock import main
from sequence import Sequence

class Padded(Sequence):
    def next(self, key, proposed):
        n = self.redis.incr(key)
        return %s

main(Padded)
`, folder, draw), 0o644))
		return client(t, python, file)
	}
	requireHolds(t, padded(`str(n).zfill(3 * n)`), races)
	requireFound(t, padded(`str((n + 1) // 2).zfill(n)`), harness.DuplicateNumber, 1,
		func(s *explore.Spec) { races(s); s.First = true })
}
