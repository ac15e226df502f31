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
	const none, may = "no lock was tried after the load", "1 of 1 locks tried were not granted, though nothing shows " +
		"that every lease was over"
	runCases(t, Stuck(), []verdictCase{
		{name: "empty", h: of(), unknown: none},
		{name: "no probe", h: of(acquire(0, "a", 1, 2, 10), withErr(harness.Held, fail(acquire(1, "b", 20, 21, 10)))),
			unknown: none},
		{name: "granted", h: of(acquire(0, "a", 1, 2, 10), granted(probe(20, 21)))},
		{name: "refused after the lease", want: stuck, h: of(acquire(0, "a", 1, 2, 10), probe(13, 14))},
		{name: "refused at the end of the lease", h: of(acquire(0, "a", 1, 2, 10), probe(12, 14)), unknown: may},
		{name: "refused in the last millisecond of the server's clock",
			h: of(acquire(0, "a", 1, 2, 10*ms), probe(11*ms, 12*ms)), unknown: may},
		{name: "refused after it", want: stuck, h: of(acquire(0, "a", 1, 2, 10*ms), probe(11*ms+2, 12*ms))},
		{name: "that millisecond drifts as well",
			h: drifting(0.1, of(acquire(0, "a", 1, 2, 10*ms), probe(12*ms+100*us+1, 13*ms))), unknown: may},
		{name: "and no more than that", want: stuck,
			h: drifting(0.1, of(acquire(0, "a", 1, 2, 10*ms), probe(12*ms+101*us, 13*ms)))},
		{name: "no end of the lease", h: of(acquire(0, "a", 1, 2, 0), probe(800, 801)), unknown: may},
		{name: "a lease that ends beyond all time", h: of(acquire(0, "a", 1, 2, forever-2), probe(800, 801)),
			unknown: may},
		{name: "not answered", h: of(acquire(0, "a", 1, 2, 10), withErr("timeout", info(probe(13, 14)))), unknown: may},
		{name: "an earlier probe's own lease", h: of(acquire(0, "a", 1, 2, 10), granted(probe(13, 14)), probe(15, 16))},
		{name: "refused while a client was asking",
			h: of(acquire(0, "a", 1, 2, 10), probe(13, 14), info(acquire(1, "b", 14, 16, 10))), unknown: may},
		{name: "one of two not known", h: of(acquire(0, "a", 1, 2, 10), probe(10, 11), on("j", granted(probe(13, 14)))),
			unknown: "1 of 2 locks"},
	})
}

// The earliest end of a lease is rounded down, the latest end up. Neither is beyond forever.
func TestEndsOfLeases(t *testing.T) {
	for _, tc := range []struct {
		at, ttl          time.Duration
		drift            float64
		earliest, latest time.Duration
	}{
		{5, 10, 0, 15, 15},
		{5, 10, 0.01, 14, 16},
		{5, time.Second, 0.01, 5 + 990*time.Millisecond, 5 + 1010*time.Millisecond},
		{5, 0, 0.01, forever, forever},
		{5, forever, 0, forever, forever},
		{5, forever - 5, 0, forever, forever},
		{2, forever - 1, 0.1, forever, forever},
	} {
		require.Equal(t, tc.earliest, harness.EarliestEnd(tc.at, tc.ttl, tc.drift), "%v", tc)
		require.Equal(t, tc.latest, leaseOver(acquire(0, "a", 1, tc.at, tc.ttl), tc.drift), "%v", tc)
	}
	require.Equal(t, forever, leaseOver(acquire(0, "a", 1, 5, forever/2), 1.5), "more than there is")
	require.Less(t, harness.EarliestEnd(1, forever-1, 0.1), forever, "the last lease that ends")
	require.Equal(t, "all time", windowName(claim(0, 1, 2, 0)))
	require.Equal(t, "1ns", windowName(claim(0, 1, 2, 1)))
}
