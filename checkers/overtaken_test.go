package checkers

import (
	"strconv"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

// even is n draws of 2, 4, 6, ..., one after the other: draw i returns 2*(i+1) at 10*i+5.
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
	late := token("1001", acquire(2, "late", 10*499+6, 10*many, 1)) // after 1000
	g, _ := judge(t, Fence(), of(append(ops, late)...))
	require.Equal(t, harness.Unknown, g.Verdict)
	require.Contains(t, g.Reason, "1 acquire operations were overtaken by so many others")
}
