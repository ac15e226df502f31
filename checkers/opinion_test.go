package checkers

import (
	"cmp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

// unhurried returns o with the usual bounds for those that are 0, and with time enough on any machine.
func unhurried(o opinion) opinion {
	return opinion{ops: cmp.Or(o.ops, 1000), maxOps: cmp.Or(o.maxOps, 50_000), inAll: cmp.Or(o.inAll, time.Minute),
		perKey: cmp.Or(o.perKey, time.Minute)}
}

func TestSecondOpinion(t *testing.T) {
	for _, tc := range []struct {
		name   string
		h      harness.History
		bounds opinion
		want   string
	}{
		{name: "empty", h: of(), want: "porcupine judged no whole key: no lock, message or sequence was recorded"},
		{name: "one name, three families", h: of(on("x", acquire(0, "a", 1, 2, 10)), on("x", claim(0, 3, 4, 5)),
			on("x", next(0, 5, 6, "7"))),
			want: "porcupine agreed with the checkers on 3 of 3 keys"},
		{name: "a fence regression", h: of(token("2", acquire(0, "a", 1, 2, 1)), token("1", acquire(1, "b", 3, 4, 1))),
			want: "agreed with the checkers on 1 of 1 keys, 1 of them illegal"},
		{name: "a number that goes back", h: of(next(0, 1, 2, "2"), next(0, 3, 4, "1")),
			want: "agreed with the checkers on 1 of 1 keys, 1 of them illegal"},
		{name: "re-entry with the same token",
			h:    of(token("2", acquire(0, "a", 1, 2, 9)), token("2", acquire(0, "a", 3, 4, 9))),
			want: "agreed with the checkers on 1 of 1 keys"},
		{name: "torn", h: torn(acquire(0, "a", 1, 2, 10)),
			want: "porcupine judged no whole key: the record is not whole"},
		{name: "too large", h: of(next(0, 1, 2, "1"), next(0, 3, 4, "2"), next(0, 5, 6, "3"),
			on("seq-1", next(0, 7, 8, "1"))), bounds: opinion{ops: 2},
			want: "porcupine agreed with the checkers on 1 of 1 keys; 1 were too large to ask, with more than 2 " +
				"operations"},
		{name: "all too large", h: of(next(0, 1, 2, "1"), next(0, 3, 4, "2"), next(0, 5, 6, "3")),
			bounds: opinion{ops: 2},
			want:   "porcupine judged none of 1 whole keys; 1 were too large to ask"},
		{name: "refused ones take no room", h: of(acquire(0, "a", 1, 2, 10), fail(acquire(1, "b", 3, 4, 10)),
			fail(acquire(1, "b", 5, 6, 10)), release(0, "a", 7, 8)),
			bounds: opinion{ops: 2}, want: "porcupine agreed with the checkers on 1 of 1 keys"},
		{name: "those that found a mark take no room",
			h: of(claim(0, 1, 2, 10), seen(claim(1, 3, 4, 10)), claim(1, 5, 6, 10)), bounds: opinion{ops: 2},
			want: "porcupine agreed with the checkers on 1 of 1 keys, 1 of them illegal"},
		{name: "too many keys", h: of(on("a", next(0, 1, 2, "1")), on("b", next(0, 3, 4, "1")),
			on("a", next(0, 5, 6, "2")), on("c", next(0, 7, 8, "1"))),
			bounds: opinion{maxOps: 2}, want: "porcupine agreed with the checkers on 1 of 1 keys; 1 were too large to " +
				"ask, with more than 1,000 operations or beyond the 2 kept; " +
				"1 operations of further keys were not kept"},
		{name: "no time", h: of(next(0, 1, 2, "1"), on("b", next(0, 3, 4, "1"))), bounds: opinion{inAll: 1},
			want: "porcupine judged none of 2 whole keys; 2 took too long"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, found := judge(t, unhurried(tc.bounds), tc.h)
			require.Empty(t, found)
			unasked := strings.Contains(tc.want, "porcupine judged no")
			require.Equal(t, unasked, g.NotNeeded)
			require.Equal(t, !unasked, g.Verdict == harness.Valid, "valid is what porcupine was asked of")
			require.Contains(t, g.Reason, tc.want)
			require.Equal(t, "porcupine", g.Checker)
		})
	}
}

// A key about which porcupine thinks for too long is skipped, and the others are asked about.
func TestSecondOpinionOfAHardKey(t *testing.T) {
	var ops []harness.Op
	for i := range 200 {
		ops = append(ops, next(i, 1, 1000, strconv.Itoa(i)), next(i, 1, 1000, strconv.Itoa(i)))
	}
	g, _ := judge(t, unhurried(opinion{perKey: 1}), of(ops...))
	require.Equal(t, "porcupine judged none of 1 whole keys; 1 took too long", g.Reason)
}

// Keys that porcupine is not asked about are not kept, so that memory stays within the bounds.
func TestSecondOpinionFrees(t *testing.T) {
	p := &opinionPass{opinion: opinion{ops: 10, maxOps: 100}, keys: map[familyKey]*keyOps{}}
	for i := range 10_000 {
		at := time.Duration(i)
		p.op(on(strconv.Itoa(i/100), next(0, at, at, strconv.Itoa(i))))
		kept := 0
		for _, k := range p.order {
			kept += len(k.ops)
		}
		require.Equal(t, kept, p.kept)
		require.LessOrEqual(t, kept, 100)
		require.LessOrEqual(t, len(p.order), 100)
	}
	require.Equal(t, 100, p.large, "each had too many")
}

// A checker that misses a violation, or reports a false one, is named.
func TestSecondOpinionNamesADefect(t *testing.T) {
	h := of(acquire(0, "a", 1, 2, 10), acquire(1, "a", 3, 4, 10))
	p := &opinionPass{opinion: unhurried(opinion{}), meta: h.Meta, keys: map[familyKey]*keyOps{}}
	require.NoError(t, eachOp(t.Context(), h, p.op))
	p.meta.Workers = 1 // one worker for both, so porcupine and the checker see different histories
	p.ask(t.Context(), h)
	require.Equal(t, []int{1, 0}, []int{p.asked, p.agreed})
	require.Contains(t, p.defect(), "the checkers and porcupine differ in 1 cases, which is a defect of the harness")
	require.Contains(t, p.defect(), `of "k" (2 operations) porcupine says Ok, mutex says invalid (1 double-grant)`)
}
