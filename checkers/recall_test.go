package checkers

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

// draws returns n draws by workers who take turns: draw i is called at 10*i and returns at 10*i+5.
func draws(n, workers int, number func(i int) string) []harness.Op {
	ops := make([]harness.Op, n)
	for i := range ops {
		at := time.Duration(10 * i)
		ops[i] = next(i%workers, at, at+5, number(i))
	}
	return ops
}

// rising returns n draws of rising numbers, starting with first.
func rising(n int, first string) []harness.Op {
	return draws(n, testWorkers, func(i int) string { return first + fmt.Sprintf("%08d", i) })
}

// onceOnly returns h as a running load shows it: it cannot be read again.
func onceOnly(h harness.History) harness.History { return readable(h, 1) }

// readable returns a history whose first passes see the operations of h. Further passes see only those in left.
func readable(h harness.History, passes int, left ...harness.Op) harness.History {
	whole, n := h.Ops, 0
	h.Ops = func(yield func(harness.Op, error) bool) {
		if n++; n <= passes {
			whole(yield)
			return
		}
		harness.OpsOf(left)(yield)
	}
	return h
}

// A number whose first draw is no longer kept is a duplicate all the same. Its first draw is found if the history can
// be read again.
func TestOldDuplicates(t *testing.T) {
	for _, first := range []string{"", "12345678901234567890"} {
		ops := rising(recentKept+100, first)
		at := time.Duration(10 * len(ops))
		ops = append(ops, next(0, at, at+5, ops[7].Result), next(1, at+6, at+7, ops[7].Result),
			next(2, at+8, at+9, ops[recentKept+50].Result))
		again := ops[len(ops)-3:]
		n := strconv.Itoa(len(ops) - 2)

		g, found := judge(t, Sequence(), of(ops...))
		require.Equal(t, 3.0, figureOf(t, g, "duplicates"))
		require.Equal(t, 6.0, figureOf(t, g, "certified"))
		require.Len(t, found, 6)
		old := found[5]
		require.Equal(t, []harness.Op{ops[7], again[0]}, old.Ops)
		require.Equal(t, "call "+n+" of seq-0 returned "+ops[7].Result+", which call 8 had returned", old.Note)
		require.Equal(t, again[:2], found[1].Ops, "against the draw that is still kept")

		g, found = judge(t, Sequence(), onceOnly(of(ops...)))
		require.Equal(t, 3.0, figureOf(t, g, "duplicates"))
		require.Equal(t, 5.0, figureOf(t, g, "certified"))
		require.Equal(t, 5.0, figureOf(t, g, "asked to certify"))
		require.Equal(t, again[:1], found[5].Ops)
		require.False(t, found[5].Certified)
		require.Equal(t, "call "+n+" of seq-0 returned "+ops[7].Result+", which a call long before had returned",
			found[5].Note)
	}
}

// A sequence that starts again draws every number twice. All duplicates are counted, but only recallAtMost of them are
// reported with their first draws.
func TestManyOldDuplicates(t *testing.T) {
	ops := rising(recentKept+2000, "")
	at := time.Duration(10 * len(ops))
	for i := range 1500 {
		ops = append(ops, next(0, at, at, ops[i].Result))
	}
	h := of(ops...)
	h.Meta.Workers = 1
	g, found := judge(t, Sequence(), h)
	require.Equal(t, 1500.0, figureOf(t, g, "duplicates"))
	explained := func(a harness.Anomaly) bool { return a.Class != harness.DuplicateNumber || len(a.Ops) > 1 }
	require.Len(t, slices.DeleteFunc(found, explained), 1500-recallAtMost)
}

// Of the numbers that had returned before every later Call, only the largest is kept.
func TestPeaksBehindTheWatermark(t *testing.T) {
	var p peaks
	for i := range 100 {
		p.addIfLarger(peak{Op: next(0, time.Duration(i), time.Duration(i), ""), number: number(strconv.Itoa(100 + i))},
			harness.Meta{}, time.Duration(max(0, i-10)))
		require.LessOrEqual(t, len(p), 12)
	}
	require.EqualValues(t, "188", p.returnedBefore(89).top().number)
	require.EqualValues(t, "190", p.returnedBefore(91).top().number)
}

func TestWatermark(t *testing.T) {
	// nothing is known of a third worker
	for workers, low := range map[int]time.Duration{2: 3*watermarkEvery - 2, 3: 0} {
		w := watermark{workers: workers}
		for i := range 3 * watermarkEvery {
			w.note(next(i%2, time.Duration(i), time.Duration(i), ""))
		}
		require.Equal(t, low, w.low, "%d workers", workers)
	}
}

// In a widened history, too, no later operation is called before the watermark's time low.
func TestTheWatermarkOfWidenedTimes(t *testing.T) {
	const workers, wide = 3, 50
	w := watermark{workers: workers, widened: true}
	called := make([]time.Duration, workers)
	for i := range 3 * watermarkEvery {
		x := harness.Op{Client: i % workers, Call: time.Duration(10 * i), Return: time.Duration(10*i + wide)}
		require.LessOrEqual(t, w.low, x.Call, "operation %d", i)
		w.note(x)
		called[x.Client] = x.Call
		require.LessOrEqual(t, w.low, slices.Min(called))
	}
	require.Positive(t, w.low, "it says something")
	w.widened = false // as for times that were not widened
	for i := 3 * watermarkEvery; i < 6*watermarkEvery; i++ {
		w.note(harness.Op{Client: i % workers, Call: time.Duration(10 * i), Return: time.Duration(10*i + wide)})
	}
	require.Greater(t, w.low, slices.Min(called))
}

// An operation that drew nothing is not the first draw of a number, whatever its Result.
func TestOldDuplicatesOfWhatWasDrawn(t *testing.T) {
	ops := rising(recentKept+100, "")
	at := time.Duration(10 * len(ops))
	again := next(0, at, at+5, ops[0].Result)
	other := ops[0]
	other.Outcome, other.Client, other.Return = harness.Fail, 1, 4
	_, found := judge(t, Sequence(), of(append(ops, other, again)...))
	require.NotEmpty(t, found)
	for _, a := range found {
		require.NotContains(t, a.Ops, other)
	}
}
