package interleave

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatSchedulesAtRandomPromise(t *testing.T) {
	r := Random{Depth: 4, Clients: 8, Steps: 11, Counted: 49_034}.Promise()
	require.InDelta(t, 1.0/(8*11*11*11), r.Probability, 1e-12)
	require.Zero(t, r.WithFault)
	require.InDelta(t, 0.99, r.Odds(), 1e-5)
	require.Less(t, Random{Depth: 4, Clients: 8, Steps: 11, Counted: 49_033}.Promise().Odds(), 0.99)
	require.Equal(t, "One schedule finds a bug of depth 4 or less with a probability of at least 1 in 10,648 (8 "+
		"clients, 11 steps); "+
		"49,034 find it with 99 %, and these have found it with 99 % at least. Nothing is claimed about deeper bugs.",
		r.Guarantee())

	r = Random{Depth: 3, Clients: 5, Steps: 20, Counted: 10, Faults: 4, Instants: 2}.Promise()
	require.InDelta(t, 1.0/(5*20*20*5), r.Probability, 1e-12, "none of 0 to 4 faults")
	require.InDelta(t, r.Probability/4/20/2, r.WithFault, 1e-12, "one of 4, at one of 20 places, and one of 2 instants")
	require.Contains(t, r.Guarantee(), "that needs no fault with a probability of at least 1 in 10,000 (5 clients, "+
		"20 steps); 46,050 find it with 99 %, and these have found it with 0.09 %")
	require.Contains(t, r.Guarantee(), "If it needs one fault, at one place, 1 in 1.6 million.")

	require.Equal(t, "Too few schedules were run to guarantee anything.", Random{Depth: 3}.Promise().Guarantee())
	sure := Random{Depth: 1, Clients: 1, Steps: 3, Counted: 1}.Promise()
	require.False(t, math.IsNaN(sure.Needed))
}

func TestPromisesAreRoundedDown(t *testing.T) {
	require.Equal(t, []string{"less than 0.01 %", "9.99 %", "10 %", "99 %"}, []string{percentRoundedDown(0.00005),
		percentRoundedDown(0.09999), percentRoundedDown(0.1), percentRoundedDown(0.9999)})
	require.Equal(t, []string{"1", "1,001", "1.5 million", "2.0e+09"},
		[]string{roundedUpCount(0.3), roundedUpCount(1000.5), roundedUpCount(1.5e6), roundedUpCount(2e9)})
}

func TestShrunkInWords(t *testing.T) {
	s := Shrunk{Schedule: 1234, Clients: 8, Steps: 31, Runs: 200}
	require.Equal(t, "first found by schedule 1,234; shrunk from 31 steps of 8 clients by running 200 "+
		"schedules", s.String())
	s.Smallest = true
	require.Contains(t, s.String(), "; a search of these clients and faults found no shorter one")
}

func TestRoundNumbersInWords(t *testing.T) {
	for n, want := range map[float64]string{999: "999", 1000: "1,000", 999_999: "999,999",
		1e6: "1.0 million", 1e9: "1.0e+09"} {
		require.Equal(t, want, roundedUpCount(n))
	}
	require.Equal(t, "0.01 %", percentRoundedDown(0.0001))
}
