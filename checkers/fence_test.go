package checkers

import (
	"strconv"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

func TestFence(t *testing.T) {
	grant := func(client int, call, ret time.Duration, result string) harness.Op {
		return token(result, acquire(client, strconv.Itoa(client%testWorkers), call, ret, 10))
	}
	back := []harness.Class{harness.FenceRegression}
	runCases(t, Fence(), []verdictCase{
		{name: "empty", h: of(), unknown: "no fencing token was recorded"},
		{name: "grants without tokens", h: of(grant(0, 1, 2, "")), unknown: "no fencing token was recorded"},
		{name: "numbers are no tokens", h: of(next(0, 1, 2, "9")), unknown: "no fencing token was recorded"},
		{name: "rising", h: of(grant(0, 1, 2, "9"), grant(1, 3, 4, "10"), grant(2, 5, 6, "100"))},
		{name: "smaller", want: back, h: of(grant(0, 1, 2, "10"), grant(1, 3, 4, "9"))},
		{name: "equal, with a leading zero", want: back, h: of(grant(0, 1, 2, "9"), grant(1, 3, 4, "09"))},
		{name: "smaller, though the larger one was granted while it was asked for", want: back,
			h: of(grant(1, 4, 5, "10"), grant(0, 1, 6, "9"))},
		{name: "smaller, but a late release of the owner may have ended it",
			h: of(info(release(0, "0", 0, 1)), grant(1, 4, 5, "10"), grant(testWorkers, 2, 6, "9"))},
		{name: "smaller, of widened operations", h: inMachines(of(grant(1, 4, 5, "10"), grant(0, 1, 6, "9")))},
		{name: "beyond 2^53", want: back, h: of(grant(0, 1, 2, "9007199254740993"),
			grant(1, 3, 4, "9007199254740992"))},
		{name: "drawn after the lock was lost", want: back,
			h: of(token("2", acquire(0, "a", 1, 8, 3)), token("1", acquire(1, "b", 5, 6, 10)))},
		{name: "one token for two owners, the first of whom was answered late", want: back,
			h: of(token("1", acquire(0, "a", 1, 8, 3)), token("1", acquire(1, "b", 5, 6, 10)))},
		{name: "one token for two owners who were both answered late", want: back, note: "were both granted k",
			h: of(token("1", acquire(0, "a", 1, 9, 3)), token("01", acquire(1, "b", 2, 9, 3)))},
		{name: "one token for one owner, answered late twice",
			h: of(token("1", acquire(0, "a", 1, 9, 3)), token("1", acquire(0, "a", 9, 12, 2)))},
		{name: "one token for two owners, in machines", want: back,
			h: inMachines(of(token("1", acquire(0, "a", 1, 9, 3)), token("1", acquire(1, "b", 2, 9, 3))))},
		{name: "released before the other returned",
			h: of(token("1", acquire(1, "b", 5, 6, 10)), token("2", acquire(0, "a", 1, 9, 30)),
				release(1, "b", 7, 10))},
		{name: "smaller, but a late extend of the owner may have made it short",
			h: of(info(extend(0, "0", 0, 1, 1)), grant(1, 4, 5, "10"), grant(testWorkers, 2, 6, "9"))},
		{name: "smaller, but a late acquire of the owner may have made it short",
			h: of(info(acquire(0, "0", 0, 1, 1)), grant(1, 4, 5, "10"), grant(testWorkers, 2, 6, "9"))},
		{name: "not a number", h: of(grant(0, 1, 2, "x")),
			unknown: `1 results are not decimal numbers, the first: client 0 was given "x" at 2ns`},
	})
}

// If a grant was answered while another owner still had the lock, it was given first, even if that owner renewed its
// lock.
func TestFenceOfRenewedLocks(t *testing.T) {
	back := []harness.Class{harness.FenceRegression}
	slow := func(ret time.Duration) harness.Op { return token("2", acquire(0, "a", 1, ret, 3)) }
	b := token("1", acquire(1, "b", 5, 6, 10)) // its lease ends at 15
	runCases(t, Fence(), []verdictCase{
		{name: "over", h: of(slow(15), b)},
		{name: "renewed", want: back, h: of(slow(20), b, extend(1, "b", 12, 13, 10))},
		{name: "renewed, answered when the first lease is over", want: back,
			h: of(slow(15), b, extend(1, "b", 12, 13, 10))},
		{name: "renewed, in machines", h: inMachines(of(slow(20), b, extend(1, "b", 12, 13, 10)))},
		{name: "renewed, perhaps", h: of(slow(20), b, info(extend(1, "b", 12, 13, 10)))},
		{name: "renewed when it was over", h: of(slow(20), b, extend(1, "b", 12, 15, 10))},
		{name: "renewed twice, the second time at the end of the first lease", want: back,
			h: of(slow(30), b, extend(1, "b", 7, 8, 20), extend(1, "b", 12, 15, 20))},
		{name: "renewed for a short time", h: of(slow(14), b, extend(1, "b", 7, 8, 3))},
		{name: "renewed for a short time, to that instant", h: of(slow(14), b, extend(1, "b", 13, 16, 1))},
		{name: "given up at that instant", h: of(slow(14), b, on("other", acquire(1, "z", 7, 14, 5)),
			release(1, "b", 14, 15))},
		{name: "of two the one with the larger token shows it", want: back, note: "was granted it with 3",
			h: of(slow(12), token("3", acquire(2, "c", 1, 13, 3)), b)},
		{name: "answered in one instant, after a smaller one", want: back,
			h: of(slow(6), token("0", acquire(2, "c", 1, 6, 3)), b)},
	})
	ops := []harness.Op{token("2", acquire(0, "a", 1, 500, 3)), token("1", acquire(1, "b", 5, 6, 1000))}
	for i := range time.Duration(2 * fenceHoldsKept) {
		ops = append(ops, token(strconv.Itoa(int(3+i)), acquire(2+int(i), i.String(), 10+2*i, 10+2*i, 1)))
	}
	h := of(ops...)
	h.Meta.Workers = 100
	_, found := judge(t, Fence(), h)
	require.Equal(t, back, classes(found), "many short leases beside a long one")
	_, found = judge(t, Fence(), of(slow(12), b, extend(1, "b", 9, 10, 20)))
	require.Len(t, found[0].Ops, 2, "the renewal is not needed to show it")
}

// If many grants are under way at the same time, and two of them get one token, these two are found.
func TestFenceOfManyAtOnce(t *testing.T) {
	var ops []harness.Op
	for i := range 40 {
		ops = append(ops, token(strconv.Itoa(100+i%39), acquire(i, strconv.Itoa(i), 1, time.Duration(10+i), 1)))
	}
	h := of(ops...)
	h.Meta.Workers = 40
	_, found := judge(t, Fence(), h)
	require.Equal(t, []harness.Class{harness.FenceRegression}, classes(found))
}

// If two owners got the same number, a third grant with it is wrong, whichever owner gets it.
func TestPeaksOfEqualNumbers(t *testing.T) {
	var p peaks
	for i, owner := range []string{"a", "a", "b", "a", "b", "c"} {
		p.addIfLarger(peak{Op: acquire(0, owner, time.Duration(i), time.Duration(i), 10), number: "7"}, harness.Meta{},
			0)
	}
	require.Len(t, p, 2)
	require.Equal(t, []string{"a", "b"}, []string{p[0].Arg, p[1].Arg})
	p.addIfLarger(peak{Op: acquire(0, "a", 9, 9, 10), number: "6"}, harness.Meta{}, 0)
	require.Len(t, p, 2)
	p.addIfLarger(peak{Op: acquire(0, "b", 9, 9, 10), number: "8"}, harness.Meta{}, 0)
	require.Len(t, p, 3)
}

// inMachines marks h as widened, as a history of generators on several machines is.
func inMachines(h harness.History) harness.History { h.Meta.Widened = true; return h }
