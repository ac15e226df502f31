package explore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/workloads"
)

// catalogued makes the search that doublegrant explore runs, with two clients.
func catalogued(v workloads.Variant) (spec explore.Spec, ok bool) {
	p, ok := v.Program(workloads.Options{Regime: workloads.Growing})
	return explore.Spec{Program: p, Checkers: checkers.ForSearch(p.Kinds...), Clients: 2, For: time.Minute, Workers: 1, LostAnswers: -1}, ok
}

// search fails unless the search ends by itself.
func search(t *testing.T, spec explore.Spec) interleave.Result {
	t.Helper()
	res, err := explore.Search(t.Context(), spec)
	require.NoError(t, err)
	require.True(t, res.Exhausted, "%s: %s", spec.Program.Name, res.Stopped)
	return res
}

// sizes returns the length of each counterexample and the faults in it.
func sizes(res interleave.Result) map[harness.Class][2]int {
	out := map[harness.Class][2]int{}
	for _, c := range res.Found {
		faults := 0
		for _, choice := range c.Schedule {
			if choice.Kind() != interleave.Runs {
				faults++
			}
		}
		out[c.Anomaly.Class] = [2]int{c.Length(), faults}
	}
	return out
}

// For every variant, a search that leaves schedules out finds what a search of the whole space finds, and its counterexamples
// can be replayed.
func TestLongPruningLosesNoVerdict(t *testing.T) {
	testenv.NeedLong(t)
	for _, v := range workloads.Catalogue() {
		spec, ok := catalogued(v)
		if !ok {
			continue
		}
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			if v.ExploredBriefly {
				spec.Crashes, spec.Expiries = -1, -1
			}
			if v.ID == "dedup/lock-get-set" {
				spec.Crashes, spec.For = -1, 3*time.Minute // its unpruned search is too large with one
			}
			pruned := search(t, spec)
			spec.Unreduced = true
			all := search(t, spec)
			require.Equal(t, sizes(all), sizes(pruned))
			require.LessOrEqual(t, pruned.Schedules, all.Schedules)
			for _, c := range pruned.Found {
				if v.ID != "dedup/lock-get-set" { // its tokens are random, so its commands differ
					require.NoError(t, explore.Replay(t.Context(), spec, c, 3))
				}
			}
			t.Logf("%d of %d schedules, %v, %v", pruned.Schedules, all.Schedules, pruned.Elapsed, all.Elapsed)
		})
	}
}

// safeLock takes a lock with one command and gives up only its own.
type safeLock struct{ redis redis.UniversalClient }

func (l safeLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return l.redis.SetNX(ctx, key, owner, ttl).Result()
}

var release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

func (l safeLock) Release(ctx context.Context, key, owner string) (bool, error) {
	n, err := release.Run(ctx, l.redis, []string{key}, owner).Int()
	return n == 1, err
}

// naiveLock first looks whether the lock is free, and then takes it.
type naiveLock struct{ safeLock }

func (l naiveLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	if n, err := l.redis.Exists(ctx, key).Result(); err != nil || n > 0 {
		return false, err
	}
	return true, l.redis.Set(ctx, key, owner, ttl).Err()
}

// lockSpec is a Spec as a user writes it in a test.
func lockSpec(newLocker func(redis.UniversalClient) workloads.Locker) explore.Spec {
	p := workloads.LockProgram(workloads.LockOptions{Name: "my lock"}, newLocker)
	return explore.Spec{Program: p, Checkers: checkers.ForSearch(p.Kinds...), Clients: 2}
}

func TestMyLock(t *testing.T) {
	res := explore.Test(t, lockSpec(func(r redis.UniversalClient) workloads.Locker { return safeLock{r} }))
	require.Equal(t, harness.Valid, res.Verdict())
}

// witness is a TB that keeps logs and errors.
type witness struct {
	ctx            context.Context
	logs, failures []string
}

func (*witness) Helper()                      {}
func (w *witness) Context() context.Context   { return w.ctx }
func (w *witness) Logf(f string, args ...any) { w.logs = append(w.logs, fmt.Sprintf(f, args...)) }
func (w *witness) Errorf(f string, args ...any) {
	w.failures = append(w.failures, fmt.Sprintf(f, args...))
}

type fatal struct{}

func (w *witness) Fatalf(f string, args ...any) {
	w.Errorf(f, args...)
	panic(fatal{})
}

func TestANaiveLockFailsItsTest(t *testing.T) {
	w := &witness{ctx: t.Context()}
	res := explore.Test(w, lockSpec(func(r redis.UniversalClient) workloads.Locker { return naiveLock{safeLock{r}} }))
	require.Equal(t, harness.Invalid, res.Verdict())
	require.Len(t, w.logs, 1)
	require.Equal(t, "my lock: a counterexample of 4 steps: double-grant", w.logs[0])
	told := w.failures[0]
	require.True(t, strings.HasPrefix(told, "double-grant in 4 steps: "), told)
	require.Contains(t, told, "1  client 1  EXISTS lock")
	require.Contains(t, told, "SET lock client-12 ex 10")
	require.Contains(t, told, "-> holds lock until 10s")
}

func TestATestThatShowsNothingFails(t *testing.T) {
	w := &witness{ctx: t.Context()}
	spec := lockSpec(func(r redis.UniversalClient) workloads.Locker { return safeLock{r} })
	spec.MaxSchedules = 1
	explore.Test(w, spec)
	require.Equal(t, []string{"my lock was not shown to be safe: 1 schedules were run"}, w.failures)
	w = &witness{ctx: t.Context()}
	spec.Checkers = nil
	require.PanicsWithValue(t, fatal{}, func() { explore.Test(w, spec) })
	require.Equal(t, []string{"the explorer failed: this cannot be explored: no checkers, so nothing would be judged"}, w.failures)
}

// BenchmarkSchedules measures whole schedules of the prototype's program: three clients, GET, SET and EXPIRE.
func BenchmarkSchedules(b *testing.B) {
	v, err := workloads.Find("dedup/get-set")
	if err != nil {
		b.Fatal(err)
	}
	spec, _ := catalogued(v)
	spec.Clients, spec.Crashes, spec.Expiries, spec.Unreduced, spec.Workers = 3, -1, -1, true, 0
	var schedules int
	var elapsed time.Duration
	for b.Loop() {
		res, err := explore.Search(b.Context(), spec)
		if err != nil || !res.Exhausted {
			b.Fatal(res.Stopped, err)
		}
		schedules, elapsed = schedules+res.Schedules, elapsed+res.Elapsed
	}
	b.ReportMetric(float64(schedules)/elapsed.Seconds(), "schedules/s")
}
