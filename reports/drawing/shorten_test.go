package drawing

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

const us = time.Microsecond

func TestQuietTimesAreCutOutWhereTheyDwarfTheRest(t *testing.T) {
	for name, c := range map[string]struct {
		moments []time.Duration
		seen    []timeCut
		cuts    int
	}{
		"nothing":                    {nil, nil, 0},
		"two moments":                {[]time.Duration{0, sec}, nil, 0},
		"evenly":                     {[]time.Duration{0, ms, 2 * ms, 3 * ms, 4 * ms}, nil, 0},
		"a hold and what follows it": {[]time.Duration{0, ms, 294 * ms, 295 * ms, 296 * ms, 300 * ms}, nil, 1},
		"two holds":                  {[]time.Duration{0, ms, 150 * ms, 151 * ms, 300 * ms, 301 * ms}, nil, 2},
		"a slow acquire, its lease, a wait": {[]time.Duration{0, 74 * ms, 300 * ms, 339 * ms, 341 * ms, 344 * ms,
			349 * ms}, []timeCut{{341 * ms, 344 * ms}}, 3},
		"nothing of what has to be seen": {[]time.Duration{0, ms, 294 * ms, 295 * ms, 296 * ms, 300 * ms},
			[]timeCut{{ms, 294 * ms}}, 0},
		"no more than is needed": {[]time.Duration{0, 2 * ms, 8200 * us, 8300 * us, 8400 * us, 9400 * us},
			[]timeCut{{8400 * us, 9400 * us}}, 1},
		"not long enough to be worth it": {[]time.Duration{0, 10 * ms, 30 * ms, 40 * ms}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			moments := slices.Clone(c.moments)
			slices.Reverse(moments)
			cuts := quietCuts(append(moments, moments...), c.seen)
			require.Len(t, cuts, c.cuts)
			for _, cut := range cuts {
				require.False(t, slices.ContainsFunc(c.moments,
					func(m time.Duration) bool { return m >= cut.from && m <= cut.to }), "%v of %v", cut, c.moments)
			}
		})
	}
}

func TestAShortenedAxisKeepsTheOrderOfTime(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	shortenedOnes := 0
	for range 500 {
		var moments []time.Duration
		for range 2 + rng.IntN(12) {
			moments = append(moments, time.Duration(rng.Int64N(int64(ms)))<<rng.IntN(10))
		}
		slices.Sort(moments)
		first, last := moments[0], moments[len(moments)-1]
		s := cutAxis{first, last + 1, quietCuts(moments, nil)}
		require.Zero(t, s.x(first-sec))
		require.InDelta(t, 100, s.x(last+sec), 1e-6)
		require.Len(t, s.parts(), len(s.cuts)+1)
		for i := 1; i < len(moments); i++ {
			require.LessOrEqual(t, s.x(moments[i-1]), s.x(moments[i])+1e-9)
		}
		for _, c := range s.cuts {
			shortenedOnes++
			require.InDelta(t, cutWidth, s.x(c.to)-s.x(c.from), 1e-6)
		}
	}
	require.Greater(t, shortenedOnes, 100)
}

func acquire(client int, t, took time.Duration) harness.Op {
	return harness.Op{Client: client, Kind: harness.Acquire, Key: "k", Call: t, Return: t + took, Outcome: harness.OK,
		TTL: 300 * ms}
}

// lateTheft returns the anomaly of a stolen release. All but the first operation come in the last 6 of 300 ms.
func lateTheft() harness.Anomaly {
	a, b := acquire(1, 0, ms), acquire(2, 294*ms, ms/2)
	theft := harness.Op{Client: 1, Kind: harness.Release, Key: "k", Call: 295 * ms, Return: 295*ms + ms/10,
		Outcome: harness.OK}
	c := acquire(3, 295*ms+ms/2, ms/2)
	end := harness.Op{Client: 2, Kind: harness.Release, Key: "k", Call: 299 * ms, Return: 300 * ms, Outcome: harness.OK}
	return harness.Anomaly{
		Class: harness.StolenRelease, Key: "k", Note: "stolen", Ops: []harness.Op{a, b, theft, c, end},
		Spans: []harness.Span{
			{Client: 1, Owner: 0, From: ms, To: 293 * ms, Until: harness.LeaseEnds},
			{Client: 2, Owner: 1, From: 294*ms + ms/2, To: 299 * ms, Until: harness.OwnRelease},
			{Client: 3, Owner: 2, From: 296 * ms, To: 595 * ms, Until: harness.LeaseEnds},
		},
	}
}

func TestAPictureShowsWhatMattersAndNoLabelLiesOnAnother(t *testing.T) {
	even := harness.Anomaly{Class: harness.DoubleGrant, Key: "k",
		Ops: []harness.Op{acquire(1, 0, ms), acquire(1, ms, ms), acquire(2, 2*ms, ms), acquire(3, 3*ms, ms)}}
	require.True(t, Shortened(lateTheft(), harness.Meta{}))
	require.False(t, Shortened(even, harness.Meta{}))
	require.False(t, Shortened(harness.Anomaly{}, harness.Meta{}))
	for _, a := range []harness.Anomaly{lateTheft(), even} {
		d := Anomaly(a, harness.Meta{})
		var both float64
		type label struct{ from, to float64 }
		rows := map[string][]label{}
		for _, s := range d.Plot {
			if s.Class == "overlap" {
				both = max(both, percentOf(t, s.W))
			}
			if s.Tag != "text" {
				continue
			}
			x, w := percentOf(t, s.X), width(s.Text)
			switch s.Anchor {
			case "middle":
				x -= w / 2
			case "end":
				x -= w
			}
			for _, o := range rows[s.Y] {
				require.False(t, x < o.to-0.01 && o.from < x+w-0.01, "%s of %s at %v%%", s.Text, a.Class, x)
			}
			rows[s.Y] = append(rows[s.Y], label{x, x + w})
		}
		if a.Class == harness.StolenRelease {
			require.Greater(t, both, 25.0, "the time with two owners is what one looks for")
		}
	}
}

func percentOf(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
	require.NoError(t, err)
	return v
}
