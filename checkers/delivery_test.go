package checkers

import (
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

// asked returns a probe for the message m that was told "seen".
func asked(call, ret, window time.Duration) harness.Op {
	return seen(byHarness(claim(0, call, ret, window)))
}

func told(op harness.Op) harness.Op { op.Result = harness.ResultFirst; return op }

// confirming returns h as the history of a filter whose claims are leases.
func confirming(h harness.History) harness.History {
	h.Meta.Kinds = []harness.Kind{harness.Claim, harness.Deliver, harness.Confirm}
	return h
}

func TestDelivery(t *testing.T) {
	lost, immortal := []harness.Class{harness.LostMessage}, []harness.Class{harness.ImmortalMark}
	both := []harness.Class{harness.LostMessage, harness.ImmortalMark}
	const none, may = "no message was asked for after the load", "1 of 1 messages asked for may be lost or not"
	runCases(t, Delivery(), []verdictCase{
		{name: "empty", h: of(), unknown: none},
		{name: "no probe", h: of(claim(0, 1, 2, 100), seen(claim(1, 3, 4, 100))), unknown: none},
		{name: "delivered", h: of(claim(0, 1, 2, 100), deliver(0, 3, 4), asked(5, 6, 100))},
		{name: "never delivered", want: lost, h: of(claim(0, 1, 2, 100), asked(5, 6, 100))},
		{name: "claimed by who crashed", want: lost, h: of(dead(claim(0, 1, 2, 100)), asked(5, 6, 100))},
		{name: "claimed by who was told that too few have it", want: lost, h: of(withErr(harness.FewAcks, info(claim(0, 1, 2, 100))), asked(5, 6, 100))},
		{name: "claimed by who was told an error", want: lost, h: of(withErr("ERR", info(claim(0, 1, 2, 100))), asked(5, 6, 100))},
		{name: "claimed by who was never told", h: of(withErr("timeout", info(claim(0, 1, 2, 100))), asked(5, 6, 100))},
		{name: "claimed by who does not say why it does not know", h: of(info(claim(0, 1, 2, 100)), asked(5, 6, 100))},
		{name: "claimed by who crashed, or by who was never told", h: of(dead(claim(0, 1, 2, 100)), withErr("timeout", info(claim(1, 3, 4, 100))), asked(5, 6, 100))},
		{name: "claimed, perhaps forgotten, and claimed by who was never told",
			h: of(claim(0, 1, 2, 100), withErr("closed", info(claim(1, 3, 4, 100))), asked(5, 6, 100))},
		{name: "never told, and not asked for in the end", unknown: may,
			h: of(withErr("timeout", info(claim(0, 1, 2, 100))), fail(asked(5, 6, 100)))},
		{name: "delivered, perhaps", h: of(claim(0, 1, 2, 100), info(deliver(0, 3, 4)), asked(5, 6, 100))},
		{name: "certainly not delivered", want: lost, h: of(claim(0, 1, 2, 100), fail(deliver(0, 3, 4)), asked(5, 6, 100))},
		{name: "another one delivered", want: lost, h: of(claim(0, 1, 2, 100), on("n", deliver(0, 3, 4)), asked(5, 6, 100))},
		{name: "delivered after the probe", h: of(claim(0, 1, 2, 100), asked(5, 6, 100), deliver(0, 3, 9))},
		{name: "still new", h: of(claim(0, 1, 2, 3), told(asked(5, 6, 100)))},
		{name: "new to the probe, whose mark the next one sees", h: of(claim(0, 1, 2, 3), told(asked(5, 6, 100)), asked(7, 8, 100))},
		{name: "seen, then new: the lease was not over", h: of(claim(0, 1, 2, 10), asked(5, 6, 10), told(asked(17, 18, 10)))},
		{name: "lost once for all probes", want: lost, h: of(claim(0, 1, 2, 100), asked(5, 6, 100), asked(7, 8, 100))},
		{name: "told seen, and nobody had marked it", want: lost, h: of(seen(claim(0, 1, 2, 100)), fail(claim(1, 3, 4, 100)), asked(5, 6, 100))},
		{name: "told seen, and somebody may have marked it", h: of(seen(claim(0, 1, 2, 100)), info(claim(1, 3, 4, 100)), asked(5, 6, 100))},
		{name: "told seen while it was claimed, and that was delivered", h: of(seen(claim(0, 1, 2, 100)), claim(1, 1, 4, 100), deliver(1, 4, 5), asked(5, 6, 100))},
		{name: "asked for by nobody", h: of(on("n", claim(0, 1, 2, 100)), fail(claim(1, 3, 4, 100)), asked(5, 6, 100)), unknown: may},
		{name: "told seen, then new", h: of(seen(claim(0, 1, 2, 100)), told(asked(5, 6, 100)))},
		{name: "leased: told seen, and nobody had marked it", want: lost, h: confirming(of(seen(claim(0, 1, 2, 3)), asked(6, 7, 3)))},
		{name: "leased: told seen, and who knows whose lease", h: confirming(of(seen(claim(0, 1, 2, 3)), asked(5, 7, 3))), unknown: may},
		{name: "not answered", h: of(claim(0, 1, 2, 100), info(asked(5, 6, 100))), unknown: may},
		{name: "not asked", h: of(claim(0, 1, 2, 100), fail(asked(5, 6, 100))), unknown: may},
		{name: "not asked, then lost", want: lost, h: of(claim(0, 1, 2, 100), fail(asked(5, 6, 100)), asked(7, 8, 100))},
		{name: "the mark may be an earlier probe's", h: of(claim(0, 1, 2, 100), info(asked(5, 6, 100)), asked(7, 8, 100)), unknown: may},
		{name: "one of two", want: lost, h: of(claim(0, 1, 2, 100), on("n", claim(1, 1, 2, 100)), on("n", deliver(1, 3, 4)), asked(5, 6, 100), on("n", asked(7, 8, 100)))},
		{name: "one of two not known", unknown: "1 of 2 messages", h: of(claim(0, 1, 2, 100), on("n", claim(1, 1, 2, 100)), on("n", deliver(1, 3, 4)),
			info(asked(5, 6, 100)), on("n", asked(7, 8, 100)))},

		{name: "leased, never delivered, lease over", want: both, h: confirming(of(claim(0, 1, 2, 3), asked(6, 7, 3)))},
		{name: "leased, never delivered, lease not over", h: confirming(of(claim(0, 1, 2, 3), asked(5, 7, 3))), unknown: may},
		{name: "leased, new again", h: confirming(of(claim(0, 1, 2, 3), told(asked(6, 7, 3))))},
		{name: "leased and confirmed", h: confirming(of(claim(0, 1, 2, 3), deliver(0, 3, 4), confirm(0, 5, 6, 100), asked(10, 11, 3)))},

		{name: "marked beyond its window", want: immortal, h: of(claim(0, 1, 2, 3), deliver(0, 3, 4), asked(6, 7, 3))},
		{name: "marked at the end of its window", h: of(claim(0, 1, 2, 3), deliver(0, 3, 4), asked(5, 7, 3))},
		{name: "marked in the last millisecond of the server's clock", h: of(claim(0, 1, 2, 3*time.Millisecond), deliver(0, 3, 4), asked(4*time.Millisecond, 5*time.Millisecond, 3))},
		{name: "marked after it", want: immortal, h: of(claim(0, 1, 2, 3*time.Millisecond), deliver(0, 3, 4), asked(4*time.Millisecond+2, 5*time.Millisecond, 3))},
		{name: "drift makes the window longer", h: drifting(0.3, of(claim(0, 1, 2, 3), deliver(0, 3, 4), asked(6, 7, 3)))},
		{name: "drift makes it no longer than that", want: immortal, h: drifting(0.3, of(claim(0, 1, 2, 3), deliver(0, 3, 4), asked(7, 8, 3)))},
		{name: "new again beyond its window", h: of(claim(0, 1, 2, 3), deliver(0, 3, 4), told(asked(6, 7, 3)))},
		{name: "no window", h: of(claim(0, 1, 2, 0), deliver(0, 3, 4), asked(800, 801, 3))},
		{name: "confirmed, window not over", h: of(claim(0, 1, 2, 3), deliver(0, 3, 4), confirm(0, 5, 6, 10), asked(16, 17, 3))},
		{name: "confirmed, window over", want: immortal, h: of(claim(0, 1, 2, 3), deliver(0, 3, 4), confirm(0, 5, 6, 10), asked(17, 18, 3))},
		{name: "confirmed, perhaps", h: of(claim(0, 1, 2, 3), deliver(0, 3, 4), info(confirm(0, 5, 6, 10)), asked(16, 17, 3))},
		{name: "confirm refused", want: immortal, h: of(claim(0, 1, 2, 3), deliver(0, 3, 4), fail(confirm(0, 5, 6, 10)), asked(16, 17, 3))},
		{name: "whoever saw it may have renewed it", h: of(claim(0, 1, 2, 3), deliver(0, 3, 4), seen(claim(1, 4, 5, 10)), asked(14, 15, 3))},
		{name: "an earlier probe may have renewed it", h: of(claim(0, 1, 2, 10), deliver(0, 3, 4), asked(5, 6, 10), asked(14, 15, 10))},
		{name: "after an earlier probe's window", want: immortal, h: of(claim(0, 1, 2, 10), deliver(0, 3, 4), asked(5, 6, 10), asked(17, 18, 10))},
		{name: "a probe's own mark is immortal", want: immortal, h: of(claim(0, 1, 2, 3), told(asked(6, 7, 3)), asked(11, 12, 3))},
		{name: "immortal once for all probes", want: immortal, h: of(claim(0, 1, 2, 3), deliver(0, 3, 4), asked(6, 6, 3), asked(6, 6, 3), asked(11, 12, 3))},
		{name: "seen only, by unknown marks", h: of(seen(claim(0, 1, 2, 3)), deliver(0, 3, 4), asked(6, 7, 3))},
		{name: "confirmed while it was asked for", h: of(claim(0, 1, 2, 3), deliver(0, 3, 4), asked(6, 7, 3), confirm(0, 7, 8, 10))},
		{name: "confirmed after it was asked for", want: immortal, h: of(claim(0, 1, 2, 3), deliver(0, 3, 4), asked(6, 7, 3), confirm(0, 8, 9, 10))},
		{name: "beyond its window, and new later", h: of(claim(0, 1, 2, 3), deliver(0, 3, 4), asked(6, 7, 3), told(asked(11, 12, 3)))},

		{name: "looked at", unknown: none, h: of(claim(0, 1, 2, 3), look(5, 6, 3))},
		{name: "looked at, without an end", want: immortal, h: of(claim(0, 1, 2, 3), look(5, 6, 0))},
		{name: "looked at, and not there", unknown: none, h: of(claim(0, 1, 2, 3), unmarked(look(5, 6, 0)))},
		{name: "looked at in vain", unknown: none, h: of(claim(0, 1, 2, 3), fail(look(5, 6, 0)))},
		{name: "looked at by a client", unknown: none, h: of(claim(0, 1, 2, 3), asClient(1, look(5, 6, 0)))},
		{name: "an end was never asked for", unknown: none, h: of(claim(0, 1, 2, 0), look(5, 6, 0))},
		{name: "an end was not asked for by all", unknown: none, h: of(claim(0, 1, 2, 0), claim(1, 1, 2, 3), look(5, 6, 0))},
		{name: "nobody is known to have left what is there", unknown: none, h: of(seen(claim(0, 1, 2, 3)), look(5, 6, 0))},
		{name: "left without an end by who crashed, and asked for", want: both, h: of(dead(claim(0, 1, 2, 100)), look(3, 4, 0), asked(5, 6, 100))},
		{name: "left without an end by who was never told", want: immortal,
			h: of(withErr("timeout", info(claim(0, 1, 2, 100))), look(3, 4, 0), asked(5, 6, 100))},
		{name: "without an end once for all looks", want: immortal, h: of(claim(0, 1, 2, 3), look(5, 6, 0), look(5, 6, 0))},
		{name: "without an end while a client was at it", unknown: none, h: of(claim(0, 1, 2, 3), look(5, 6, 0), info(claim(1, 6, 9, 3)))},
		{name: "without an end before a client was at it", want: immortal, h: of(claim(0, 1, 2, 3), look(5, 6, 0), info(claim(1, 7, 9, 3)))},
		{name: "without an end, and new later", h: of(claim(0, 1, 2, 3), look(5, 6, 0), told(asked(11, 12, 3)))},
	})
}

// dead returns a claim during which its client crashed.
func dead(op harness.Op) harness.Op { return withErr(harness.Crashed, info(op)) }

// look returns the harness's look at the mark of m, which is there and has so much time left.
func look(call, ret, left time.Duration) harness.Op { return on("m", inspect(call, ret, "1", left)) }

func unmarked(op harness.Op) harness.Op { op.Result = ""; return op }

func TestDeliveryEvidence(t *testing.T) {
	h := of(seen(claim(1, 0, 1, 3)), dead(claim(0, 1, 2, 3)), claim(2, 3, 4, 3), asked(8, 9, 3))
	g, found := judge(t, Delivery(), h)
	require.Equal(t, []harness.Class{harness.LostMessage, harness.ImmortalMark}, classes(found))
	require.Equal(t, []harness.Op{dead(claim(0, 1, 2, 3)), asked(8, 9, 3)}, found[0].Ops)
	require.Equal(t, "m, which client 0 claimed at 1ns, was never delivered, and the harness is told at 9ns that it was", found[0].Note)
	require.Equal(t, []harness.Op{claim(2, 3, 4, 3), asked(8, 9, 3)}, found[1].Ops)
	require.Equal(t, "m is still marked at 9ns; client 2's claim at 3ns, for 3ns, was the last that may have marked it", found[1].Note)
	for name, want := range map[string]float64{
		"messages asked for": 1, "asked for after their window": 1, "lost messages": 1, "immortal marks": 1,
	} {
		require.Equal(t, want, figureOf(t, g, name), name)
	}

	_, later := judge(t, Delivery(), of(seen(claim(1, 0, 1, 3)), dead(claim(0, 1, 2, 3)), claim(2, 3, 4, 3), asked(8, 9, 3), info(asked(10, 11, 3))))
	require.Equal(t, found, later, "what comes later is no evidence")

	g, found = judge(t, Delivery(), of(claim(0, 1, 2, 3), withErr("timeout", info(on("n", claim(1, 1, 2, 3)))), look(4, 5, 0), on("n", look(4, 5, 1)),
		on("n", asked(5, 6, 3))))
	require.Equal(t, "m is marked without an end at 5ns; client 0's claim at 1ns, for 3ns, was the last that may have marked it", found[0].Note)
	require.Equal(t, 2.0, figureOf(t, g, "marks looked at"))
	_, found = judge(t, Delivery(), of(seen(claim(1, 0, 1, 3)), asked(2, 3, 3)))
	require.Equal(t, "m, which nobody had claimed when client 1 asked for it at 0s and was told that it had been seen, was never delivered, "+
		"and the harness is told at 3ns that it was", found[0].Note)
	require.Equal(t, 1.0, figureOf(t, g, "not delivered, claims not answered"))

	g, _ = judge(t, Delivery(), of(claim(0, 1, 2, 3), asked(4, 5, 3), on("n", claim(0, 1, 2, 3)), on("n", told(asked(6, 7, 3))), on("n", asked(11, 12, 3))))
	require.Equal(t, 2.0, figureOf(t, g, "messages asked for"))
	require.Equal(t, 1.0, figureOf(t, g, "asked for after their window"))
	require.Equal(t, 1.0, figureOf(t, g, "lost messages"))
}

// A second pass that ends before the delivery of a message does not show that the message is lost.
func TestDeliveryNeedsASecondPass(t *testing.T) {
	h := of(claim(0, 1, 2, 100), seen(asked(3, 4, 100)), deliver(0, 4, 5))
	g, found := judge(t, Delivery(), h)
	require.Equal(t, harness.Valid, g.Verdict, g.Reason)
	require.Empty(t, found)

	whole, n := h.Ops, 0
	h.Ops = func(yield func(harness.Op, error) bool) {
		if n++; n == 1 {
			whole(yield)
			return
		}
		harness.OpsOf([]harness.Op{claim(0, 1, 2, 100), seen(asked(3, 4, 100))})(yield)
	}
	for _, h := range []harness.History{h, onceOnly(of(claim(0, 1, 2, 3), asked(30, 31, 3)))} {
		g, found = judge(t, Delivery(), h)
		require.Equal(t, harness.Unknown, g.Verdict)
		require.Contains(t, g.Reason, "cannot be read again")
		require.Empty(t, found)
	}
}
