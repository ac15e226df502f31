package checkers

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

// even returns n draws of 2, 4, 6, ..., one after the other: draw i returns 2*(i+1) at 10*i+5.
func even(n int) []harness.Op {
	ops := make([]harness.Op, n)
	for i := range ops {
		at := time.Duration(10 * i)
		ops[i] = next(i%2, at, at+5, strconv.Itoa(2*(i+1)))
	}
	return ops
}

// The late calls are made right after the draw with that index has returned, and answered when far more than peaksKept
// others have been.
func TestACallThatThousandsOvertook(t *testing.T) {
	const many = 6 * peaksKept
	end := time.Duration(10 * many)
	late := func(worker, after, less int) harness.Op {
		return next(worker, time.Duration(10*after+6), end+time.Duration(worker), strconv.Itoa(2*(after+1)-less))
	}
	for _, after := range []int{500, 501, 2000, 2001, 3002, 3003, many - 2} {
		g, found := judge(t, Sequence(), of(append(even(many), late(2, after, 1))...))
		require.Equal(t, harness.Invalid, g.Verdict, after)
		require.Len(t, found, 1)
		require.Equal(t, strconv.Itoa(2*(after+1)), found[0].Ops[0].Result, "the largest that had returned")
		require.True(t, found[0].Certified)

		g, _ = judge(t, Sequence(), of(append(even(many), late(2, after, -1))...))
		require.Equal(t, harness.Valid, g.Verdict, "%d: %s", after, g.Reason)

		g, _ = judge(t, Sequence(), onceOnly(of(append(even(many), late(2, after, -1))...)))
		if g.Verdict == harness.Unknown {
			require.Contains(t, g.Reason, "1 next operations were overtaken by so many others")
		}
	}
	g, _ := judge(t, Sequence(), onceOnly(of(append(even(many), late(2, 500, -1))...)))
	require.Equal(t, harness.Unknown, g.Verdict, "of what is dropped nothing is known while the run goes on")

	g, found := judge(t, Sequence(), of(append(even(many), late(2, 500, 1), late(3, 500, -1), late(4, 498, -1), late(5, 2001, 1))...))
	require.Equal(t, harness.Invalid, g.Verdict)
	require.Len(t, found, 2)
}

func TestMoreOvertakenCallsThanASecondPassJudges(t *testing.T) {
	const many, worker = 6 * peaksKept, 10
	ops := even(many)
	for i := range retryAtMost + 3 {
		// Each number once, and never smaller than what had returned before.
		ops = append(ops, next(worker+i, time.Duration(10*i+6), time.Duration(10*many+i), strconv.Itoa(2*(i+1)+1)))
	}
	h := of(ops...)
	h.Meta.Workers = worker + retryAtMost + 3
	g, _ := judge(t, Sequence(), h)
	require.Equal(t, harness.Unknown, g.Verdict)
	require.Contains(t, g.Reason, "operations were overtaken by so many others")
}

func TestATokenThatThousandsOvertook(t *testing.T) {
	const many = 6 * peaksKept
	var ops []harness.Op
	for i := range many {
		at := time.Duration(10 * i)
		ops = append(ops, token(strconv.Itoa(2*(i+1)), acquire(i%2, strconv.Itoa(i), at, at+5, 1)))
	}
	for _, client := range []int{2, harness.HarnessClient} {
		for _, tc := range []struct {
			token string
			want  []harness.Class
		}{{"1001", nil}, {"1000", fenceRegression}, {"999", fenceRegression}} {
			late := token(tc.token, acquire(client, "late", 10*499+6, 10*many, 1)) // after 1000
			g, found := judge(t, Fence(), of(append(ops, late)...))
			require.Equal(t, tc.want, classes(found), g.Reason)
			for _, a := range found {
				require.Equal(t, "1000", a.Ops[0].Result)
			}

			g, _ = judge(t, Fence(), onceOnly(of(append(ops, late)...)))
			require.Equal(t, harness.Unknown, g.Verdict)
			require.Contains(t, g.Reason, "1 acquire operations were overtaken by so many others")
		}
		own := token("1000", acquire(client, "late", 10*499+6, 10*many, 1))
		first := token("1000", acquire(client, "late", 0, 0, 1))
		_, found := judge(t, Fence(), of(append(slices.Clone(ops[500:]), first, own)...))
		require.Empty(t, found, "its own again")
	}
}

var fenceRegression = []harness.Class{harness.FenceRegression}

// The watermark counts the workers only. A client that is not a worker may return from a call made long before it.
func TestTheHarnessThatThousandsOvertook(t *testing.T) {
	const many = 6000
	end := time.Duration(10 * many)
	of := func(ops ...harness.Op) harness.History {
		h := of(ops...)
		h.Meta.Workers = 2
		return h
	}
	ours := func(call time.Duration, n int) harness.Op { return byHarness(next(0, call, end, strconv.Itoa(n))) }
	for _, tc := range []struct {
		call time.Duration
		n    int
		want []harness.Class
	}{
		{6, 1, []harness.Class{harness.Regression}}, {5, 1, nil}, {1006, 201, []harness.Class{harness.Regression}}, {1006, 203, nil},
		{end - 10 + 6, 2*many + 1, nil}, {end - 10 + 6, 2*many - 1, []harness.Class{harness.Regression}},
	} {
		g, found := judge(t, Sequence(), of(append(even(many), ours(tc.call, tc.n))...))
		require.Equal(t, tc.want, classes(found), "%v: %s", tc, g.Reason)
		_, found = judge(t, Sequence(), of(append(append([]harness.Op{byHarness(next(0, 0, 1, "0"))}, even(many)...), ours(tc.call, tc.n))...))
		require.Equal(t, tc.want, classes(found), "spoken before: %v", tc)
	}

	look := inspect(1006, end, "150", 0) // 202 had been returned
	g, _ := judge(t, Stored(), of(append(even(many), look)...))
	require.Equal(t, harness.Unknown, g.Verdict, "its first word")
	require.Contains(t, g.Reason, "1 inspect operations were overtaken")
	_, found := judge(t, Stored(), of(append(append(even(2*peaksKept-1), inspect(0, 1, "", 0)), look)...))
	require.Equal(t, []harness.Class{harness.ReturnedNotStored}, classes(found))
	require.Equal(t, "202", found[0].Ops[0].Result)
}

// Owners after whom too many others came are not judged, and the verdict says so.
func TestAWriteThatThousandsOvertook(t *testing.T) {
	ops := []harness.Op{byHarness(acquire(0, "a", 0, 1, 10))}
	for i := range 6000 {
		at, token := time.Duration(20+10*i), strconv.Itoa(i)
		ops = append(ops, acquire(i%2, token, at, at+1, 5), guarded(i%2, token, i, at+2, at+3), release(i%2, token, at+4, at+5))
	}
	late := func(call time.Duration) harness.History {
		h := of(append(ops, byHarness(guarded(0, "a", 9999, call, 100_000)))...)
		h.Meta.Workers = 2
		return h
	}
	g, _ := judge(t, Holders(), late(1000))
	require.Equal(t, harness.Unknown, g.Verdict)
	require.Contains(t, g.Reason, "1 add operations were overtaken")
	_, found := judge(t, Holders(), late(60_021))
	require.Equal(t, []harness.Class{harness.StaleHolder}, classes(found))
}
