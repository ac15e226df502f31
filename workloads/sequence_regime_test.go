package workloads

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proposed returns n proposals of a regime, by one caller.
func proposed(r Regime, n int) (all []string) {
	next, rng := r.generator(), newRand()
	for range n {
		all = append(all, next(rng))
	}
	return all
}

func numbers(t *testing.T, proposals []string) (all []int) {
	t.Helper()
	for _, p := range proposals {
		n, err := strconv.Atoi(p)
		require.NoError(t, err)
		all = append(all, n)
	}
	return all
}

func TestEveryRegimeProposesDecimalNumbers(t *testing.T) {
	for _, r := range Regimes() {
		for _, p := range proposed(r, 1000) {
			require.Regexp(t, `^\d+$`, p, "%s", r)
			require.NotZero(t, numbers(t, []string{p})[0], "%s", r)
		}
	}
}

func TestAClockThatStepsBackDoesSoNowAndThenBySeconds(t *testing.T) {
	const n = 10_000
	at := time.Date(2016, 8, 18, 17, 20, 24, 0, time.UTC)
	rng, back := newRand(), 0
	for range n {
		got := clockBack(at, rng)
		if got.Equal(at) {
			continue
		}
		back++
		require.LessOrEqual(t, at.Sub(got), stepBack)
		require.GreaterOrEqual(t, at.Sub(got), time.Second)
	}
	require.InDelta(t, steppedBack*n, back, n/50)
	for _, p := range proposed(ClockBack, 100) {
		require.Len(t, p, 17)
	}
}

func TestBeyond53CrossesIt(t *testing.T) {
	all := numbers(t, proposed(Beyond53, 2*below53+growingLag))
	require.Less(t, all[0], twoTo53)
	require.Greater(t, all[len(all)-1], twoTo53)
	for i := 1; i < len(all); i++ {
		require.InDelta(t, all[i-1], all[i], growingLag)
	}
}

func TestLeadingZerosAreOnHalfOfTheNumbers(t *testing.T) {
	const n = 1000
	zeros := 0
	for _, p := range proposed(LeadingZeros, n) {
		if strings.HasPrefix(p, "0") {
			zeros++
			require.Len(t, p, zeroPads)
		}
	}
	require.InDelta(t, n/2, zeros, n/10)
	require.Greater(t, slices.Max(numbers(t, proposed(LeadingZeros, n))), n-growingLag-1)
}

func TestSamples(t *testing.T) {
	for r, want := range map[Regime][]string{ // two calls each of clients 0, 1 and 3
		Fixed:       {"99", "99", "99", "99", "99", "99"},
		Timestamp17: slices.Repeat([]string{"16081817202494579"}, 6),
		Growing:     {"8", "9", "9", "10", "11", "12"},
		ClockBack:   slices.Repeat([]string{"16081817202494579", "16081817202394579"}, 3),
		Beyond53: {
			"9007199254740992", "9007199254740993", "9007199254740993",
			"9007199254740994", "9007199254740995", "9007199254740996",
		},
		LeadingZeros: {"09", "9", "9", "009", "09", "9"},
	} {
		var got []string
		for _, client := range []int{0, 1, 3} {
			got = append(got, r.sample(client, 0), r.sample(client, 1))
		}
		require.Equal(t, want, got, "%s", r)
	}
}
