package checkers

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
