package checkers

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/doublegrant/doublegrant/harness"
)

// widened returns a history as generators record it whose clocks are known to within some time: the operations of each have times
// that are wider by that, one way or the other, and stay in the order in which their worker asked.
func widened(d dice, one history) history {
	const most = 8 * time.Millisecond
	groups := 1 + d.IntN(3)
	before, after := make([]time.Duration, groups), make([]time.Duration, groups)
	for g := range groups {
		before[g], after[g] = time.Duration(d.IntN(int(most))), time.Duration(d.IntN(int(most)))
	}
	ops := slices.Clone(one.ops)
	calls := map[int]time.Duration{}
	returns := make([]time.Duration, groups)
	for i := range ops {
		x := &ops[i]
		if x.Client < 0 {
			continue
		}
		worker := one.h.Meta.Worker(x.Client)
		g := worker % groups
		if d.IntN(16) == 0 { // it is known better now
			before[g], after[g] = before[g]-time.Duration(d.IntN(int(before[g])+1))/4, after[g]-time.Duration(d.IntN(int(after[g])+1))/4
		}
		x.Call, x.Return = max(0, x.Call-before[g], calls[worker]), max(x.Return+after[g], returns[g])
		calls[worker], returns[g] = x.Call, x.Return
		if x.Until > 0 {
			x.Until = max(1, x.Until-before[g])
		}
	}
	slices.SortStableFunc(ops, func(a, b harness.Op) int { return cmp.Compare(a.Return, b.Return) })
	h := one.h
	h.Meta.Widened = true
	h.Ops = harness.OpsOf(ops)
	return history{ops, h}
}

// No history of a correct server is invalid, however little is known of the clocks that took its times.
func TestWidenedHistoriesAreNeverInvalid(t *testing.T) {
	for _, sim := range simulations {
		t.Run(sim.name, func(t *testing.T) {
			t.Parallel()
			score, bit, failed := simScore{valid: map[string]int{}}, rapid.Bool(), false
			some := rapid.Custom(func(rt *rapid.T) history {
				d := throws{rt, bit}
				return widened(d, sim.simulated(d, ""))
			})
			rapid.Check(t, func(rt *rapid.T) {
				if !failed && score.histories >= simulatedAtMost() {
					return
				}
				one := some.Draw(rt, "history")
				if said := score.alarms(one) + score.differences(one); said != "" {
					failed = true
					rt.Fatal(said)
				}
			})
		})
	}
}

// Defects are found all the same, if less often.
func TestWidenedHistoriesOfBrokenServersAreInvalid(t *testing.T) {
	for _, sim := range simulations {
		for flaw, class := range sim.flaws {
			found := 0
			for seed := range uint64(200) {
				d := seeded(seed)
				one := widened(d, sim.simulated(d, flaw))
				for _, c := range everyChecker {
					_, anomalies := judgeWithin(t.Context(), c, one.h)
					for _, a := range anomalies {
						if a.Class == class {
							found++
						}
					}
				}
			}
			require.Positive(t, found, "%s: %s", sim.name, flaw)
			t.Logf("%s: %s: %d %s in 200 histories", sim.name, flaw, found, class)
		}
	}
}

// TestTheWatermarkOfWidenedTimes is never above the Call of an operation to come.
func TestTheWatermarkOfWidenedTimes(t *testing.T) {
	const workers, wide = 3, 50
	w := watermark{workers: workers, widened: true}
	called := make([]time.Duration, workers)
	for i := range 3 * watermarkEvery {
		x := harness.Op{Client: i % workers, Call: time.Duration(10 * i), Return: time.Duration(10*i + wide)}
		require.LessOrEqual(t, w.low, x.Call, "operation %d", i)
		w.hear(x)
		called[x.Client] = x.Call
		require.LessOrEqual(t, w.low, slices.Min(called))
	}
	require.Positive(t, w.low, "it says something")
	w.widened = false // as it would be said of times that were not widened
	for i := 3 * watermarkEvery; i < 6*watermarkEvery; i++ {
		w.hear(harness.Op{Client: i % workers, Call: time.Duration(10 * i), Return: time.Duration(10*i + wide)})
	}
	require.Greater(t, w.low, slices.Min(called))
}
