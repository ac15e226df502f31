package checkers

import (
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

func TestDedup(t *testing.T) {
	twice := []harness.Class{harness.DuplicateDelivery}
	runCases(t, Dedup(), []verdictCase{
		{name: "empty", h: of(), unknown: "no claim was recorded"},
		{name: "one", h: of(claim(0, 1, 2, 10))},
		{name: "only seen", h: of(seen(claim(0, 1, 2, 10)))},
		{name: "first and seen", h: of(claim(0, 1, 2, 10), seen(claim(1, 1, 3, 10)))},
		{name: "first twice", want: twice, h: of(claim(0, 1, 2, 10), claim(1, 1, 3, 10))},
		{name: "first twice by one client", want: twice, h: of(claim(0, 1, 2, 10), claim(0, 2, 3, 10))},
		{name: "two messages", h: of(claim(0, 1, 2, 10), on("n", claim(1, 1, 3, 10)))},
		{name: "window over", h: of(claim(0, 1, 2, 10), claim(1, 12, 13, 10))},
		{name: "window over at the boundary", h: of(claim(0, 1, 2, 10), claim(1, 3, 11, 10))},
		{name: "window not over just before it", want: twice, h: of(claim(0, 1, 2, 10), claim(1, 3, 10, 10))},
		{name: "drift shortens the window", h: drifting(0.2, of(claim(0, 1, 2, 10), claim(1, 3, 9, 10)))},
		{name: "drift shortens no more than that", want: twice, h: drifting(0.2, of(claim(0, 1, 2, 10), claim(1, 3, 8, 10)))},
		{name: "no window", want: twice, h: of(claim(0, 1, 2, 0), claim(1, 800, 900, 0))},
		{name: "info and first", h: of(info(claim(0, 1, 2, 10)), claim(1, 3, 4, 10))},
		{name: "fail and first", h: of(fail(claim(0, 1, 2, 10)), claim(1, 3, 4, 10))},
		{name: "retired id", want: twice, h: of(claim(0, 1, 2, 10), info(on("n", claim(0, 2, 3, 9))), claim(3, 4, 5, 10))},
		{name: "slow claim, marked and gone before the other", h: of(claim(0, 10, 12, 10), claim(1, 1, 15, 10))},
		{name: "slow claim, not gone before the other", want: twice, h: of(claim(0, 10, 12, 10), claim(1, 3, 15, 10))},
		{name: "answer after the own window", h: of(claim(0, 1, 20, 10), claim(1, 19, 21, 10))},
		{name: "three times", want: append(twice, harness.DuplicateDelivery), h: of(claim(0, 1, 2, 10), claim(1, 1, 3, 10), claim(2, 3, 4, 10))},
	})
}

func TestDedupFigures(t *testing.T) {
	g, found := judge(t, Dedup(), of(claim(0, 1, 2, 100), on("n", claim(1, 1, 3, 100)), claim(1, 3, 4, 100), claim(2, 3, 5, 100)))
	require.Len(t, found, 2)
	require.Equal(t, claim(0, 1, 2, 100), found[1].Ops[0], "against the earliest one in force")
	require.Equal(t, "clients 0 and 2 were both told that m is new, at 2ns and at 5ns, inside its window of 100ns", found[1].Note)
	require.Equal(t, 2.0, figureOf(t, g, "messages"))
	require.Equal(t, 2.0, figureOf(t, g, "duplicates"))
	require.Equal(t, 1000.0, figureOf(t, g, "duplicates per 1000 messages"))
}

func TestDedupForgets(t *testing.T) {
	p := &dedupPass{tally: newTally(of(), nil), marks: map[string][]harness.Op{}}
	for i := range 100_000 {
		at := time.Duration(i)
		p.op(on(at.String(), claim(0, at, at, 10)))
	}
	require.Less(t, len(p.marks), 2*10+1024+1)
}
