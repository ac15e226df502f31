package checkers

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

func TestDedup(t *testing.T) {
	twice := []harness.Class{harness.DuplicateDelivery}
	runCases(t, Dedup(), []verdictCase{
		{name: "a slow claim across a confirm that came in time", want: []harness.Class{harness.DuplicateDelivery},
			note: "had confirmed it",
			h:    of(claim(0, 0, 1, 10), confirm(0, 5, 6, 100), claim(1, 3, 50, 10))},
		{name: "a slow claim across two confirms that came in time", want: []harness.Class{harness.DuplicateDelivery},
			h: of(claim(0, 0, 1, 10), confirm(0, 5, 6, 20), confirm(0, 15, 16, 100), claim(1, 3, 50, 10))},
		{name: "a slow claim across two confirms, the first of which had returned before",
			want: []harness.Class{harness.DuplicateDelivery},
			h:    of(claim(0, 0, 1, 10), confirm(0, 2, 3, 20), confirm(0, 15, 16, 100), claim(1, 10, 50, 10))},
		{name: "a slow claim across a confirm that may have come after the lease",
			h: of(claim(0, 0, 1, 10), confirm(0, 5, 10, 100), claim(1, 3, 50, 10))},
		{name: "a slow claim that may have come before the other",
			h: of(claim(0, 0, 4, 10), confirm(0, 5, 6, 100), claim(1, 0, 50, 3))},
		{name: "a slow claim whose window can be over when the other is told",
			h: of(claim(0, 0, 3, 10), confirm(0, 5, 6, 100), claim(1, 0, 50, 3))},
		{name: "a slow claim whose window cannot be over then", want: twice,
			h: of(claim(0, 0, 3, 10), confirm(0, 5, 6, 100), claim(1, 0, 50, 4))},
		{name: "a slow claim after the confirm's window",
			h: of(claim(0, 0, 1, 10), confirm(0, 5, 6, 45), claim(1, 3, 50, 10))},
		{name: "empty", h: of(), unknown: "no claim was recorded"},
		{name: "first and seen", h: of(claim(0, 1, 2, 10), seen(claim(1, 1, 3, 10)))},
		{name: "first twice", want: twice, h: of(claim(0, 1, 2, 10), claim(1, 1, 3, 10))},
		{name: "answered when the window was over", unknown: "only 0 of 2 claims were answered inside their window",
			h: of(claim(0, 1, 12, 10), claim(1, 13, 24, 10))},
		{name: "confirmed, then first", want: twice, h: of(claim(0, 1, 2, 5), confirm(0, 3, 4, 20), claim(1, 7, 8, 5))},
		{name: "a confirm sets the mark anew, to a shorter window",
			h: of(claim(0, 1, 2, 20), confirm(0, 3, 4, 2), claim(1, 7, 8, 5))},
		{name: "a shorter confirm of an earlier mark, executed late",
			h: of(info(confirm(0, 0, 1, 2)), claim(1, 3, 4, 20), claim(2, 5, 6, 5))},
		{name: "torn, a slow confirm may be under way", unknown: "1 possible duplicates",
			h: torn(confirm(0, 1, 2, 20), claim(2, 3, 4, 20))},
		{name: "torn, and nobody confirms", want: twice, h: torn(claim(0, 1, 2, 20), claim(2, 3, 4, 20))},
		{name: "first twice, where nobody confirms", want: twice, h: claimed(claim(0, 1, 2, 10), claim(1, 1, 3, 10))},
		{name: "a confirm on its way explains it",
			h: of(claim(0, 1, 2, 100), claim(1, 20, 21, 100), confirm(2, 3, 30, 5))},
		{name: "a slow claim across a confirm that a late one may have come before",
			h: of(claim(0, 1, 2, 100), confirm(2, 9, 10, 100), claim(0, 5, 14, 100), info(confirm(1, 4, 30, 6)))},
		{name: "a slow claim across a confirm that a late one cannot have come before", want: twice,
			h: of(claim(0, 1, 2, 100), confirm(2, 9, 10, 100), claim(0, 5, 14, 100), info(confirm(1, 4, 30, 7)))},
		{name: "the second of two outlasts the first", want: slices.Repeat(twice, 3),
			h: of(claim(0, 1, 2, 30), claim(1, 2, 3, 100), claim(2, 40, 41, 2), claim(0, 50, 51, 2))},
		{name: "answered when its window is over", unknown: "only 0 of 1 claims", h: of(claim(0, 1, 11, 10))},
		{name: "answered just before that", h: of(claim(0, 1, 10, 10))},
	})
}

