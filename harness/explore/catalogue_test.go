package explore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/workloads"
)

// catalogued returns the search that doublegrant explore runs for a variant, with two clients.
func catalogued(v workloads.Variant) (spec explore.Spec, ok bool) {
	p, ok := v.Program(workloads.Options{Regime: workloads.Growing})
	return explore.Spec{Program: p, Checkers: checkers.ForSearch(p.Kinds...),
		Bounds: interleave.Bounds{Clients: 2, LostAnswers: -1}, For: time.Minute, Workers: 1}, ok
}

// search runs a search that has to end by itself.
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
	for _, c := range res.Counterexamples {
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

// For every variant, a pruned search finds what a search of the whole space finds, and its counterexamples can be
// replayed.
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
				spec.Crashes, spec.For = -1, 3*time.Minute // with a crash the unpruned search is too large
			}
			pruned := search(t, spec)
			spec.WithoutReduction = true
			all := search(t, spec)
			require.Equal(t, sizes(all), sizes(pruned))
			require.LessOrEqual(t, pruned.Schedules, all.Schedules)
			require.NotContains(t, strings.Join(pruned.Limits, "\n"), "the promise that clients differ")
			for _, c := range pruned.Counterexamples {
				if v.ID != "dedup/lock-get-set" { // its tokens are random, so its commands differ
					require.NoError(t, explore.Replay(t.Context(), spec, c, 3))
				}
			}
			t.Logf("%d of %d schedules, %v, %v", pruned.Schedules, all.Schedules, pruned.Elapsed, all.Elapsed)
		})
	}
}

// briefly returns the search of a variant, without crashes and expiries.
func briefly(t *testing.T, id string) explore.Spec {
	v, err := workloads.Find(id)
	require.NoError(t, err)
	spec, _ := catalogued(v)
	spec.Crashes, spec.Expiries = -1, -1
	return spec
}

// witness is a TB that records logs and errors.
type witness struct {
	*testing.T
	logs, failures []string
}

func (w *witness) Logf(f string, args ...any) { w.logs = append(w.logs, fmt.Sprintf(f, args...)) }
func (w *witness) Errorf(f string, args ...any) {
	w.failures = append(w.failures, fmt.Sprintf(f, args...))
}

func (w *witness) Fatalf(f string, args ...any) {
	w.Errorf(f, args...)
	panic("fatal")
}

func TestASearchIsATest(t *testing.T) {
	require.Equal(t, harness.Valid, explore.Test(t, briefly(t, "lock/set-nx-px")).Verdict())
	w := &witness{T: t}
	require.Equal(t, harness.Invalid, explore.Test(w, briefly(t, "dedup/get-set")).Verdict())
	require.Equal(t, []string{"dedup/get-set: a counterexample of 7 steps: duplicate-delivery"}, w.logs)
	require.True(t, strings.HasPrefix(w.failures[0], "duplicate-delivery in 7 steps: "), w.failures[0])
	require.Contains(t, w.failures[0], "1  client 1  GET msg")
	require.Contains(t, w.failures[0], "-> ")
}

func TestATestThatShowsNothingFails(t *testing.T) {
	w := &witness{T: t}
	spec := briefly(t, "lock/set-nx-px")
	spec.MaxSchedules = 1
	explore.Test(w, spec)
	require.Equal(t, []string{"no verdict on lock/set-nx-px: 1 schedules were run"}, w.failures)
	w = &witness{T: t}
	spec.Checkers = nil
	require.PanicsWithValue(t, "fatal", func() { explore.Test(w, spec) })
	require.Equal(t, []string{"the explorer failed: this cannot be explored: no checkers, so nothing would be judged"},
		w.failures)
}

// BenchmarkSchedules measures whole schedules of three clients that send GET, SET and EXPIRE.
func BenchmarkSchedules(b *testing.B) {
	v, err := workloads.Find("dedup/get-set")
	require.NoError(b, err)
	spec, _ := catalogued(v)
	spec.Clients, spec.Crashes, spec.Expiries, spec.WithoutReduction, spec.Workers = 3, -1, -1, true, 0
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
