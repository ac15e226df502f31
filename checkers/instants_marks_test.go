package checkers

import (
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

func TestMutexRenewedAtEqualInstants(t *testing.T) {
	runCases(t, Mutex(), []verdictCase{
		{name: "granted in one instant, one of them shortened later", want: doubleGrant, h: of(acquire(0, "a", 1, 2, 100),
			acquire(1, "b", 1, 2, 100), info(extend(1, "b", 3, 4, 10)))},
		{name: "granted in one instant, one of them shortened to it", h: of(acquire(0, "a", 1, 2, 100),
			acquire(1, "b", 1, 2, 100), promising(2, extend(1, "b", 2, 4, 10)))},
	})
}

// Counts in reasons are those of the history, and never negative.
func TestReasonsCount(t *testing.T) {
	reason := func(c harness.Checker, h harness.History) string {
		g, _ := judge(t, c, h)
		return g.Reason
	}
	require.Contains(t, reason(Mutex(), torn(acquire(0, "a", 1, 2, 100), acquire(1, "b", 3, 6, 100))), "before 1 possible overlap")
	require.Contains(t, reason(Sequence(), of(next(0, 1, 2, "5"), next(1, 3, 4, "6"))), "2 numbers, none twice")
	require.NotContains(t, reason(Sequence(), of(next(0, 1, 2, "5"))), "-")
	guarded := add(0, 1, 3, 4)
	guarded.Key, guarded.Result = harness.Guarded("k"), "a"
	require.Regexp(t, "^1 of 1 writes", reason(Holders(), of(guarded)))
}

func TestSequenceAtEqualNumbers(t *testing.T) {
	const tail = "1234567890123456789"
	runCases(t, Sequence(), []verdictCase{
		{name: "an odd result after a number", unknown: "not decimal numbers", h: of(next(0, 1, 2, "5"), next(1, 3, 4, "x"))},
		{name: "equal in their last 19 digits", h: of(next(0, 1, 2, tail), next(0, 3, 4, "1"+tail), next(0, 5, 6, "2"+tail))},
		{name: "equal in their first digits", h: of(next(0, 1, 2, "7"+tail), next(0, 3, 4, "7"+"2345678901234567890"))},
		{name: "equal", want: []harness.Class{harness.DuplicateNumber}, h: of(next(0, 1, 2, "7"+tail), next(1, 3, 4, "7"+tail))},
	})
	g, found := judge(t, Sequence(), of(next(0, 1, 2, "5"), next(1, 3, 4, "5"), next(0, 5, 6, "3")))
	require.Equal(t, []harness.Class{harness.DuplicateNumber, harness.Regression}, classes(found))
	require.Equal(t, next(0, 1, 2, "5"), found[1].Ops[0], "the first of the largest")
	require.Equal(t, 2.0, figureOf(t, g, "first duplicate at call"))
}

func TestSequenceFirstDuplicateOfSeveral(t *testing.T) {
	at := time.Duration(0)
	draws := func(key string, results ...string) (ops []harness.Op) {
		for _, r := range results {
			at += 2
			ops = append(ops, on(key, next(0, at, at+1, r)))
		}
		return ops
	}
	third, second := func() []harness.Op { return draws("a", "1", "2", "2") }, func() []harness.Op { return draws("b", "1", "1") }
	for _, ops := range [][]harness.Op{append(third(), second()...), append(second(), third()...)} {
		g, _ := judge(t, Sequence(), of(ops...))
		require.Equal(t, 2.0, figureOf(t, g, "first duplicate at call"))
	}
	g, _ := judge(t, Sequence(), of(draws("a", "1", "2")...))
	require.Len(t, g.Figures, 3, "no duplicate, no call of the first one: %v", g.Figures)
}

func TestStoredLateTTLs(t *testing.T) {
	late := func(client int, call, ttl time.Duration) harness.Op {
		return info(withTTL(ttl, next(client, call, call+1, "")))
	}
	drawn := next(1, 4, 5, "5")
	gone := []harness.Op{inspect(6, 6, "5", 0), inspect(18, 19, "", 0)}
	restart := []harness.Class{harness.SequenceRestart}
	with := func(ops ...harness.Op) harness.History { return of(append(append(ops, drawn), gone...)...) }
	runCases(t, Stored(), []verdictCase{
		{name: "none late", want: restart, h: with()},
		{name: "one late", h: with(late(0, 1, 6))},
		{name: "one late, over when the answer comes", h: with(late(0, 1, 13))},
		{name: "one late, not over then", want: restart, h: with(late(0, 1, 14))},
		{name: "one late, then one without a TTL", h: with(late(0, 1, 6), late(3, 3, 0))},
		{name: "the shorter one first", h: with(late(0, 1, 6), late(3, 3, 60))},
		{name: "the longer one first", h: with(late(0, 1, 60), late(3, 3, 6))},
		{name: "the one that is seen is shorter", h: of(late(0, 1, 60), drawn, inspect(10, 11, "5", 6), inspect(17, 18, "", 0))},
		{name: "nothing was there, a late one may have begun it", h: of(late(0, 1, 6), drawn, inspect(2, 3, "", 0), inspect(4, 4, "4", 0), inspect(12, 13, "", 0))},
	})
}

func TestHoldersAtEqualInstants(t *testing.T) {
	all := successors{{acquire: acquire(0, "a", 0, 0, 1), write: add(0, 1, 1, 1)}, {acquire: acquire(1, "b", 2, 2, 1), write: add(1, 2, 3, 5)},
		{acquire: acquire(2, "c", 6, 6, 1), write: add(2, 3, 7, 9)}}
	kept := append(successors(nil), all...).prune(5)
	s, ok := kept.lastBefore(5)
	require.True(t, ok)
	require.Equal(t, all[0].write, s.write, "a write called at 5 may still come: the one answered then is not before it")
	s, ok = append(successors(nil), all...).prune(9).lastBefore(9)
	require.True(t, ok)
	require.Equal(t, all[1].write, s.write)
	require.Len(t, append(successors(nil), all...).prune(10), 1)
	require.Len(t, all.withSuccessor(successor{acquire: acquire(0, "d", 6, 6, 1), write: add(0, 4, 10, 11)}), 3, "asked for its lock no later than the last")
}

// Extends without a grant do not displace a grant that is kept.
func TestHoldersExtendsOfNothing(t *testing.T) {
	write := func(client, value int, by string, call, ret time.Duration) harness.Op {
		op := add(client, value, call, ret)
		op.Key, op.Result = harness.Guarded("k"), by
		return op
	}
	ops := []harness.Op{acquire(0, "a", 1, 2, 5)}
	for i := range time.Duration(2 * maxUnreleased) {
		ops = append(ops, extend(0, "lost"+i.String(), 3, 3, 5))
	}
	ops = append(ops, acquire(1, "b", 20, 21, 50), write(1, 1, "b", 22, 23), write(0, 2, "a", 24, 25))
	_, found := judge(t, Holders(), of(ops...))
	require.Equal(t, []harness.Class{harness.StaleHolder}, classes(found))
}

func TestStuckCountsWhatItCannotDecide(t *testing.T) {
	probe := byHarness(fail(acquire(0, "p", 50, 51, 5)))
	probe.Err = harness.Held
	g, found := judge(t, Stuck(), of(acquire(0, "a", 1, 2, 100), probe))
	require.Empty(t, found)
	require.Contains(t, g.Reason, "1 of 1 locks tried were not granted")
	require.NotContains(t, g.Reason, "-1 of")
}

// What is found in the end comes in the order of the history, and unexpected writes alone ask for a third look at it.
func TestWritesOrderAndPasses(t *testing.T) {
	const clients = 12
	var ops []harness.Op
	for i := range clients {
		at := time.Duration(2*i + 1)
		lost, unexpected := add(i, 100+i, at, at+1), fail(add(i, 200+i, at, at+1))
		lost.Key, unexpected.Key = "lost", "unexpected"
		ops = append(ops, lost, unexpected)
	}
	h := of(append(ops, on("lost", read(90, 91, "")), on("unexpected", read(90, 91, "200-299")))...)
	h.Meta.Workers = clients
	_, found := judge(t, Writes(), h)
	require.Len(t, found, 2*clients)
	for i, a := range found {
		require.Equal(t, i%clients, a.Ops[0].Client, "%v", a)
	}

	h = of(add(0, 1, 1, 2), read(90, 91, "1"))
	all, passes := h.Ops, 0
	h.Ops = func(yield func(harness.Op, error) bool) {
		if passes++; passes <= 2 {
			all(yield)
		}
	}
	g, _ := judge(t, Writes(), h)
	require.Equal(t, harness.Valid, g.Verdict, g.Reason)
}
