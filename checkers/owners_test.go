package checkers

import (
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

func held(op harness.Op) harness.Op    { return withErr(harness.Held, fail(op)) }
func notMine(op harness.Op) harness.Op { return withErr(harness.NotMine, fail(op)) }

func TestOwnersAreToldOfWhatTheyLost(t *testing.T) {
	silent := []harness.Class{harness.SilentReacquire}
	a, b, x := acquire(0, "a", 1, 2, 10), acquire(1, "b", 12, 13, 10), extend(0, "a", 30, 31, 10)
	runCases(t, Owners(), []verdictCase{
		{name: "empty", h: of(), unknown: "no acquire was recorded"},
		{name: "another's lease came and went", want: silent, h: of(a, b, x), note: "client 1 was granted it by 13ns"},
		{name: "another was granted it and released it", want: silent,
			h: of(a, b, release(1, "b", 14, 15), extend(0, "a", 16, 17, 10))},
		{name: "another extended it", want: silent, note: "client 1 extended it",
			h: of(a, extend(1, "b", 12, 13, 2), x)},
		{name: "another still had it: a double grant", h: of(a, b, extend(0, "a", 16, 17, 10))},
		{name: "another got it inside the first one's lease: a double grant", h: of(acquire(0, "a", 1, 2, 13), b, x)},
		{name: "another may have had it before", h: of(a, acquire(1, "b", 1, 13, 1), x)},
		{name: "another certainly did not have it before", want: silent,
			h: of(acquire(0, "a", 1, 2, 2), acquire(1, "b", 2, 4, 10), x)},
		{name: "another may have had it after", h: of(a, acquire(1, "b", 12, 31, 1), extend(0, "a", 30, 31, 1))},
		{name: "another certainly did not have it after", want: silent,
			h: of(a, acquire(1, "b", 12, 30, 1), extend(0, "a", 29, 31, 10))},
		{name: "another was told at that instant, and may have had it after",
			h: of(a, acquire(1, "b", 12, 31, 1), extend(0, "a", 30, 31, 10), release(0, "a", 31, 32))},
		{name: "both were told at one instant, and the other may have been first",
			h: of(acquire(0, "a", 1, 5, 3), acquire(1, "b", 1, 5, 10), release(1, "b", 5, 6),
				extend(0, "a", 7, 8, 10))},
		{name: "another was told later", h: of(a, acquire(1, "b", 12, 32, 1), extend(0, "a", 30, 31, 10))},
		{name: "another can only have had it after what the owner renewed", want: silent,
			h: of(acquire(0, "a", 1, 2, 10), extend(0, "a", 3, 4, 10), acquire(1, "b", 1, 14, 3), x)},
		{name: "another may have had it before, as the first lease can be over",
			h: of(acquire(0, "a", 1, 2, 2), extend(0, "a", 3, 4, 10), acquire(1, "b", 1, 14, 3), x)},
		{name: "nobody had it meanwhile", h: of(a, x)},
		{name: "told so", h: of(a, b, notMine(x))},
		{name: "told so, and then not", want: silent, h: of(a, b, notMine(extend(0, "a", 26, 27, 10)), x)},
		{name: "asked anew", h: of(a, b, acquire(0, "a", 26, 27, 2), x)},
		{name: "asked anew and was refused, perhaps by itself", h: of(a, b, held(acquire(0, "a", 26, 27, 2)), x)},
		{name: "asked anew without an answer",
			h: of(a, b, info(acquire(0, "a", 26, 27, 2)), extend(testWorkers, "a", 30, 31, 10))},
		{name: "has a late acquire", h: of(info(acquire(0, "a", 0, 1, 2)), acquire(testWorkers, "a", 1, 2, 10), b,
			extend(testWorkers, "a", 30, 31, 10))},
		{name: "released before", h: of(a, release(0, "a", 3, 4), b, x)},
		{name: "another name of its own", want: silent, h: of(a, acquire(0, "c", 12, 13, 10), x)},
		{name: "another worker's that shares the token", want: silent, h: of(a, acquire(1, "a", 12, 13, 10), x)},
		{name: "a lease without an end is never lost", h: of(withTTL(0, a), b, x)},
		{name: "a message of that name", h: of(a, on("k", claim(1, 12, 13, 5)), x)},
		{name: "another still had it, and a third gave it up",
			h: of(a, acquire(1, "b", 12, 13, 30), release(2, "c", 14, 15), extend(0, "a", 16, 17, 10))},
		{name: "another was told when the lease can be over", want: silent,
			h: of(acquire(0, "a", 1, 2, 11), acquire(1, "b", 11, 12, 5), x)},
		{name: "another may have had it before, as the first lease can be over at that instant",
			h: of(acquire(0, "a", 1, 2, 3), extend(0, "a", 3, 4, 10), acquire(1, "b", 1, 14, 3), x)},
		{name: "each extend that lies, once", want: append(silent, silent...),
			h: of(a, b, x, acquire(2, "c", 50, 51, 3), extend(0, "a", 60, 61, 5), extend(0, "a", 62, 63, 5))},
		{name: "drift: the first one's lease may be over", want: silent,
			h: drifting(0.3, of(acquire(0, "a", 1, 2, 15), b, x))},
	})
}

func TestOwnersAreNotRefused(t *testing.T) {
	refused := []harness.Class{harness.RefusedRelease}
	a, x, e := acquire(0, "a", 1, 2, 20), notMine(release(0, "a", 5, 6)), held(acquire(2, "c", 8, 9, 20))
	runCases(t, Owners(), []verdictCase{
		{name: "its release", want: refused, h: of(a, x, e), note: "still refused to client 2"},
		{name: "its extend", want: refused, h: of(a, notMine(extend(0, "a", 5, 6, 20)), e)},
		{name: "its extend, but it released before the lock was tried",
			h: of(a, notMine(extend(0, "a", 5, 6, 20)), release(0, "a", 7, 7), e)},
		{name: "no reason was recorded", want: refused, h: of(a, withErr("", x), withErr("", e))},
		{name: "an error", h: of(a, withErr("READONLY", x), e)},
		{name: "nobody tried the lock", h: of(a, x)},
		{name: "the lock was tried before", h: of(a, x, held(acquire(2, "c", 3, 4, 20)))},
		{name: "the lock was tried when it may not have been refused yet",
			h: of(a, x, held(acquire(2, "c", 6, 9, 20)))},
		{name: "the lock was tried when the lease can be over", h: of(a, x, held(acquire(2, "c", 8, 21, 20)))},
		{name: "the lock could not be tried", h: of(a, x, withErr("given back", e))},
		{name: "the lock was free: a shorter lease, or a release sent twice", h: of(a, x, acquire(2, "c", 8, 9, 20))},
		{name: "another took it, so the third was refused", h: of(a, acquire(1, "b", 3, 4, 20), x, e)},
		{name: "another may have taken it", h: of(a, info(acquire(1, "b", 3, 4, 20)), x, e)},
		{name: "another may have taken it, told later", h: of(a, x, e, acquire(1, "b", 9, 12, 20))},
		{name: "another may take it, told later", h: of(a, x, e, info(acquire(1, "b", 9, 12, 20)))},
		{name: "another took it when it had been tried", want: refused, h: of(a, x, e, acquire(1, "b", 10, 12, 20))},
		{name: "another may take it late", h: of(info(acquire(1, "b", 0, 0, 20)), a, x, e)},
		{name: "after the lease", h: of(withTTL(4, a), x, e)},
		{name: "perhaps after the lease", h: drifting(0.3, of(withTTL(6, a), x, e))},
		{name: "its release may come late", h: of(info(release(0, "a", 0, 0)), acquire(testWorkers, "a", 1, 2, 20),
			notMine(release(testWorkers, "a", 5, 6)), e)},
		{name: "its first release may have been executed",
			h: of(a, info(release(0, "a", 3, 4)), notMine(release(testWorkers, "a", 5, 6)), e)},
		{name: "its second release", h: of(a, release(0, "a", 3, 4), x, e)},
		{name: "entered twice", h: of(a, acquire(0, "a", 3, 4, 20), x, e)},
		{name: "entered twice, its extend", want: refused,
			h: of(a, acquire(0, "a", 3, 4, 20), notMine(extend(0, "a", 5, 6, 20)), e)},
		{name: "tried by itself under another name", want: refused, h: of(a, x, held(acquire(0, "d", 8, 9, 20)))},
		{name: "tried by itself", h: of(a, x, held(acquire(0, "a", 8, 9, 20)))},
		{name: "another gave up what it never had, without an answer", want: refused,
			h: of(a, x, info(release(1, "b", 5, 7)), e)},
		{name: "another extended it", h: of(a, x, extend(1, "b", 7, 7, 20), e)},
		{name: "it acquired it anew", h: of(a, x, acquire(0, "a", 7, 7, 20), e)},
		{name: "it may have extended it since",
			h: of(a, notMine(extend(0, "a", 5, 6, 20)), info(extend(0, "a", 7, 7, 20)), e)},
		{name: "a torn record", h: torn(a, x, e), unknown: "of 1 refusals"},
		{name: "a fault", h: faulty(4, 7, of(a, x, e))},
		{name: "a fault later", want: refused, h: faulty(12, 15, of(a, x, e))},
	})
}

// faulty adds a fault in force from start to end.
func faulty(start, end time.Duration, h harness.History) harness.History {
	h.Faults = []harness.Fault{{Name: "kill", Start: start, Active: start, Heal: end, End: end}}
	return h
}

// If there are more refusals than can wait for later operations, those beyond are not judged.
func TestManyRefusals(t *testing.T) {
	var ops []harness.Op
	for i := range time.Duration(maxUndecided + 1) {
		at, key := 100*i, i.String()
		ops = append(ops, on(key, acquire(0, "a", at+1, at+2, 20)), on(key, notMine(release(0, "a", at+5, at+6))),
			on(key, held(acquire(2, "c", at+8, at+9, 20))))
	}
	g, found := judge(t, Owners(), torn(ops...))
	require.Empty(t, found, "client 1 may have taken any of them")
	require.Contains(t, g.Reason, "it is not known of 4097 refusals")
}

// A refusal waits until no operation can be called any more in the instant in which the lock refused another owner.
func TestRefusalsWaitForThatInstant(t *testing.T) {
	found := 0
	r := &refusal{grant: acquire(0, "a", 1, 2, 20), refused: notMine(release(0, "a", 5, 6)),
		shownBy: held(acquire(2, "c", 8, 9, 20))}
	p := &ownersPass{tally: newTally(of(), func(harness.Anomaly) { found++ }),
		locks: map[string]*ownersLock{"k": {waiting: 1}}, awaiting: []*refusal{r}}
	p.reportBefore(9)
	require.Zero(t, found)
	p.reportBefore(10)
	require.Equal(t, 1, found)
}

// An acquire of the harness may have taken the lock. A refusal is not reported before that is ruled out.
func TestOwnersWaitForTheHarness(t *testing.T) {
	ops := []harness.Op{acquire(0, "a", 1, 2, 20), byHarness(on("y", release(0, "y", 3, 3))),
		notMine(release(0, "a", 5, 6)), held(acquire(2, "c", 8, 9, 20))}
	for i := range time.Duration(4 * watermarkEvery) {
		ops = append(ops, on("z", release(int(i%testWorkers), "z", 20+i, 20+i)))
	}
	_, found := judge(t, Owners(), of(append(ops, byHarness(acquire(0, "h", 9, 5000, 20)))...))
	require.Empty(t, found)
	_, found = judge(t, Owners(), of(ops...))
	require.Equal(t, []harness.Class{harness.RefusedRelease}, classes(found))
}
