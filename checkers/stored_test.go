package checkers

import (
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

func TestStored(t *testing.T) {
	restart := []harness.Class{harness.SequenceRestart}
	behind := []harness.Class{harness.ReturnedNotStored}
	immortal := []harness.Class{harness.TTLLost}
	one := next(0, 1, 2, "1") // so that there is a number
	const ms = time.Millisecond
	runCases(t, Stored(), []verdictCase{
		{name: "empty", h: of(), unknown: "no inspect was recorded; no next was recorded"},
		{name: "never inspected", h: of(one), unknown: "no inspect was recorded"},
		{name: "no number", h: of(inspect(1, 2, "1", 0)), unknown: "no next was recorded"},
		{name: "inspections not answered", h: of(one, info(inspect(3, 4, "0", 0)), fail(inspect(5, 6, "0", 0))),
			unknown: "no inspect was recorded"},
		{name: "other kinds are not its own",
			h: of(on("seq-0", read(0, 0, "100")), one, inspect(3, 4, "1", 0), on("seq-0", read(5, 6, "0")))},
		{name: "not a number", h: of(one, inspect(3, 4, "1.6e+16", 0)),
			unknown: `the harness was given "1.6e+16" at 4ns`},
		{name: "issued nothing", h: of(one, next(0, 3, 4, ""), inspect(5, 6, "1", 0)),
			unknown: `client 0 was given "" at 4ns`},

		{name: "went back before it can have ended", want: restart,
			h: of(one, inspect(3, 4, "9", 10), inspect(5, 12, "", 0))},

		{name: "issued, not stored", want: behind, h: of(next(0, 1, 2, "9"), inspect(3, 4, "8", 0))},
		{name: "beyond 2^53", want: behind, h: of(next(0, 1, 2, "16081817202494580"),
			inspect(3, 4, "16081817202494579", 0))},
		{name: "issued before it ended, answered after an inspection of that",
			h: of(one, inspect(3, 4, "1", 10), inspect(14, 15, "", 0), withTTL(10, next(0, 12, 16, "2")),
				inspect(17, 18, "", 0))},
		{name: "issued at the instant at which it had ended",
			h: of(one, inspect(3, 4, "1", 10), inspect(14, 15, "", 0), withTTL(10, next(0, 15, 16, "2")),
				inspect(17, 18, "", 0))},
		{name: "issued after that", want: behind,
			h: of(one, inspect(3, 4, "1", 10), inspect(14, 15, "", 0), withTTL(10, next(0, 16, 16, "2")),
				inspect(17, 18, "", 0))},
		{name: "an end may be set at the last instant",
			h: of(inspect(1, 2, "1", 0), inspect(20, 21, "", 0), withTTL(20, next(0, 1, 22, "1")))},
		{name: "an end may be set just after it", want: restart,
			h: of(inspect(1, 2, "1", 0), inspect(20, 21, "", 0), withTTL(21, next(0, 1, 22, "1")))},
		{name: "a millisecond that is left may be less",
			h: of(one, inspect(3, 4, "9", time.Millisecond), inspect(5, 6, "", 0))},
		{name: "two of them are not", want: restart,
			h: of(one, inspect(3, 4, "9", 2*time.Millisecond), inspect(5, 6, "", 0))},
		{name: "an end that may have come at the very start of the run", unknown: "no next was recorded",
			h: of(inspect(0, 47*ms, "1", ms), inspect(49*ms, 74*ms, "", 0))},
		{name: "an end that cannot", want: restart, h: of(inspect(0, 47*ms, "1", 50*ms), inspect(48*ms, 49*ms, "", 0))},
		{name: "an end may be set after a look, by a number that was on its way",
			h: of(withTTL(6, next(0, 1, 5, "1")), inspect(2, 6, "1", 0), inspect(20, 21, "", 0))},
		{name: "it is set by then, if the number was answered", want: restart,
			h: of(withTTL(6, next(0, 1, 1, "1")), inspect(2, 6, "1", 0), inspect(20, 21, "", 0))},
		{name: "an end may be set by a number that is answered later",
			h: of(inspect(1, 2, "1", 0), inspect(20, 21, "", 0), withTTL(6, next(0, 1, 22, "1")))},
		{name: "it cannot be over yet", want: restart,
			h: of(inspect(1, 2, "1", 0), inspect(5, 6, "", 0), withTTL(6, next(0, 1, 22, "1")))},
		{name: "no end any more, perhaps begun anew",
			h: of(inspect(1, 2, "1", 50), inspect(20, 21, "1", 0), withTTL(6, next(0, 1, 22, "1")))},
		{name: "a torn record: a number may have been on its way", unknown: "whether their sequence had ended",
			h: torn(withTTL(90, one), inspect(3, 4, "9", 0), inspect(5, 6, "8", 0))},
		{name: "a torn record of numbers without an end", want: restart,
			h: torn(one, inspect(3, 4, "9", 0), inspect(5, 6, "8", 0))},
		{name: "a number may have ended before a look that found nothing, though it was answered later",
			h: of(inspect(5, 7, "", 0), withTTL(6, next(1, 1, 9, "1")), inspect(10, 10, "", 0))},
		{name: "an end may be set late", h: of(one, info(withTTL(6, next(0, 3, 4, ""))), inspect(5, 6, "1", 0),
			inspect(8, 11, "", 0))},
		{name: "all too late", h: of(withTTL(10, next(0, 1, 2, "9")), inspect(13, 14, "1", 10)),
			unknown: "all of 1 inspections came when the TTL may have been over"},

		{name: "no end any more, once", want: immortal,
			h: of(one, inspect(3, 4, "9", 10), inspect(5, 6, "9", 0), inspect(7, 8, "9", 0))},
	})
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
		{name: "one late, then one without a TTL", h: with(late(0, 1, 6), late(3, 3, 0))},
		{name: "the longer one first", h: with(late(0, 1, 60), late(3, 3, 6))},
		{name: "nothing was there, a late one may have begun it",
			h: of(late(0, 1, 6), drawn, inspect(2, 3, "", 0), inspect(4, 4, "4", 0), inspect(12, 13, "", 0))},
	})
}

// While a run goes on, what an inspection shows is reported once every worker has had a later operation.
func TestStoredDecidesOnTheWay(t *testing.T) {
	ops := []harness.Op{withTTL(9000, next(0, 1, 2, "1")), inspect(3, 4, "1", 0), inspect(5, 6, "", 0)}
	for i := range time.Duration(4 * watermarkEvery) {
		ops = append(ops, withTTL(9000, next(int(i%testWorkers), 7+i, 7+i, "2")))
	}
	runCases(t, Stored(), []verdictCase{
		{name: "some were silent", unknown: "it was known of what 1 inspections showed", h: torn(ops[:3]...)},
		{name: "all have spoken", want: []harness.Class{harness.SequenceRestart}, h: torn(ops...)},
	})
}

// A finding is reported once, when the time of its last operation is reached.
func TestWhatWaitsIsReportedWhenItWasSeen(t *testing.T) {
	found := 0
	p := &storedPass{
		awaiting: map[string][]pendingAnomaly{},
		tally:    newTally(harness.History{}, func(harness.Anomaly) { found++ }),
	}
	p.addUnlessEnded(&sequenceState{}, 0, harness.Anomaly{Key: "k", To: 5})
	for _, at := range []struct {
		then time.Duration
		want int
	}{{4, 0}, {5, 1}, {6, 1}} {
		p.report(at.then)
		require.Equal(t, at.want, found, at.then)
	}
}
