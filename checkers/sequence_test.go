package checkers

import (
	"testing"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

func TestSequence(t *testing.T) {
	dup, back := harness.DuplicateNumber, harness.Regression
	const tail = "1234567890123456789"
	runCases(t, Sequence(), []verdictCase{
		{name: "empty", h: of(), unknown: "no next was recorded"},
		{name: "rising", h: of(next(0, 1, 2, "9"), next(1, 3, 4, "10"), next(0, 5, 6, "100"))},
		{name: "smaller after larger", want: []harness.Class{back}, h: of(next(0, 1, 2, "100"), next(1, 3, 4, "23"))},
		{name: "leading zeros are the same number", want: []harness.Class{dup},
			h: of(next(0, 1, 2, "007"), next(1, 3, 4, "7"))},
		{name: "beyond 2^64", want: []harness.Class{back},
			h: of(next(0, 1, 2, "99999999999999999999999999999"), next(1, 3, 4, "99999999999999999999999999998"))},
		{name: "not a number", h: of(next(0, 1, 2, "1.6e+16")),
			unknown: `1 results are not decimal numbers, the first: client 0 was given "1.6e+16" at 2ns`},
		{name: "not a number, and worse", want: []harness.Class{dup},
			h: of(next(0, 1, 2, "x"), next(0, 3, 4, "1"), next(0, 5, 6, "1"))},
		{name: "an odd result after a number", unknown: "not decimal numbers",
			h: of(next(0, 1, 2, "5"), next(1, 3, 4, "x"))},
		{name: "equal in their last 19 digits",
			h: of(next(0, 1, 2, tail), next(0, 3, 4, "1"+tail), next(0, 5, 6, "2"+tail))},
		{name: "equal in their first digits", h: of(next(0, 1, 2, "7"+tail), next(0, 3, 4, "7"+"2345678901234567890"))},
	})
}

func TestWhatIsNoNumber(t *testing.T) {
	for _, s := range []string{"", "-1", "+1", " 1", "1.0", "1e3", "1a1", "٣"} {
		_, ok := parseNumber(s)
		require.False(t, ok, s)
	}
}
