package checkers

import (
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

func TestStored(t *testing.T) {
	restart, behind, immortal := []harness.Class{harness.SequenceRestart}, []harness.Class{harness.ReturnedNotStored}, []harness.Class{harness.TTLLost}
	one := next(0, 1, 2, "1") // a number, so that there is one
	runCases(t, Stored(), []verdictCase{
		{name: "empty", h: of(), unknown: "no inspect was recorded; no next was recorded"},
		{name: "never inspected", h: of(one), unknown: "no inspect was recorded"},
		{name: "no number", h: of(inspect(1, 2, "1", 0)), unknown: "no next was recorded"},
		{name: "inspections not answered", h: of(one, info(inspect(3, 4, "0", 0)), fail(inspect(5, 6, "0", 0))), unknown: "no inspect was recorded"},
		{name: "other kinds are not its own", h: of(on("seq-0", read(0, 0, "100")), one, inspect(3, 4, "1", 0), on("seq-0", read(5, 6, "0")))},
		{name: "stored", h: of(inspect(0, 0, "", 0), one, inspect(3, 4, "1", 0))},
		{name: "more stored than issued", h: of(one, inspect(3, 4, "7", 0))},
		{name: "not a number", h: of(one, inspect(3, 4, "1.6e+16", 0)), unknown: `the harness was given "1.6e+16" at 4ns`},
		{name: "issued nothing", h: of(one, next(0, 3, 4, ""), inspect(5, 6, "1", 0)), unknown: `client 0 was given "" at 4ns`},

		{name: "went back", want: restart, h: of(one, inspect(3, 4, "9", 0), inspect(5, 6, "8", 0))},
		{name: "went back across a width", want: restart, h: of(one, inspect(3, 4, "100", 0), inspect(5, 6, "23", 0))},
		{name: "grew across a width", h: of(one, inspect(3, 4, "23", 0), inspect(5, 6, "100", 0))},
		{name: "went back to nothing", want: restart, h: of(one, inspect(3, 4, "9", 0), inspect(5, 6, "", 0))},
		{name: "stayed", h: of(one, inspect(3, 4, "9", 0), inspect(5, 6, "09", 0))},
		{name: "went back on another key", h: of(one, inspect(3, 4, "9", 0), on("seq-1", inspect(5, 6, "8", 0)))},
		{name: "inspected at once", h: of(one, inspect(3, 4, "9", 0), inspect(4, 6, "8", 0))},
		{name: "went back and on from there", want: restart, h: of(one, inspect(3, 4, "9", 0), inspect(5, 6, "5", 0), inspect(7, 8, "6", 0), inspect(9, 10, "7", 0))},
		{name: "went back twice", want: append(restart, harness.SequenceRestart), h: of(one, inspect(3, 4, "9", 0), inspect(5, 6, "5", 0), inspect(7, 8, "4", 0))},
		{name: "went back when it may have ended", h: of(one, inspect(3, 4, "9", 10), inspect(5, 13, "", 0))},
		{name: "went back before it can have ended", want: restart, h: of(one, inspect(3, 4, "9", 10), inspect(5, 12, "", 0))},
		{name: "drift lets it end earlier", h: drifting(0.1, of(one, inspect(3, 4, "9", 10), inspect(5, 12, "", 0)))},

		{name: "issued, not stored", want: behind, h: of(next(0, 1, 2, "9"), inspect(3, 4, "8", 0))},
		{name: "issued, nothing stored", want: behind, h: of(next(0, 1, 2, "9"), inspect(3, 4, "", 0))},
		{name: "issued while it was inspected", h: of(next(0, 1, 3, "9"), inspect(3, 4, "8", 0))},
		{name: "issued, perhaps", h: of(one, info(next(0, 3, 4, "9")), inspect(5, 6, "8", 0))},
		{name: "not issued", h: of(one, fail(next(0, 3, 4, "9")), inspect(5, 6, "8", 0))},
		{name: "issued on another key", h: of(on("seq-1", next(0, 1, 2, "9")), inspect(3, 4, "8", 0))},
		{name: "the largest counts", want: behind, h: of(next(0, 1, 2, "9"), next(1, 3, 4, "7"), inspect(5, 6, "8", 0))},
		{name: "beyond 2^53", want: behind, h: of(next(0, 1, 2, "16081817202494580"), inspect(3, 4, "16081817202494579", 0))},
		{name: "for a while is once", want: behind, h: of(next(0, 1, 2, "9"), inspect(3, 4, "7", 0), next(0, 5, 6, "10"), inspect(7, 8, "8", 0))},
		{name: "again after it had caught up", want: append(behind, harness.ReturnedNotStored),
			h: of(next(0, 1, 2, "9"), inspect(3, 4, "7", 0), inspect(5, 6, "9", 0), next(0, 7, 8, "12"), inspect(9, 10, "11", 0))},
		{name: "shown before: a restart", want: restart, h: of(next(0, 1, 2, "9"), inspect(3, 4, "9", 0), inspect(5, 6, "3", 0))},
		{name: "issued beyond what was shown before, and a restart", want: append(restart, harness.ReturnedNotStored),
			h: of(inspect(1, 2, "8", 0), next(0, 3, 4, "9"), inspect(5, 6, "3", 0))},
		{name: "issued before it may have ended", h: of(inspect(1, 2, "8", 10), next(0, 3, 4, "9"), inspect(5, 6, "9", 10), inspect(14, 15, "1", 10))},
		{name: "issued anew with a TTL, may have ended", h: of(inspect(0, 0, "", 0), withTTL(10, next(0, 3, 4, "9")), inspect(5, 13, "", 0))},
		{name: "issued anew with a TTL, cannot have ended", want: behind, h: of(inspect(2, 2, "", 0), withTTL(10, next(0, 3, 4, "9")), inspect(5, 11, "", 0))},
		{name: "issued with a TTL, cannot have ended", want: behind, h: of(withTTL(10, next(0, 5, 6, "9")), inspect(7, 14, "3", 0))},
		{name: "issued with a TTL, may have ended", h: of(withTTL(10, next(0, 5, 6, "9")), inspect(6, 6, "", 0), withTTL(10, next(0, 7, 8, "10")), inspect(9, 16, "3", 0))},
		{name: "begun right after an inspection that found nothing, ended unseen", h: of(withTTL(10, next(0, 1, 3, "1")), inspect(2, 4, "", 0), inspect(30, 31, "", 0))},
		{name: "issued before it ended, answered after an inspection of that", h: of(one, inspect(3, 4, "1", 10), inspect(14, 15, "", 0), withTTL(10, next(0, 12, 16, "2")), inspect(17, 18, "", 0))},
		{name: "issued after an inspection of the end", want: behind, h: of(one, inspect(3, 4, "1", 10), inspect(14, 15, "", 0), withTTL(10, next(0, 16, 17, "2")), inspect(18, 19, "", 0))},
		{name: "without a TTL there is no end to be before", want: behind, h: of(next(0, 1, 3, "1"), inspect(2, 4, "", 0), inspect(5, 6, "", 0))},
		{name: "issued before an inspection that found nothing", want: behind, h: of(withTTL(10, next(0, 0, 1, "1")), inspect(2, 4, "", 0), inspect(13, 14, "", 0))},
		{name: "a millisecond that is left may be less", h: of(one, inspect(3, 4, "9", time.Millisecond), inspect(5, 6, "", 0))},
		{name: "two of them are not", want: restart, h: of(one, inspect(3, 4, "9", 2*time.Millisecond), inspect(5, 6, "", 0))},
		{name: "begun by one while an inspection found nothing", h: of(withTTL(10, next(0, 1, 2, "1")), inspect(1, 3, "", 0), withTTL(10, next(0, 6, 7, "2")), inspect(8, 12, "", 0))},
		{name: "begun by the slower of two", h: of(withTTL(10, next(0, 3, 4, "2")), withTTL(10, next(1, 1, 5, "1")), inspect(5, 6, "2", 9), withTTL(10, next(0, 7, 8, "3")), inspect(9, 14, "", 0))},
		{name: "an end may be set late", h: of(one, info(withTTL(6, next(0, 3, 4, ""))), inspect(5, 6, "1", 0), inspect(8, 11, "", 0))},
		{name: "an end may be set late, but is not over", want: restart, h: of(one, info(withTTL(6, next(0, 3, 4, ""))), inspect(5, 6, "1", 0), inspect(8, 10, "", 0))},
		{name: "all too late", h: of(withTTL(10, next(0, 1, 2, "9")), inspect(13, 14, "1", 10)), unknown: "all of 1 inspections came when the TTL may have been over"},

		{name: "no end any more", want: immortal, h: of(one, inspect(3, 4, "9", 10), inspect(5, 6, "9", 0))},
		{name: "never had an end", h: of(one, inspect(3, 4, "9", 0), inspect(5, 6, "9", 0))},
		{name: "still ends", h: of(one, inspect(3, 4, "9", 10), inspect(5, 6, "9", 8))},
		{name: "got an end", h: of(one, inspect(3, 4, "9", 0), inspect(5, 6, "9", 8))},
		{name: "no end any more, once", want: immortal, h: of(one, inspect(3, 4, "9", 10), inspect(5, 6, "9", 0), inspect(7, 8, "9", 0))},
		{name: "no end any more, and back", want: append(restart, harness.TTLLost), h: of(one, inspect(3, 4, "9", 10), inspect(5, 6, "8", 0))},
		{name: "no end since it may have been begun anew", h: of(one, inspect(3, 4, "9", 10), inspect(5, 13, "9", 0))},
		{name: "another key never had an end", h: of(one, inspect(3, 4, "9", 10), on("seq-1", inspect(5, 6, "9", 0)))},
		{name: "inspected at once, with and without end", h: of(one, inspect(3, 4, "9", 10), inspect(4, 6, "9", 0))},
	})
}

func TestStoredEvidence(t *testing.T) {
	h := of(inspect(1, 2, "100", 50), next(0, 3, 4, "120"), inspect(5, 6, "23", 0), inspect(7, 8, "", 0))
	g, found := judge(t, Stored(), h)
	require.Equal(t, []harness.Class{harness.SequenceRestart, harness.TTLLost, harness.ReturnedNotStored, harness.SequenceRestart}, classes(found))
	require.Equal(t, []harness.Op{inspect(1, 2, "100", 50), inspect(5, 6, "23", 0)}, found[0].Ops)
	require.Equal(t, "seq-0 went back: 100 was stored at 2ns, 23 at 6ns", found[0].Note)
	require.Equal(t, "seq-0 had 50ns left at 2ns, and no end any more at 6ns", found[1].Note)
	require.Equal(t, []harness.Op{next(0, 3, 4, "120"), inspect(5, 6, "23", 0)}, found[2].Ops)
	require.Equal(t, "client 0 was given 120 of seq-0 by 4ns, but at 6ns 23 is stored", found[2].Note)
	require.Equal(t, "seq-0 went back: 23 was stored at 6ns, nothing at 8ns", found[3].Note)
	for name, want := range map[string]float64{"inspections": 3, "numbers": 1, "restarts": 2, "returned, not stored": 1, "TTLs lost": 1} {
		require.Equal(t, want, figureOf(t, g, name), name)
	}
}

// An end that may have come at the very start of the run is an end.
func TestASequenceThatMayHaveEndedAtOnce(t *testing.T) {
	const ms = time.Millisecond
	_, found := judge(t, Stored(), of(inspect(0, 47*ms, "1", ms), inspect(49*ms, 74*ms, "", 0)))
	require.Empty(t, found)
	_, found = judge(t, Stored(), of(inspect(0, 47*ms, "1", 50*ms), inspect(48*ms, 49*ms, "", 0)))
	require.NotEmpty(t, found)
}
