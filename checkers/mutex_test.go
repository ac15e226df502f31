package checkers

import (
	"strconv"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

var (
	doubleGrant   = []harness.Class{harness.DoubleGrant}
	stolenRelease = []harness.Class{harness.StolenRelease}
)

func TestMutex(t *testing.T) {
	a, b := acquire(0, "a", 1, 2, 10), acquire(1, "b", 3, 4, 10)
	long, other := acquire(0, "a", 1, 2, 100), acquire(1, "b", 1, 2, 100)
	taken := func(ops ...harness.Op) harness.History { // the lease of a has ended, and b has been granted the lock
		return of(append([]harness.Op{a, acquire(1, "b", 12, 13, 30)}, ops...)...)
	}
	theft, given := release(0, "a", 14, 15), release(1, "b", 20, 21)
	shortened, renewed := info(extend(0, "a", 2, 3, 10)), extend(3, "a", 4, 5, 99)
	c, later := acquire(2, "c", 16, 17, 30), acquire(2, "c", 18, 19, 30)
	twoGrants := append(doubleGrant, harness.DoubleGrant)
	runCases(t, Mutex(), []verdictCase{
		{name: "empty", h: of(), unknown: "no acquire was recorded"},
		{name: "one after the other", h: of(acquire(0, "a", 1, 2, 10), release(0, "a", 3, 4),
			acquire(1, "b", 3, 5, 10))},
		{name: "two at once", want: doubleGrant, h: of(acquire(0, "a", 1, 2, 10), acquire(1, "b", 1, 3, 10))},
		{name: "lease over at the boundary", h: of(acquire(0, "a", 1, 2, 10), acquire(1, "b", 3, 11, 10))},
		{name: "both owners go on extending: one violation", want: doubleGrant, h: of(a, b,
			extend(0, "a", 5, 6, 10), extend(1, "b", 7, 8, 10), extend(0, "a", 9, 10, 10), extend(1, "b", 12, 13, 10))},
		{name: "extending after a release is another violation", want: twoGrants,
			h: of(acquire(0, "a", 1, 2, 10), acquire(1, "b", 3, 4, 50),
				release(0, "a", 5, 6), extend(0, "a", 7, 8, 10))},
		{name: "a third owner beside two that extend", want: twoGrants,
			h: of(a, b, extend(0, "a", 5, 6, 10), acquire(2, "c", 7, 8, 10))},

		{name: "an owner that renewed, after one that was answered late",
			h: of(acquire(0, "a", 1, 5, 100), extend(0, "a", 6, 7, 100), acquire(1, "b", 1, 14, 3))},
		{name: "of two late acquires one promised an earlier end",
			h: of(info(promising(5, acquire(0, "a", 0, 0, 50))), info(promising(9, acquire(3, "a", 1, 1, 50))),
				acquire(6, "a", 2, 3, 100), acquire(1, "b", 7, 8, 10))},
		{name: "released at the instant of its answer, beside an earlier one", want: doubleGrant,
			h: of(acquire(0, "a", 1, 2, 100), acquire(1, "b", 3, 5, 10), release(1, "b", 5, 6),
				release(0, "a", 20, 21))},
		{name: "released at the instant of its answer, before another is granted it",
			h: of(acquire(0, "a", 1, 5, 100), acquire(1, "b", 6, 7, 100), release(0, "a", 5, 9))},
		{name: "torn, one has spoken, and the other gave it up at the instant of both answers",
			h: torn(acquire(0, "a", 1, 5, 100), acquire(1, "b", 1, 5, 100), on("z", acquire(0, "z", 6, 7, 5)),
				release(1, "b", 5, 8))},
		{name: "torn, one gave it up before, and one at the instant of two answers",
			h: torn(acquire(0, "a", 1, 2, 100), acquire(2, "t", 1, 5, 100), acquire(1, "b", 1, 5, 100),
				release(0, "a", 4, 6), release(1, "b", 5, 7))},
		{name: "the second spoke of another lock at the instant of both answers, and gave it up then",
			h: of(acquire(0, "a", 1, 5, 100), acquire(1, "b", 1, 5, 100),
				on("z", acquire(1, "z", 5, 5, 5)), on("y", acquire(0, "y", 6, 7, 5)), release(1, "b", 5, 8))},
		{name: "released at the instant at which both were answered",
			h: of(acquire(0, "a", 1, 5, 10), acquire(1, "b", 1, 5, 10), release(1, "b", 5, 6))},
		{name: "over at the instant at which both were answered",
			h: of(acquire(0, "a", 1, 5, 10), acquire(1, "b", 1, 5, 10), promising(5, extend(1, "b", 5, 6, 10)))},
		{name: "in machines what a worker asks later may have come before its last answer",
			h: inMachines(of(acquire(0, "a", 1, 2, 100), acquire(1, "b", 3, 10, 100),
				on("z", acquire(0, "z", 5, 20, 5)), release(0, "a", 6, 21)))},
		{name: "in machines, what it asked later still", want: doubleGrant,
			h: inMachines(of(acquire(0, "a", 1, 2, 100), acquire(1, "b", 3, 10, 100),
				on("z", acquire(0, "z", 11, 20, 5)), release(0, "a", 12, 21)))},
		{name: "release inside the extended lease is not late", want: twoGrants,
			h: taken(extend(0, "a", 9, 10, 30), theft, c, given)},
		{name: "extended before the late release", want: stolenRelease,
			h: taken(extend(1, "b", 13, 14, 30), release(0, "a", 15, 16), acquire(2, "c", 17, 18, 30), given)},
		{name: "extended after the late release, which so removed nothing", want: doubleGrant,
			h: taken(theft, extend(1, "b", 16, 17, 30), later, given)},
		{name: "extended in vain after the late release", want: stolenRelease,
			h: taken(theft, fail(extend(1, "b", 16, 17, 30)), later, given)},
		{name: "extended at the instant of the late release", want: stolenRelease,
			h: taken(theft, extend(1, "b", 15, 17, 30), later, given)},
		{name: "extended at the instant of the late release, as is heard after the other grant", want: stolenRelease,
			h: taken(theft, acquire(2, "c", 17, 18, 30), extend(1, "b", 15, 19, 30), release(2, "c", 20, 21))},
		{name: "extended after the late release, perhaps", want: stolenRelease,
			h: taken(theft, info(extend(1, "b", 16, 17, 30)), later, release(4, "b", 20, 21))},
		{name: "release answered at the end of its lease is not late", want: doubleGrant,
			h: of(acquire(0, "a", 1, 2, 10), acquire(1, "b", 9, 10, 30),
				release(0, "a", 10, 11), acquire(2, "c", 12, 13, 30), given)},
		{name: "extended after the late release, as is heard after the other grant", want: doubleGrant,
			h: taken(theft, acquire(2, "c", 17, 18, 30), extend(1, "b", 16, 19, 30), release(2, "c", 20, 21))},
		{name: "a thief that had extended after the other's grant", want: append(doubleGrant, harness.StolenRelease),
			h: of(acquire(0, "a", 1, 2, 10), acquire(1, "b", 12, 13, 60),
				extend(0, "a", 14, 15, 5), release(0, "a", 25, 26), acquire(2, "c", 27, 28, 60),
				release(1, "b", 30, 31))},
		{name: "released and acquired again within an instant", want: stolenRelease, h: of(acquire(0, "t", 0, 1, 2),
			acquire(1, "b", 1, 3, 8), release(0, "t", 3, 3), acquire(0, "t", 3, 3, 4), release(0, "t", 5, 8))},

		{name: "the thief itself is granted it", want: stolenRelease,
			h: taken(theft, acquire(0, "c", 16, 17, 30), given)},
		{name: "late release answered before the grant it undoes", want: stolenRelease,
			h: of(a, acquire(1, "b", 12, 16, 30), release(0, "a", 13, 15), c, given)},
		{name: "late release answered after the grant it allows", want: stolenRelease,
			h: taken(release(0, "a", 14, 19), c, given)},
		{name: "late release answered when the hold it ended is over", want: stolenRelease,
			h: taken(acquire(2, "c", 16, 17, 10), release(2, "c", 30, 31), acquire(2, "d", 43, 44, 5),
				release(0, "a", 14, 50))},
		{name: "late release refused", want: doubleGrant, h: taken(fail(theft), c, given)},
		{name: "release in time explains nothing", want: doubleGrant,
			h: of(acquire(0, "a", 1, 2, 100), release(0, "a", 5, 9), acquire(1, "b", 6, 8, 90), c, given)},
		{name: "split brain: an owner that releases its own in time is no thief", want: twoGrants, h: of(
			acquire(0, "a", 1, 2, 100), acquire(1, "b", 3, 4, 100), release(0, "a", 5, 6), acquire(2, "c", 7, 8, 100))},
		{name: "with a fault in force a second primary explains it as well", want: doubleGrant,
			h: during(taken(theft, c, given), harness.Fault{Name: "partition", End: 1000, Proved: true})},
		{name: "most grants answered after their lease", unknown: "only 1 of 3 grants were answered inside their lease",
			h: of(
				acquire(0, "a", 1, 20, 10), acquire(1, "b", 21, 40, 10), acquire(2, "c", 41, 42, 10))},
		{name: "half of the grants answered after their lease",
			h: of(acquire(0, "a", 1, 20, 10), acquire(2, "c", 41, 42, 10))},
		{name: "late release after the second grant explains nothing", want: doubleGrant,
			h: taken(c, release(0, "a", 18, 19), given)},

		// Equal instants. A mutant of the checker got each of them wrong: see `make mutate`.
		{name: "answered when its lease is over", unknown: "only 0 of 1 grants", h: of(acquire(0, "a", 1, 11, 10))},
		{name: "a release called when the other is granted explains it", want: stolenRelease,
			h: taken(acquire(2, "c", 14, 16, 30), release(0, "a", 16, 20), release(1, "b", 22, 23))},
		{name: "a release called after the other is granted does not", want: doubleGrant,
			h: taken(acquire(2, "c", 14, 16, 30), release(0, "a", 17, 20), release(1, "b", 22, 23))},

		{name: "late extends, the longer one first", h: of(info(extend(0, "a", 1, 2, 9)), info(extend(3, "a", 3, 4, 5)),
			acquire(6, "a", 5, 6, 100), acquire(1, "b", 12, 13, 10))},
		{name: "a late promise, then a late extend without one", h: of(info(promising(10, extend(0, "a", 1, 2, 100))),
			info(extend(3, "a", 3, 4, 100)), acquire(6, "a", 5, 6, 100), acquire(1, "b", 12, 13, 10))},

		{name: "torn, the first one speaks of another lock in that instant, and after it", want: doubleGrant,
			h: torn(acquire(0, "a", 1, 2, 100),
				acquire(1, "b", 3, 6, 100), on("j", acquire(0, "x", 5, 6, 9)), on("j", release(0, "x", 7, 8)))},
		{name: "torn, granted in one instant, and both speak of another lock", want: doubleGrant, h: torn(long, other,
			on("j", acquire(0, "x", 3, 4, 1)), on("l", acquire(1, "x", 3, 4, 1)))},
		{name: "torn, granted in one instant, and one speaks of another lock", unknown: "1 possible overlap",
			h: torn(long, other,
				on("j", acquire(0, "x", 3, 4, 1)))},
		{name: "granted in one instant, one of them shortened later", want: doubleGrant,
			h: of(long, other, info(extend(1, "b", 3, 4, 10)))},

		// An operation in info may be executed at any later time, under the same token, and may shorten a lease.
		{name: "a late extend to less can be over",
			h: of(shortened, renewed, acquire(0, "a", 0, 1, 99), acquire(1, "b", 13, 14, 99))},
		{name: "and just before it cannot", want: doubleGrant,
			h: of(shortened, renewed, acquire(0, "a", 0, 1, 99), acquire(1, "b", 12, 13, 99))},
		// A grant that was answered after its own lease is a violation if another owner had the lock all the while.
		{name: "held all the while", want: doubleGrant, h: of(acquire(0, "a", 1, 2, 0), acquire(1, "b", 6, 40, 10))},
		{name: "renewed when it can be over",
			h: of(acquire(0, "a", 1, 2, 16), extend(0, "a", 16, 17, 30), acquire(1, "b", 6, 40, 10))},
	})
}

// A hold is traced back through up to 16 renewals. Renewals while an earlier lease goes on do not count among these.
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
		{name: "16, granted before", h: renewed(16, 10, before)},
		{name: "18, granted before or not", unknown: "1 acquire operations were overtaken", h: renewed(18, 10, before)},
		{name: "few, granted beside", want: doubleGrant, h: renewed(5, 10, beside)},
		{name: "many inside the first lease, granted beside", want: doubleGrant, h: renewed(40, 1000, beside)},
	})
}

