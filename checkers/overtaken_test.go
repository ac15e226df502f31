package checkers

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// even returns n draws of 2, 4, 6, ... by two workers.
func even(n int) []harness.Op {
	return draws(n, 2, func(i int) string { return strconv.Itoa(2 * (i + 1)) })
}

// A call that more than peaksKept others overtake is judged in a second pass, by the largest number before its Call.
func TestACallThatThousandsOvertook(t *testing.T) {
	const many = 6 * peaksKept
	late := func(worker, after, less int) harness.Op {
		return next(worker, time.Duration(10*after+6), time.Duration(10*many+worker), strconv.Itoa(2*(after+1)-less))
	}
	drawn := func(last ...harness.Op) harness.History { return of(append(even(many), last...)...) }
	back := []harness.Class{harness.Regression}
	cases := []verdictCase{
		{name: "nothing is known of what is dropped while the run goes on",
			unknown: "1 next operations were overtaken by so many others",
			h:       onceOnly(drawn(late(2, 500, -1)))},
		{name: "smaller than one of the latest, which are all known", want: back,
			h: onceOnly(drawn(late(2, many-peaksKept, 1)))},
		{name: "larger than that", h: onceOnly(drawn(late(2, many-peaksKept, -1)))},
		{name: "four", want: append(back, back...),
			h: drawn(late(2, 500, 1), late(3, 500, -1), late(4, 498, -1), late(5, 2001, 1))},
	}
	for _, after := range []int{500, 501, 2000, 2001, 3002, 3003, many - 2} {
		largest := strconv.Itoa(2 * (after + 1))
		cases = append(cases,
			verdictCase{name: "smaller than " + largest, want: back, h: drawn(late(2, after, 1)),
				note: " had returned " + largest},
			verdictCase{name: "larger than " + largest, h: drawn(late(2, after, -1))})
	}
	runCases(t, Sequence(), cases)

	const worker = 10
	ops := even(many)
	for i := range retriedCalls + 3 { // each number once, and none smaller than one that had returned before
		ops = append(ops, next(worker+i, time.Duration(10*i+6), time.Duration(10*many+i), strconv.Itoa(2*(i+1)+1)))
	}
	h := of(ops...)
	h.Meta.Workers = worker + retriedCalls + 3
	runCases(t, Sequence(), []verdictCase{{name: "more than a second pass judges",
		unknown: "operations were overtaken by so many others", h: h}})
}

func TestATokenThatThousandsOvertook(t *testing.T) {
	const many = 6 * peaksKept
	var ops []harness.Op
	for i := range many {
		at := time.Duration(10 * i)
		ops = append(ops, token(strconv.Itoa(2*(i+1)), acquire(i%2, strconv.Itoa(i), at, at+5, 1)))
	}
	back := []harness.Class{harness.FenceRegression}
	for who, client := range map[string]int{"a worker": 2, "the harness": harness.HarnessClient} {
		// after 1000
		late := func(number string) harness.Op { return token(number, acquire(client, "late", 10*499+6, 10*many, 1)) }
		drawn := func(number string) harness.History { return of(append(ops, late(number))...) }
		const unsure = "1 acquire operations were overtaken by so many others"
		runCases(t, Fence(), []verdictCase{
			{name: who + ", larger", h: drawn("1001")},
			{name: who + ", larger, read once", unknown: unsure, h: onceOnly(drawn("1001"))},
			{name: who + ", equal", want: back, note: "with 1000 by", h: drawn("1000")},
			{name: who + ", equal, read once", unknown: unsure, h: onceOnly(drawn("1000"))},
			{name: who + ", smaller", want: back, note: "with 1000 by", h: drawn("999")},
			{name: who + ", smaller, read once", unknown: unsure, h: onceOnly(drawn("999"))},
			{name: who + ", its own again", h: of(append(slices.Clone(ops[500:]),
				token("1000", acquire(client, "late", 0, 0, 1)), late("1000"))...)},
		})
	}
}