// While a run goes on, a duplicate is reported as soon as every worker has had a later operation.
func TestDedupDecidesOnTheWay(t *testing.T) {
	h := of()
	h.Meta.Workers, h.Meta.Kinds, h.End = 2, []harness.Kind{harness.Claim, harness.Confirm}, nil
	found := 0
	p := newDedupPass(h, dedup{}, func(harness.Anomaly) { found++ })
	p.op(claim(0, 0, 1, 0))
	p.op(claim(1, 2, 3, 0))
	for i := range time.Duration(3 * watermarkEvery) {
		require.Zero(t, found, "worker 1 may still confirm")
		p.op(on("n", seen(claim(0, 4+i, 4+i, 1))))
	}
	at := time.Duration(4 * watermarkEvery)
	for i := range time.Duration(watermarkEvery) {
		p.op(on("n", seen(claim(int(i%2), at+i, at+i, 1))))
	}
	require.Equal(t, 1, found)
	require.Empty(t, p.queue)
	require.Empty(t, p.suspects)

	h.Meta.Kinds = []harness.Kind{harness.Claim}
	p = newDedupPass(h, dedup{}, func(harness.Anomaly) { found++ })
	p.op(claim(0, 0, 1, 0))
	p.op(claim(1, 2, 3, 0))
	require.Equal(t, 2, found, "nobody confirms")
}

// Where the harness may confirm, a claim is not reported while a confirm of the harness may still be under way.
func TestDedupConfirmedByTheHarness(t *testing.T) {
	busy := func(from time.Duration) (ops []harness.Op) {
		for i := range time.Duration(4 * watermarkEvery) {
			ops = append(ops, on("n", seen(claim(int(i%2), from+2*i, from+2*i+1, 1))))
		}
		return ops
	}
	found := func(h harness.History) int {
		h.Meta.Workers = 2
		_, found := judge(t, DedupConfirmed(true), h)
		return len(found)
	}
	twice := append([]harness.Op{claim(0, 0, 10, 50_000), claim(1, 200, 210, 50_000)}, busy(1000)...)
	for _, before := range [][]harness.Op{nil, {byHarness(seen(on("n", claim(0, 1, 2, 1))))}} {
		for call, want := range map[time.Duration]int{50: 0, 110: 0, 111: 1} {
			ops := slices.Concat(before, twice, []harness.Op{byHarness(confirm(0, call, 100_000, 100))})
			require.Equal(t, want, found(of(ops...)), "confirmed from %d on", call)
		}
	}
	require.Zero(t, found(torn(twice...)), "the harness has said nothing yet")
	ops := slices.Concat(twice, []harness.Op{byHarness(on("n", confirm(0, 300, 20_000, 100)))}, busy(20_001))
	require.Equal(t, 1, found(torn(ops...)), "nobody is left who could confirm in time")
}

// A claim is not decided while a confirm may still be called in the instant in which the claim returned.
func TestDedupWaitsForAConfirmOfThatInstant(t *testing.T) {
	h := drifting(0.3, of())
	h.Meta.Workers, h.Meta.Kinds = 2, []harness.Kind{harness.Claim, harness.Confirm}
	p := newDedupPass(h, dedup{}, func(harness.Anomaly) { require.Fail(t, "a confirm explains it") })
	p.op(claim(0, 0, 1, 0))
	p.op(claim(1, 2, 3, 0))
	p.decideBefore(3)
	p.op(confirm(0, 3, 9, 1))
	p.decideBefore(forever)
}

// If more marks forbid a claim than are kept, and a later confirm shortens those that are kept, the claim is not
// judged.
func TestDedupManyMarksAgainstAClaim(t *testing.T) {
	for n, want := range map[time.Duration]string{againstKept: "none of 1 messages",
		againstKept + 1: "1 claims were not judged"} {
		var ops []harness.Op
		for i := range n {
			ops = append(ops, confirm(0, i, i, 1000))
		}
		g, _ := judge(t, Dedup(), of(append(ops, claim(1, 50, 51, 5), confirm(2, 20, 60, 3))...))
		require.Contains(t, g.Reason, want)
		require.NotContains(t, g.Reason, "-1")
		require.InDelta(t, againstKept+1-n, figureOf(t, g, "messages"), 0)
	}
}

// If more claims wait for confirms than are kept, the later ones are not judged.
func TestDedupManyClaimsThatWait(t *testing.T) {
	var ops []harness.Op
	for i := range time.Duration(maxUndecided + 1) {
		ops = append(ops, on(i.String(), claim(0, 2*i, 2*i, 100_000)), on(i.String(), claim(1, 2*i+1, 2*i+1, 100_000)))
	}
	g, found := judge(t, DedupConfirmed(false), torn(ops...))
	require.Empty(t, found)
	require.Contains(t, g.Reason, "before 4096 possible duplicates were decided")
	require.Contains(t, g.Reason, "; 1 claims were not judged")
}

// Messages are kept while their window lasts, however many they are.
func TestDedupOfManyMessages(t *testing.T) {
	var ops []harness.Op
	for i := range time.Duration(3000) {
		ops = append(ops, on(i.String(), claim(0, 2*i, 2*i+1, 10_000)),
			on(i.String(), confirm(0, 2*i+1, 2*i+1, 10_000)))
	}
	_, found := judge(t, Dedup(), of(append(ops, on("0s", claim(1, 7000, 7001, 10_000)))...))
	require.Len(t, found, 1)
}