// A worker may have any number of locks at once, and release each.
func TestMutexManyLocksOfOneWorker(t *testing.T) {
	const locks = 60
	var ops []harness.Op
	for i := range time.Duration(locks) {
		ops = append(ops, on(i.String(), acquire(0, "a", i, i, 1000)),
			on(i.String(), acquire(1, "b", 200+2*i, 200+2*i, 1000)))
	}
	_, found := judge(t, Mutex(), of(ops...))
	require.Len(t, found, locks)
	for i := range time.Duration(locks) {
		ops = append(ops, on(i.String(), release(0, "a", 199+2*i, 199+2*i)))
	}
	_, found = judge(t, Mutex(), of(ops...))
	require.Empty(t, found)
}

// Only the late commands of the latest owners are kept. A new grant to an earlier owner is not judged.
func TestMutexForgetsLateCommands(t *testing.T) {
	forgotten := func(last ...harness.Op) harness.History {
		ops := []harness.Op{acquire(0, "a", 0, 1, 10), info(release(0, "a", 2, 3))}
		for i := range time.Duration(lateKept) {
			ops = append(ops, info(extend(3+3*int(i), i.String(), 4+i, 4+i, 10)))
		}
		return of(append(ops, last...)...)
	}
	const id, at = 3 + 3*lateKept, lateKept + 10
	other := acquire(1, "b", at+2, at+3, 0)
	runCases(t, Mutex(), []verdictCase{
		{name: "the first owner comes back", unknown: "1 grants were not judged: their owners",
			h: forgotten(acquire(id, "a", at, at+1, 0))},
		{name: "and another is granted it", unknown: "1 grants were not judged",
			h: forgotten(acquire(id, "a", at, at+1, 0), other)},
		{name: "beside a new owner", want: doubleGrant, h: forgotten(acquire(id, "new", at, at+1, 0), other)},
	})
}