// The harness is not one of the workers, so many draws by workers may have returned since its call.
func TestTheHarnessThatThousandsOvertook(t *testing.T) {
	const many, end = 6000, 60_000
	of := func(ops ...harness.Op) harness.History {
		h := of(ops...)
		h.Meta.Workers = 2
		return h
	}
	back := []harness.Class{harness.Regression}
	for _, before := range [][]harness.Op{nil, {byHarness(next(0, 0, 1, "0"))}} {
		drawn := func(call time.Duration, n int) harness.History {
			return of(append(append(slices.Clone(before), even(many)...),
				byHarness(next(0, call, end, strconv.Itoa(n))))...)
		}
		runCases(t, Sequence(), []verdictCase{
			{name: "smaller than the first", want: back, h: drawn(6, 1)},
			{name: "called when that returned", h: drawn(5, 1)},
			{name: "smaller than the hundredth", want: back, h: drawn(1006, 201)},
			{name: "larger", h: drawn(1006, 203)},
			{name: "smaller than the last", want: back, h: drawn(end-4, 2*many-1)},
			{name: "larger than all", h: drawn(end-4, 2*many+1)},
		})
	}
	look := inspect(1006, end, "150", 0) // 202 had returned by then
	runCases(t, Stored(), []verdictCase{
		{name: "its first word", unknown: "1 inspect operations were overtaken", h: of(append(even(many), look)...)},
		{name: "not its first word", want: []harness.Class{harness.ReturnedNotStored}, note: "was given 202 of",
			h: of(append(even(2*peaksKept-1), inspect(0, 1, "", 0), look)...)},
	})
}

// A write is not judged if more owners wrote while it was under way than are kept. The verdict says so.
func TestAWriteThatThousandsOvertook(t *testing.T) {
	ops := []harness.Op{byHarness(acquire(0, "a", 0, 1, 10))}
	for i := range 6000 {
		at, token := time.Duration(20+10*i), strconv.Itoa(i)
		ops = append(ops, acquire(i%2, token, at, at+1, 5), guarded(i%2, token, i, at+2, at+3),
			release(i%2, token, at+4, at+5))
	}
	// Of the numbers that returned before the slowest worker, a third one that stays silent, the latest are known.
	for workers, known := range map[int]time.Duration{2: 60_021, 3: 60_021 - 10*successorsKept/2} {
		late := func(call time.Duration) harness.History {
			h := of(append(ops, byHarness(guarded(0, "a", 9999, call, 100_000)))...)
			h.Meta.Workers = workers
			return h
		}
		runCases(t, Holders(), []verdictCase{
			{name: "called among them", unknown: "1 add operations were overtaken", h: late(1000)},
			{name: "called after those that are forgotten", want: []harness.Class{harness.StaleHolder}, h: late(known)},
		})
	}
}

// Of the numbers that had returned before a time, only the largest is kept, with all that are equal to it.
func TestPeaksThatAreDropped(t *testing.T) {
	at := func(ret time.Duration, n number) peak { return peak{Op: next(0, ret, ret, string(n)), number: n} }
	for _, c := range []struct {
		kept, want peaks
		gap        bool
	}{
		{peaks{at(1, "5"), at(2, "5"), at(9, "6")}, peaks{at(1, "5"), at(2, "5"), at(9, "6")}, false},
		{peaks{at(1, "4"), at(2, "5"), at(9, "6")}, peaks{at(2, "5"), at(9, "6")}, true},
		{peaks{at(1, "4"), at(2, "5"), at(2, "5"), at(9, "6")}, peaks{at(2, "5"), at(2, "5"), at(9, "6")}, true},
		{peaks{at(1, "4"), at(9, "6")}, peaks{at(1, "4"), at(9, "6")}, false},
	} {
		left := c.kept.prune(3)
		require.Len(t, left, len(c.want))
		require.Equal(t, c.gap, left[0].gapBefore)
		for i := range left {
			require.Equal(t, c.want[i].Op, left[i].Op)
		}
	}
}

// A number that equals the largest is a duplicate, not a regression.
func TestAnEqualNumberIsNoRegression(t *testing.T) {
	found := 0
	p := &sequencePass{tally: newTally(harness.History{}, func(harness.Anomaly) { found++ })}
	for n, want := range map[number]int{"5": 0, "6": 0, "4": 1} {
		found = 0
		p.rejudge(peaks{{number: "5"}}, peak{number: n})
		require.Equal(t, want, found, n)
	}
}

// An overtaken call is reported with its place among the calls of its key.
func TestAnOvertakenCallHasItsPlace(t *testing.T) {
	l, judged := &overtakenCalls{}, 0
	late := next(0, 40, 50, "3")
	l.add(peak{Op: late, number: "3", orderedAfter: 40})
	l.retry(t.Context(), of(next(0, 0, 5, "1"), next(0, 10, 15, "4"), next(0, 20, 25, "2"), late), harness.Next,
		func(before peaks, _ peak) {
			judged++
			require.Equal(t, 2, before.top().ordinal)
		})
	require.Equal(t, 1, judged)
}
