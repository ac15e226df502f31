package checkers

import (
	"errors"
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

func TestDelivery(t *testing.T) {
	lost, immortal := []harness.Class{harness.LostMessage}, []harness.Class{harness.ImmortalMark}
	both := []harness.Class{harness.LostMessage, harness.ImmortalMark}
	const none, may = "no message was asked for after the load", "1 of 1 messages asked for may be lost or not"
	runCases(t, Delivery(), []verdictCase{
		{name: "empty", h: of(), unknown: none},
		{name: "no probe", h: of(claim(0, 1, 2, 100), seen(claim(1, 3, 4, 100))), unknown: none},
		{name: "delivered", h: of(claim(0, 1, 2, 100), deliver(0, 3, 4), asked(5, 6, 100))},
		{name: "never delivered", want: lost, h: of(claim(0, 1, 2, 100), asked(5, 6, 100))},
		{name: "a client was still claiming it",
			h: of(claim(0, 1, 2, 100), asked(5, 6, 100), withErr("timeout", info(claim(1, 6, 9, 100))))},
		{name: "a client claimed it afterwards", want: lost,
			h: of(claim(0, 1, 2, 100), asked(5, 6, 100), withErr("timeout", info(claim(1, 7, 9, 100))))},
		{name: "claimed by who was never told", h: of(withErr("timeout", info(claim(0, 1, 2, 100))), asked(5, 6, 100))},
		{name: "never told, and not asked for in the end", unknown: may,
			h: of(withErr("timeout", info(claim(0, 1, 2, 100))), fail(asked(5, 6, 100)))},
		{name: "still new", h: of(claim(0, 1, 2, 3), told(asked(5, 6, 100)))},
		{name: "new again when a mark may just be left",
			h: of(claim(0, 1, 2, 10), asked(5, 6, 3), told(asked(12, 13, 3)))},
		{name: "new again when none can be left", want: lost,
			h: of(claim(0, 1, 2, 10), asked(5, 6, 3), told(asked(13, 14, 3)))},
		{name: "not answered", h: of(claim(0, 1, 2, 100), info(asked(5, 6, 100))), unknown: may},
		{name: "the mark may be an earlier probe's",
			h: of(claim(0, 1, 2, 100), info(asked(5, 6, 100)), asked(7, 8, 100)), unknown: may},
		{name: "asked for again, after an error", want: lost,
			h: of(claim(0, 1, 2, 100), fail(asked(3, 4, 100)), asked(5, 6, 100))},
		{name: "asked for by nobody before", unknown: may, h: of(asked(5, 6, 100))},
		{name: "the lease may last until then", unknown: may, h: confirming(of(claim(0, 1, 2, 3), asked(5, 6, 100)))},
		{name: "the lease is over", want: both, h: confirming(of(claim(0, 1, 2, 3), asked(6, 7, 100)))},
		{name: "one of two not known", unknown: "1 of 2 messages",
			h: of(claim(0, 1, 2, 100), on("n", claim(1, 1, 2, 100)), on("n", deliver(1, 3, 4)),
				info(asked(5, 6, 100)), on("n", asked(7, 8, 100)))},

		{name: "marked in the last millisecond of the server's clock",
			h: of(claim(0, 1, 2, 3*time.Millisecond), deliver(0, 3, 4),
				asked(4*time.Millisecond, 5*time.Millisecond, 3))},
		{name: "marked after it", want: immortal,
			h: of(claim(0, 1, 2, 3*time.Millisecond), deliver(0, 3, 4),
				asked(4*time.Millisecond+2, 5*time.Millisecond, 3))},

		{name: "looked at", unknown: none, h: of(claim(0, 1, 2, 3), look(5, 6, 3))},
		{name: "looked at when its window was just over", want: immortal,
			h: of(claim(0, 1, 2, 3), deliver(0, 3, 4), look(5, 6, 0))},
		{name: "left without an end by who crashed, and asked for", want: both,
			h: of(dead(claim(0, 1, 2, 100)), look(3, 4, 0), asked(5, 6, 100))},
	})
}

func TestDeliveryLooksAtMarks(t *testing.T) {
	g, _ := judge(t, Delivery(), of(look(5, 6, 3), on("n", look(5, 6, 3))))
	require.InDelta(t, 2, figureOf(t, g, "marks looked at"), 0)
}

// confirming promises confirms, so claims are leases.
func confirming(h harness.History) harness.History {
	h.Meta.Kinds = []harness.Kind{harness.Claim, harness.Deliver, harness.Confirm}
	return h
}

// dead returns a claim during which its client crashed.
func dead(op harness.Op) harness.Op { return withErr(harness.Crashed, info(op)) }

// look returns the harness's inspection of m, which finds a mark with this TTL.
func look(call, ret, left time.Duration) harness.Op { return on("m", inspect(call, ret, "1", left)) }

// The second pass notices a history that cannot be read again.
func TestDeliveryReadsTwice(t *testing.T) {
	h, pass := of(), 0
	h.Ops = func(yield func(harness.Op, error) bool) {
		if pass++; yield(claim(0, 1, 2, 5), nil) && pass == 2 {
			yield(harness.Op{}, errors.New("broken"))
		}
	}
	runCases(t, Delivery(), []verdictCase{{name: "broken", unknown: "broken", h: h}})
}

// A second pass that ends before the delivery of a message does not show that the message is lost.
func TestDeliveryNeedsASecondPass(t *testing.T) {
	claimed, seen, delivered := claim(0, 1, 2, 100), asked(3, 4, 100), deliver(0, 4, 5)
	runCases(t, Delivery(), []verdictCase{
		{name: "read again", h: of(claimed, seen, delivered)},
		{name: "the second pass ends before", unknown: "cannot be read again",
			h: readable(of(claimed, seen, delivered), 1, claimed, seen)},
		{name: "read once", unknown: "cannot be read again", h: onceOnly(of(claim(0, 1, 2, 3), asked(30, 31, 3)))},
	})
}