// Each grant while another owner is silent waits for that owner's next operation. Only as many grants wait as there is
// room for. The others are not judged.
func TestManyGrantsBesideASilentOwner(t *testing.T) {
	for _, more := range []int{0, 5} {
		ops, end := []harness.Op{acquire(0, "a", 0, 1, 0)}, time.Duration(10)
		for i := range maxUndecided + more {
			ops = append(ops, acquire(1+i%2, "t", end, end+1, time.Second), release(1+i%2, "t", end+3, end+4))
			end += 10
		}
		_, found := judge(t, Mutex(), of(ops...))
		require.Len(t, found, maxUndecided, "it never gave the lock up")
		_, found = judge(t, Mutex(), of(append(ops, release(0, "a", end, end))...))
		require.Len(t, found, maxUndecided, "it gave the lock up in the end")
		g, found := judge(t, Mutex(), of(append(ops, release(0, "a", 2, end))...))
		require.Empty(t, found, "it may have given the lock up before all others")
		if more == 0 {
			require.Equal(t, harness.Valid, g.Verdict, g.Reason)
			continue
		}
		require.Equal(t, harness.Unknown, g.Verdict)
		require.Contains(t, g.Reason, "5 grants were not judged")
	}
}

// Each client acquires the lock once, before the lease of the client before it has ended, and then stays silent.
func oneAfterTheOther(i int, t time.Duration) harness.Op {
	return acquire(i, strconv.Itoa(i), t, t, 15*time.Microsecond)
}

