package checkers

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

// Cases at equal instants and at the ends of ranges, each of which a mutant of a checker got wrong: see `make mutate`.

func TestMutexAtEqualInstants(t *testing.T) {
	runCases(t, Mutex(), []verdictCase{
		{name: "answered when its lease is over", unknown: "only 0 of 1 grants", h: of(acquire(0, "a", 1, 11, 10))},
		{name: "a release called when the other is granted explains it", want: stolenRelease, h: of(acquire(0, "a", 1, 2, 10),
			acquire(1, "b", 12, 13, 30), acquire(2, "c", 14, 16, 30), release(0, "a", 16, 20), release(1, "b", 22, 23))},
		{name: "a release called after the other is granted does not", want: doubleGrant, h: of(acquire(0, "a", 1, 2, 10),
			acquire(1, "b", 12, 13, 30), acquire(2, "c", 14, 16, 30), release(0, "a", 17, 20), release(1, "b", 22, 23))},

		{name: "late extends, the shorter one first", h: of(info(extend(0, "a", 1, 2, 5)), info(extend(3, "a", 3, 4, 9)),
			acquire(6, "a", 5, 6, 100), acquire(1, "b", 12, 13, 10))},
		{name: "late extends, the longer one first", h: of(info(extend(0, "a", 1, 2, 9)), info(extend(3, "a", 3, 4, 5)),
			acquire(6, "a", 5, 6, 100), acquire(1, "b", 12, 13, 10))},
		{name: "late extends, neither so short", want: doubleGrant, h: of(info(extend(0, "a", 1, 2, 9)), info(extend(3, "a", 3, 4, 9)),
			acquire(6, "a", 5, 6, 100), acquire(1, "b", 12, 13, 10))},
		{name: "a late promise, then a late extend without one", h: of(info(promising(10, extend(0, "a", 1, 2, 100))),
			info(extend(3, "a", 3, 4, 100)), acquire(6, "a", 5, 6, 100), acquire(1, "b", 12, 13, 10))},
		{name: "a late promise, then a late longer one", h: of(info(promising(10, extend(0, "a", 1, 2, 100))),
			info(promising(40, extend(3, "a", 3, 4, 100))), acquire(6, "a", 5, 6, 100), acquire(1, "b", 12, 13, 10))},

		{name: "torn, the first one speaks of another lock", want: doubleGrant, h: torn(acquire(0, "a", 1, 2, 100), acquire(1, "b", 3, 4, 100),
			on("j", acquire(0, "x", 5, 6, 9)))},
		{name: "torn, the first one speaks of another lock in that instant", unknown: "1 possible overlap", h: torn(acquire(0, "a", 1, 2, 100),
			acquire(1, "b", 3, 6, 100), on("j", acquire(0, "x", 5, 6, 9)))},
		{name: "torn, the first one speaks of another lock in that instant, and after it", want: doubleGrant, h: torn(acquire(0, "a", 1, 2, 100),
			acquire(1, "b", 3, 6, 100), on("j", acquire(0, "x", 5, 6, 9)), on("j", release(0, "x", 7, 8)))},
		{name: "torn, granted in one instant, and both speak of another lock", want: doubleGrant, h: torn(acquire(0, "a", 1, 2, 100),
			acquire(1, "b", 1, 2, 100), on("j", acquire(0, "x", 3, 4, 1)), on("l", acquire(1, "x", 3, 4, 1)))},
		{name: "torn, granted in one instant, and one speaks of another lock", unknown: "1 possible overlap", h: torn(acquire(0, "a", 1, 2, 100),
			acquire(1, "b", 1, 2, 100), on("j", acquire(0, "x", 3, 4, 1)))},
		{name: "acquired again while the other's grant is not decided, and given up", want: append(doubleGrant, harness.DoubleGrant),
			h: of(acquire(0, "a", 1, 2, 100), acquire(1, "b", 3, 6, 100), acquire(0, "a", 5, 6, 100), release(0, "a", 7, 8),
				release(1, "b", 7, 8), acquire(2, "c", 9, 10, 100))},
	})
}