// A confirm is kept if it may shorten some mark more than every other confirm of its message does.
func TestDedupKeepsConfirmsThatMatter(t *testing.T) {
	runCases(t, Dedup(), []verdictCase{
		{name: "answered later than one like it",
			h: of(confirm(0, 1, 2, 5), confirm(1, 1, 10, 5), claim(2, 5, 11, 100), claim(0, 20, 21, 100))},
		{name: "called earlier than one like it",
			h: of(info(confirm(0, 4, 4, 5)), info(confirm(1, 1, 5, 5)), claim(2, 2, 6, 100), claim(4, 8, 8, 100))},
		{name: "called earlier, with a longer window",
			h: of(info(confirm(0, 1, 2, 6)), info(confirm(1, 4, 5, 5)), claim(2, 1, 6, 100), claim(4, 8, 8, 100))},
		{name: "a shorter window, late", h: of(info(confirm(0, 1, 2, 50)), info(confirm(1, 3, 4, 5)),
			claim(2, 5, 6, 100), claim(4, 20, 21, 100))},
		{name: "a shorter window, answered earlier",
			h: of(confirm(0, 1, 2, 5), confirm(1, 1, 3, 9), claim(2, 2, 4, 100), claim(0, 8, 8, 100))},
		{name: "those of other messages do not matter", want: []harness.Class{harness.DuplicateDelivery},
			h: of(info(on("a", confirm(0, 1, 2, 1))),
				info(on("b", confirm(1, 1, 2, 1))), on("c", confirm(2, 1, 2, 1)), on("d", confirm(2, 2, 3, 1)),
				claim(3, 3, 4, 100), claim(4, 20, 21, 100))},
	})
}

// If more confirms come than are kept, no false duplicate is reported. A claim that a dropped confirm might excuse
// counts as not judged.
func TestDedupManyConfirms(t *testing.T) {
	for _, outcome := range []harness.Outcome{harness.OK, harness.Info} {
		judge := func(window, call time.Duration) (harness.Judgement, int) {
			var ops []harness.Op
			for i := range time.Duration(3*confirmsKept + 1) {
				c := on(i.String(), confirm(0, i, i, 5))
				c.Outcome = outcome
				ops = append(ops, c)
			}
			h := of(append(ops, claim(1, call, 100_000, window), claim(2, 100_001, 100_002, window))...)
			h.Meta.Workers = 0
			g, found := judge(t, Dedup(), h)
			return g, len(found)
		}
		g, found := judge(200_000, 50_000)
		if outcome == harness.OK {
			require.Equal(t, 1, found, "all had returned before: %s", g.Reason)
			_, found = judge(200_000, 2*confirmsKept)
			require.Equal(t, 1, found, "those that are not kept had returned before")
			g, found = judge(200_000, 2*confirmsKept-1)
		} else {
			_, found = judge(200_000, 0)
			require.Zero(t, found)
		}
		for _, window := range []time.Duration{3, 5} { // no longer than the confirms' windows
			g, _ := judge(window, 10)
			require.NotContains(t, g.Reason, "not judged")
		}
		require.Zero(t, found)
		require.Equal(t, harness.Unknown, g.Verdict)
		require.Regexp(t, "^[1-9][0-9]* claims were not judged", g.Reason)
	}
}

// Of the confirms that were dropped, the shortest window is remembered, separately for ok ones and for those in info.
func TestDedupShortestOfManyConfirms(t *testing.T) {
	var ops []harness.Op
	for i := range time.Duration(3*confirmsKept + 1) {
		window := 50_000 + 80_000*(i%2)
		ops = append(ops, on(i.String(), confirm(0, i, i, window)),
			on(i.String(), info(confirm(1, i, i, 100_000+window))))
	}
	h := of(append(ops, claim(2, 10, 100_000, 200_000), claim(0, 100_001, 100_002, 200_000))...)
	h.Meta.Workers = 0
	_, found := judge(t, Dedup(), h)
	require.Empty(t, found)
}

// Each time the number of messages has doubled, the marks that may have ended are dropped, and no others.
func TestMarksThatArePastAreForgotten(t *testing.T) {
	const now = 100
	marked := func(ends ...time.Duration) (all []mark) {
		for _, at := range ends {
			all = append(all, mark{ends: at})
		}
		return all
	}
	fill := func(n int) *dedupPass {
		p := &dedupPass{marks: map[string][]mark{
			"one in force": marked(now + 1), "one that ends": marked(now), "two": marked(now+1, now+2),
			"one of two": marked(now-1, now+2), "none of two": marked(1, now),
		}}
		for i := len(p.marks); i < n; i++ {
			p.marks[strconv.Itoa(i)] = marked(1)
		}
		return p
	}
	few := fill(1023)
	few.sweep(now)
	require.Len(t, few.marks, 1023)
	p := fill(1024)
	p.sweep(now)
	require.Equal(t, map[string][]mark{"one in force": marked(now + 1), "two": marked(now+1, now+2),
		"one of two": marked(now + 2)}, p.marks)
	for i := range 1020 + 2*len(p.marks) {
		p.marks[strconv.Itoa(i)] = marked(1)
	}
	left := len(p.marks)
	p.sweep(now)
	require.Len(t, p.marks, left, "they have not doubled")
}