// If many owners in a row stay silent, only as many grants as there is room for wait to learn who released the lock.
func TestMoreSilentOwnersThanThereIsRoomFor(t *testing.T) {
	p := &mutexPass{tally: newTally(of(), func(harness.Anomaly) {}), holdsOf: map[int]*workerHolds{},
		locks: map[string]*lock{}}
	p.meta.Workers = 0 // each client is a worker
	for i := range maxUndecided + 1000 {
		p.op(oneAfterTheOther(i, time.Duration(i)*10*time.Microsecond))
	}
	require.Len(t, p.locks["k"].overlaps, maxUndecided)
	require.LessOrEqual(t, len(p.locks["k"].holds), maxUndecided+3,
		"one more than overlaps in their chain, and two inside their lease")
	require.Equal(t, 999, p.unjudged, "the first one had nobody before it")
	require.Empty(t, p.end(true))
	require.Equal(t, maxUndecided, p.counts[harness.DoubleGrant])
}

// In a widened history a hold may have ended before the recorded Return of its own grant.
func TestMutexInMachines(t *testing.T) {
	run := func(ops ...harness.Op) harness.History {
		return inMachines(of(append(ops, release(0, "a", 30, 31))...))
	}
	from := func(since time.Duration) harness.Op { return acquire(0, "a", 1, since, 100) }
	b := acquire(1, "b", 3, 10, 100)
	given := func(call time.Duration) harness.Op { return release(1, "b", call, 20) }
	shorter := extend(1, "b", 4, 12, 1) // its lease ends at 5
	spoke := on("z", acquire(0, "z", 15, 16, 5))
	runCases(t, Mutex(), []verdictCase{
		{name: "both had it at once", want: doubleGrant, h: run(from(2), b, given(20))},
		{name: "the second gave it up at once", want: doubleGrant, h: run(from(2), b, given(4))},
		{name: "the second gave it up before the first had it", h: run(from(5), b, given(4))},
		{name: "the second gave it up at the instant from which the first had it", h: run(from(5), b, given(5))},
		{name: "the second gave it up just after that", want: doubleGrant, h: run(from(5), b, given(6))},
		{name: "the second made its lease short", want: doubleGrant, h: run(from(4), b, shorter, given(20))},
		{name: "the second made its lease short, to the instant from which the first had it",
			h: run(from(5), b, shorter, given(20))},
		{name: "the first has spoken, and it is not known how long the second had it",
			h: run(from(5), b, spoke, given(5))},
		{name: "the first has spoken, and then the second", want: doubleGrant, h: run(from(5), b, spoke, given(17))},
		{name: "answered at one instant", want: doubleGrant, h: run(from(10), b, given(12))},
		{name: "answered at one instant, and given up", h: run(from(10), b, given(10))},
	})
}