// If a grant is excluded at equal instants, the anomaly has only the operations that suffice to show it.
func TestMutexEvidenceAtEqualInstants(t *testing.T) {
	for _, c := range []struct {
		name string
		ops  []harness.Op
		want []int // of ops
	}{
		{"a renewal answered when the other's lease may be over", []harness.Op{
			acquire(0, "a", 1, 2, 30), extend(0, "a", 3, 8, 30), acquire(1, "b", 4, 10, 4)}, []int{0, 2}},
		{"a lease over when the other is granted", []harness.Op{
			acquire(0, "a", 1, 2, 9), extend(0, "a", 3, 8, 30), acquire(1, "b", 4, 10, 4)}, []int{0, 1, 2}},
		{"a lease over when the next but one renewal and the other return", []harness.Op{
			acquire(0, "a", 1, 2, 9), extend(0, "a", 2, 3, 40), extend(0, "a", 3, 10, 40), acquire(1, "b", 4, 10, 4)}, []int{1, 3}},
	} {
		_, found := judge(t, Mutex(), of(c.ops...))
		require.Len(t, found, 1, c.name)
		var want []harness.Op
		for _, i := range c.want {
			want = append(want, c.ops[i])
		}
		require.Equal(t, want, found[0].Ops, c.name)
		require.True(t, found[0].Certified, c.name)
	}
}

// Renewals inside the lease of an earlier one do not count among those that are followed back; of others 16 do.
func TestMutexFollowsRenewals(t *testing.T) {
	renewed := func(times int, ttl time.Duration, other harness.Op) harness.History {
		ops := []harness.Op{acquire(0, "a", 1, 2, ttl)}
		for i := range time.Duration(times) {
			ops = append(ops, extend(0, "a", 6*i+6, 6*i+8, ttl))
		}
		other.Return = 6*time.Duration(times) + 4
		return of(append(ops, other)...)
	}
	before, beside := acquire(1, "b", 0, 0, 1), acquire(1, "b", 0, 0, 4)
	runCases(t, Mutex(), []verdictCase{
		{name: "few, granted before", h: renewed(2, 10, before)},
		{name: "three, granted before", h: renewed(3, 10, before)},
		{name: "16, granted before", h: renewed(16, 10, before)},
		{name: "18, granted before or not", unknown: "overtaken", h: renewed(18, 10, before)},
		{name: "few, granted beside", want: doubleGrant, h: renewed(5, 10, beside)},
		{name: "many inside the first lease, granted before", h: renewed(40, 1000, before)},
		{name: "many inside the first lease, granted beside", want: doubleGrant, h: renewed(40, 1000, beside)},
	})
	g, _ := judge(t, Mutex(), renewed(18, 10, before))
	require.Regexp(t, "^1 acquire operations were overtaken", g.Reason)
}

// A worker may have any number of locks at once, and give up each.
func TestMutexManyLocksOfOneWorker(t *testing.T) {
	const locks = 60
	for _, given := range []bool{true, false} {
		var ops []harness.Op
		at := time.Duration(0)
		step := func(op harness.Op, key int) {
			at += 2
			op.Call, op.Return = at, at+1
			ops = append(ops, on(string(rune('A'+key)), op))
		}
		for i := range locks {
			step(acquire(0, "a", 0, 0, 1000), i)
		}
		for i := range locks {
			if given {
				step(release(0, "a", 0, 0), i)
			}
			step(acquire(1, "b", 0, 0, 1000), i)
		}
		_, found := judge(t, Mutex(), of(ops...))
		if given {
			require.Empty(t, found)
		} else {
			require.Len(t, found, locks)
		}
	}
}

