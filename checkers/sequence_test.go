package checkers

import (
	"strconv"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

func TestSequence(t *testing.T) {
	dup, back := harness.DuplicateNumber, harness.Regression
	runCases(t, Sequence(), []verdictCase{
		{name: "empty", h: of(), unknown: "no next was recorded"},
		{name: "rising", h: of(next(0, 1, 2, "9"), next(1, 3, 4, "10"), next(0, 5, 6, "100"))},
		{name: "twice", want: []harness.Class{dup}, h: of(next(0, 1, 2, "9"), next(1, 3, 4, "9"))},
		{name: "twice at once", want: []harness.Class{dup}, h: of(next(0, 1, 2, "9"), next(1, 1, 3, "9"))},
		{name: "twice on two keys", h: of(next(0, 1, 2, "9"), on("seq-1", next(1, 1, 3, "9")))},
		{name: "three times", want: []harness.Class{dup, dup}, h: of(next(0, 1, 2, "9"), next(1, 1, 3, "9"), next(2, 1, 4, "9"))},
		{name: "smaller after larger", want: []harness.Class{back}, h: of(next(0, 1, 2, "100"), next(1, 3, 4, "23"))},
		{name: "smaller, at once", h: of(next(0, 1, 2, "100"), next(1, 1, 4, "23"))},
		{name: "smaller, touching", h: of(next(0, 1, 2, "100"), next(1, 2, 4, "23"))},
		{name: "twice and smaller", want: []harness.Class{dup, back}, h: of(next(0, 1, 2, "23"), next(0, 3, 4, "100"), next(1, 5, 6, "23"))},
		{name: "leading zeros are the same number", want: []harness.Class{dup}, h: of(next(0, 1, 2, "007"), next(1, 3, 4, "7"))},
		{name: "zero twice", want: []harness.Class{dup}, h: of(next(0, 1, 2, "0"), next(1, 1, 4, "000"))},
		{name: "longer is larger", h: of(next(0, 1, 2, "0009"), next(1, 3, 4, "10"))},
		{name: "beyond 2^53", h: of(next(0, 1, 2, "16081817202494579"), next(1, 3, 4, "16081817202494580"), next(0, 5, 6, "16081817202494581"))},
		{name: "beyond 2^64", want: []harness.Class{back}, h: of(next(0, 1, 2, "99999999999999999999999999999"), next(1, 3, 4, "99999999999999999999999999998"))},
		{name: "info is no number", h: of(info(next(0, 1, 2, "9")), next(1, 3, 4, "9"), next(2, 5, 6, "10"))},
		{name: "gap of an info", h: of(next(0, 1, 2, "9"), info(next(1, 3, 4, "")), next(2, 5, 6, "11"))},
		{name: "retired id", want: []harness.Class{dup}, h: of(next(0, 1, 2, "9"), info(next(0, 2, 3, "")), next(3, 3, 4, "9"))},
		{name: "not a number", h: of(next(0, 1, 2, "1.6e+16")), unknown: `1 results are not decimal numbers, the first: client 0 was given "1.6e+16" at 2ns`},
		{name: "negative", h: of(next(0, 1, 2, "-1")), unknown: "not decimal numbers"},
		{name: "nothing", h: of(next(0, 1, 2, "")), unknown: "not decimal numbers"},
		{name: "not a number, and worse", want: []harness.Class{dup}, h: of(next(0, 1, 2, "x"), next(0, 3, 4, "1"), next(0, 5, 6, "1"))},
		{name: "a slow call against the largest before it", want: []harness.Class{back},
			h: of(next(0, 1, 2, "5"), next(1, 1, 3, "4"), next(0, 9, 12, "90"), next(2, 4, 20, "3"))},
	})
}

// The article's test: everybody proposes 23 and the script compares strings.
func TestSequenceFirstDuplicate(t *testing.T) {
	var ops []harness.Op
	for i := range 79 {
		n, at := 23+i, time.Duration(10*i)
		if i == 78 {
			n = 23
		}
		ops = append(ops, next(i%testWorkers, at, at+5, strconv.Itoa(n)))
	}
	g, found := judge(t, Sequence(), of(ops...))
	require.Equal(t, []harness.Class{harness.DuplicateNumber, harness.Regression}, classes(found))
	require.Equal(t, "call 79 of seq-0 returned 23, which call 1 had returned", found[0].Note)
	require.Equal(t, "call 79 of seq-0 returned 23, after call 78 had returned 100", found[1].Note)
	require.Equal(t, []harness.Op{ops[77], ops[78]}, found[1].Ops)
	require.Equal(t, 79.0, figureOf(t, g, "first duplicate at call"))
	require.Equal(t, 79.0, figureOf(t, g, "calls"))
	require.Equal(t, 1.0, figureOf(t, g, "duplicates"))
	require.Equal(t, 1.0, figureOf(t, g, "regressions"))
}

func TestNumbers(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"9", "10", -1}, {"100", "23", 1}, {"0", "00", 0}, {"010", "10", 0}, {"0", "1", -1},
		{"9007199254740992", "9007199254740993", -1}, {"18446744073709551616", "18446744073709551615", 1},
	} {
		a, okA := parseNumber(tc.a)
		b, okB := parseNumber(tc.b)
		require.True(t, okA && okB)
		require.Equal(t, tc.want, a.compare(b), "%s and %s", tc.a, tc.b)
	}
	for _, s := range []string{"", "-1", "+1", " 1", "1.0", "1e3", "1a1", "٣"} {
		_, ok := parseNumber(s)
		require.False(t, ok, s)
	}
}
