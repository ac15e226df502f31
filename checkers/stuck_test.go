package checkers

import (
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

// probe returns an acquire by the harness that the lock refused.
func probe(call, ret time.Duration) harness.Op {
	return withErr(harness.Held, fail(byHarness(acquire(0, "p", call, ret, 10))))
}

func granted(op harness.Op) harness.Op { op.Outcome, op.Err = harness.OK, ""; return op }

func TestStuck(t *testing.T) {
	stuck := []harness.Class{harness.StuckLock}
	const ms, us = time.Millisecond, time.Microsecond
	const none, may = "no lock was tried after the load", "1 of 1 locks tried were not granted, though nothing shows that every lease was over"
	runCases(t, Stuck(), []verdictCase{
		{name: "empty", h: of(), unknown: none},
		{name: "no probe", h: of(acquire(0, "a", 1, 2, 10), withErr(harness.Held, fail(acquire(1, "b", 20, 21, 10)))), unknown: none},
		{name: "a release by the harness is no probe", h: of(acquire(0, "a", 1, 2, 10), byHarness(fail(release(0, "a", 20, 21)))), unknown: none},
		{name: "granted", h: of(acquire(0, "a", 1, 2, 10), granted(probe(20, 21)))},
		{name: "refused after the lease", want: stuck, h: of(acquire(0, "a", 1, 2, 10), probe(13, 14))},
		{name: "refused after the lease, though it was released", want: stuck, h: of(acquire(0, "a", 1, 2, 10), release(0, "a", 3, 4), probe(13, 14))},
		{name: "refused at the end of the lease", h: of(acquire(0, "a", 1, 2, 10), probe(12, 14)), unknown: may},
		{name: "refused in the last millisecond of the server's clock", h: of(acquire(0, "a", 1, 2, 10*ms), probe(11*ms, 12*ms)), unknown: may},
		{name: "refused after it", want: stuck, h: of(acquire(0, "a", 1, 2, 10*ms), probe(11*ms+2, 12*ms))},
		{name: "that millisecond drifts as well", h: drifting(0.1, of(acquire(0, "a", 1, 2, 10*ms), probe(12*ms+100*us+1, 13*ms))), unknown: may},
		{name: "and no more than that", want: stuck, h: drifting(0.1, of(acquire(0, "a", 1, 2, 10*ms), probe(12*ms+101*us, 13*ms)))},
		{name: "drift makes the lease longer", h: drifting(0.1, of(acquire(0, "a", 1, 2, 10), probe(13, 14))), unknown: may},
		{name: "drift makes it no longer than that", want: stuck, h: drifting(0.1, of(acquire(0, "a", 1, 2, 10), probe(14, 14)))},
		{name: "an earlier lease is the longer one", h: of(acquire(0, "a", 1, 2, 50), acquire(1, "b", 3, 4, 5), probe(20, 21)), unknown: may},
		{name: "no end of the lease", h: of(acquire(0, "a", 1, 2, 0), probe(800, 801)), unknown: may},
		{name: "a lease that ends beyond all time", h: of(acquire(0, "a", 1, 2, forever-2), probe(800, 801)), unknown: may},
		{name: "never answered", want: stuck, h: of(info(acquire(0, "a", 1, 2, 10)), probe(13, 14))},
		{name: "never answered, lease not over", h: of(acquire(1, "b", 1, 2, 10), info(acquire(0, "a", 3, 4, 10)), probe(13, 14)), unknown: may},
		{name: "extended", h: of(acquire(0, "a", 1, 2, 10), extend(0, "a", 8, 9, 10), probe(18, 19)), unknown: may},
		{name: "extended, perhaps", h: of(acquire(0, "a", 1, 2, 10), info(extend(0, "a", 8, 9, 10)), probe(18, 19)), unknown: may},
		{name: "extended in vain", want: stuck, h: of(acquire(0, "a", 1, 2, 10), fail(extend(0, "a", 8, 9, 10)), probe(18, 19))},
		{name: "refused acquires take nothing", want: stuck, h: of(acquire(0, "a", 1, 2, 10), fail(acquire(1, "b", 8, 9, 10)), probe(18, 19))},
		{name: "nobody is known to have taken it", h: of(fail(acquire(0, "a", 1, 2, 10)), probe(13, 14)), unknown: may},
		{name: "taken on another key only", h: of(on("j", acquire(0, "a", 1, 2, 10)), probe(13, 14)), unknown: may},
		{name: "not answered", h: of(acquire(0, "a", 1, 2, 10), withErr("timeout", info(probe(13, 14)))), unknown: may},
		{name: "not asked", h: of(acquire(0, "a", 1, 2, 10), withErr("READONLY", probe(13, 14))), unknown: may},
		{name: "refused without a reason", want: stuck, h: of(acquire(0, "a", 1, 2, 10), withErr("", probe(13, 14)))},
		{name: "refused too early, then granted", h: of(acquire(0, "a", 1, 2, 10), probe(5, 6), granted(probe(13, 14)))},
		{name: "refused too early, then still", want: stuck, h: of(acquire(0, "a", 1, 2, 10), probe(5, 6), probe(13, 14))},
		{name: "refused twice is one violation", want: stuck, h: of(acquire(0, "a", 1, 2, 10), probe(13, 14), probe(15, 16))},
		{name: "refused twice within an instant", want: stuck, h: of(acquire(0, "a", 1, 2, 10), probe(13, 13), info(probe(13, 13)))},
		{name: "an earlier probe's own lease", h: of(acquire(0, "a", 1, 2, 10), granted(probe(13, 14)), probe(15, 16))},
		{name: "an earlier probe that may have taken it", h: of(acquire(0, "a", 1, 2, 10), info(probe(13, 14)), probe(15, 16)), unknown: may},
		{name: "an earlier probe's lease is over", want: stuck, h: of(acquire(0, "a", 1, 2, 10), granted(probe(13, 14)), probe(25, 26))},
		{name: "refused, then granted to the harness", h: of(acquire(0, "a", 1, 2, 10), probe(13, 14), granted(probe(15, 16)))},
		{name: "refused, then granted to a client", h: of(acquire(0, "a", 1, 2, 10), probe(13, 14), acquire(1, "b", 15, 16, 10)), unknown: may},
		{name: "refused while a client was asking", h: of(acquire(0, "a", 1, 2, 10), probe(13, 14), info(acquire(1, "b", 14, 16, 10))), unknown: may},
		{name: "refused before a client asked", want: stuck, h: of(acquire(0, "a", 1, 2, 10), probe(13, 14), info(acquire(1, "b", 15, 16, 10)))},
		{name: "one of two", want: stuck, h: of(acquire(0, "a", 1, 2, 10), probe(13, 14), on("j", granted(probe(13, 14))))},
		{name: "one of two not known", h: of(acquire(0, "a", 1, 2, 10), probe(10, 11), on("j", granted(probe(13, 14)))), unknown: "1 of 2 locks"},
	})
}

func TestStuckEvidence(t *testing.T) {
	old, last, crashed := info(acquire(1, "x", 1, 2, 10)), acquire(0, "a", 3, 4, 10), info(acquire(1, "b", 15, 26, 10))
	g, found := judge(t, Stuck(), of(old, last, crashed, probe(40, 41)))
	require.Len(t, found, 1)
	require.Equal(t, []harness.Op{last, crashed, probe(40, 41)}, found[0].Ops)
	require.Equal(t, []time.Duration{3, 41}, []time.Duration{found[0].From, found[0].To})
	require.Equal(t, "k is refused at 41ns although every lease ended by 36ns at the latest; client 1's acquire at 15ns was never answered", found[0].Note)
	require.Equal(t, 1.0, figureOf(t, g, "locks tried"))
	require.Equal(t, 1.0, figureOf(t, g, "locks stuck"))

	g, found = judge(t, Stuck(), of(old, last, probe(5, 6), probe(40, 41)))
	require.Equal(t, []harness.Op{last, probe(40, 41)}, found[0].Ops, "who asked before the last grant left nothing behind")
	require.Equal(t, "k is refused at 41ns although every lease ended by 14ns at the latest; client 0 was granted it last, by 4ns", found[0].Note)
	require.Equal(t, 2.0, figureOf(t, g, "probes"))
	require.Equal(t, 1.0, figureOf(t, g, "probes not conclusive"))

	_, later := judge(t, Stuck(), of(old, last, probe(40, 41), info(probe(50, 60))))
	require.Equal(t, found, later, "what comes later is no evidence")

	_, found = judge(t, Stuck(), of(info(acquire(1, "x", 1, 3, 10)), last, probe(40, 41)))
	require.Len(t, found[0].Ops, 3, "who asked at that time may have")
}

func TestLeaseOver(t *testing.T) {
	for _, tc := range []struct {
		ret, ttl time.Duration
		drift    float64
		want     time.Duration
	}{
		{5, 10, 0, 15},
		{5, 10, 0.01, 16}, // rounded towards the longer lease
		{5, time.Second, 0.01, 5 + 1010*time.Millisecond},
		{5, 0, 0.01, forever},
		{5, forever, 0, forever},
		{5, forever - 5, 0, forever},
		{5, forever / 2, 1.5, forever},
	} {
		require.Equal(t, tc.want, leaseOver(acquire(0, "a", 1, tc.ret, tc.ttl), tc.drift), "%v", tc)
	}
}