func TestMutexCountsWhatItForgot(t *testing.T) {
	var ops []harness.Op
	for i := range time.Duration(lateKept + 1) {
		ops = append(ops, on((i%(1<<15)).String(), info(acquire(int(3*i), "a", i, i, 9))))
	}
	last := time.Duration(lateKept + 2)
	ops = append(ops, on("0s", acquire(3*(lateKept+1), "a", last, last+1, 9)))
	g, found := judge(t, Mutex(), of(ops...))
	require.Empty(t, found)
	require.Contains(t, g.Reason, "1 grants were not judged: their owners")
	require.NotContains(t, g.Reason, "-1 grants")
}

func TestMutexFiguresWithoutExtends(t *testing.T) {
	g, _ := judge(t, Mutex(), of(acquire(0, "a", 1, 2, 10)))
	require.Len(t, g.Figures, 4)
	g, _ = judge(t, Mutex(), of(acquire(0, "a", 1, 2, 10), extend(0, "a", 3, 4, 10)))
	require.Equal(t, 1.0, figureOf(t, g, "extends"))
	require.Equal(t, 1.0, figureOf(t, g, "certain holds"))
}

func TestTimesAtTheirEnds(t *testing.T) {
	require.Equal(t, "the end", formatTime(forever))
	require.Less(t, harness.EarliestEnd(1, forever-1, 0.1), forever, "the last lease that ends")
	require.Equal(t, forever, harness.EarliestEnd(2, forever-1, 0.1))
	require.Equal(t, "all time", windowName(claim(0, 1, 2, 0)))
	require.Equal(t, "1ns", windowName(claim(0, 1, 2, 1)))
}

func TestDedupAtEqualInstants(t *testing.T) {
	runCases(t, Dedup(), []verdictCase{
		{name: "answered when its window is over", unknown: "only 0 of 1 claims", h: of(claim(0, 1, 11, 10))},
		{name: "answered just before that", h: of(claim(0, 1, 10, 10))},
	})
	g, _ := judge(t, Dedup(), of(seen(claim(0, 1, 2, 10))))
	require.Len(t, g.Figures, 2, "no message, no rate, no confirm: %v", g.Figures)
}

func TestDeliveryCountsWhatItCannotDecide(t *testing.T) {
	g, found := judge(t, Delivery(), of(claim(0, 1, 2, 5), byHarness(fail(claim(0, 20, 21, 5)))))
	require.Empty(t, found)
	require.Contains(t, g.Reason, "1 of 1 messages asked for may be lost or not")
	require.NotContains(t, g.Reason, "-1 of")
}

// A history that cannot be read is told by the pass that could not read it.
func TestDeliveryReadsTwice(t *testing.T) {
	broken := errors.New("broken")
	for bad := range 2 {
		h := of()
		pass := 0
		h.Ops = func(yield func(harness.Op, error) bool) {
			pass++
			if yield(claim(0, 1, 2, 5), nil) && pass == bad+1 {
				yield(harness.Op{}, broken)
			}
		}
		g := Delivery().Check(context.Background(), h, func(harness.Anomaly) {})
		require.Equal(t, harness.Unknown, g.Verdict)
		require.Contains(t, g.Reason, "broken")
	}
}

func TestFenceOddTokens(t *testing.T) {
	runCases(t, Fence(), []verdictCase{
		{name: "an odd token after another one", unknown: "1 results are not decimal numbers", h: of(token("5", acquire(0, "a", 1, 2, 9)),
			token("x", acquire(1, "b", 3, 4, 9)))},
		{name: "odd tokens alone", unknown: "1 results are not decimal numbers", h: of(token("x", acquire(1, "b", 3, 4, 9)))},
	})
	g, _ := judge(t, Fence(), of(token("5", acquire(0, "a", 1, 2, 9)), token("x", acquire(1, "b", 3, 4, 9))))
	require.NotContains(t, g.Reason, "no fencing token")
	require.Equal(t, 1.0, figureOf(t, g, "fencing tokens"))
}