// If several owners had the lock, the one that was granted it first is named, whichever of them acted first afterwards.
func TestMutexNamesTheEarliest(t *testing.T) {
	spoke := func(client int, at time.Duration) harness.Op {
		return on(strconv.Itoa(client), acquire(client, "z", at, at, 5))
	}
	for _, order := range [][2]time.Duration{{30, 40}, {40, 30}} {
		_, found := judge(t, Mutex(), inMachines(of(acquire(0, "a", 1, 2, 100), acquire(2, "c", 1, 3, 100),
			acquire(1, "b", 4, 5, 100),
			spoke(0, order[0]), spoke(2, order[1]), spoke(1, 50), spoke(0, 60), spoke(2, 60))))
		require.Len(t, found, 2)
		require.Equal(t, "a", found[1].Ops[0].Arg)
	}
}

// However many overlaps were decided, there is room for more.
func TestMutexOfManyOverlaps(t *testing.T) {
	var ops []harness.Op
	const many = 2 * maxUndecided
	for i := range time.Duration(many) {
		key := i.String()
		ops = append(ops, on(key, acquire(0, "a", 4*i, 4*i, 2)), on(key, acquire(1, "b", 4*i+1, 4*i+1, 2)))
	}
	_, found := judge(t, Mutex(), of(ops...))
	require.Len(t, found, many)
}

// Decided overlaps are dropped once they are more than half of all. The others stay.
func TestLocksDropDecidedOverlaps(t *testing.T) {
	decided := &overlap{decided: true}
	for n, left := range map[int]int{1: 4, 2: 4, 3: 1} {
		l := lock{decidedOverlaps: n}
		for i := range 4 {
			if i < n {
				l.overlaps = append(l.overlaps, decided)
			} else {
				l.overlaps = append(l.overlaps, &overlap{})
			}
		}
		l.sweep()
		require.Len(t, l.overlaps, left)
		require.False(t, l.overlaps[left-1].decided)
	}
}

// A hold that is released when its lease ends has ended with the lease.
func TestHowAHoldEnds(t *testing.T) {
	h := holdUntil("a", 5)
	for given, why := range map[time.Duration]harness.SpanEnd{-1: harness.LeaseEnds, 4: harness.OwnRelease,
		5: harness.LeaseEnds, 6: harness.LeaseEnds} {
		h.tenure = &tenure{releasedAt: given}
		require.Equal(t, why, h.span(h.op, 0)[0].Until, given)
	}
	h.tenure = &tenure{releasedAt: 0}
	require.Empty(t, h.span(h.op, 0), "given up at the beginning of the run")
}

// A release ends every grant that its owner renewed: no span of the anomaly goes on after the release.
func TestAReleaseEndsWhatWasRenewed(t *testing.T) {
	ops := []harness.Op{acquire(0, "a", 0, 8, 0), acquire(1, "b", 16, 24, 0), promising(25, acquire(1, "b", 24, 24, 0)),
		release(1, "b", 24, 32)}
	_, found := judgeWithin(t.Context(), Mutex(), of(ops...))
	require.NotEmpty(t, found)
	for _, a := range found {
		require.NoError(t, spansIn{a, ops, of().Meta}.wrong(), "%+v", a)
	}
}

// If the later hold of an overlap did not last beyond its own Return, earlier holds that began in that instant are
// ruled out. They must not be ruled out twice.
func TestWhatMayBecomeAFirstHold(t *testing.T) {
	second := &hold{indexedOp: indexedOp{acquire(1, "b", 5, 5, 4), 2}, owner: owner{1, "b"}, until: 9, untilAtReturn: 9,
		certainFrom: 5}
	for _, c := range []struct {
		over, widened bool
		since         time.Duration
		want          int
	}{{false, false, 4, 1}, {false, false, 5, 1}, {true, false, 4, 1}, {true, false, 5, 0}, {true, true, 5, 1}} {
		l := lock{overlaps: []*overlap{{second: second, secondOver: c.over, widened: c.widened}}}
		first := &hold{indexedOp: indexedOp{acquire(0, "a", 3, c.since, 10), 1}, owner: owner{0, "a"}, until: 13,
			untilAtReturn: 13, certainFrom: c.since}
		n := 0
		for range l.overlapsAfter(first, 0) {
			n++
		}
		require.Equal(t, c.want, n, "%+v", c)
	}
}
