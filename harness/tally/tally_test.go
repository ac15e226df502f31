package tally

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// suiteWith returns a suite with one case for each of the endings.
func suiteWith(endings ...Ending) Suite {
	s := Suite{Name: "mine", Elapsed: time.Minute, Passes: 1}
	for i, e := range endings {
		c := Case{Name: fmt.Sprintf("case %d", i), Expected: "valid"}
		c.Add(Run{Name: c.Name, Ending: e, Seed: uint64(i + 1), Why: "why", Ops: 10, Command: "doublegrant run x"})
		s.Cases = append(s.Cases, c)
	}
	return s
}

func TestTheWorstRunIsThatOfTheSuite(t *testing.T) {
	for _, c := range []struct {
		of   []Ending
		want Ending
	}{
		{nil, NotRun},
		{[]Ending{Met}, Met},
		{[]Ending{Met, NotRun}, NotRun},
		{[]Ending{NotRun, Met}, NotRun},
		{[]Ending{Met, Undecided}, Undecided},
		{[]Ending{Undecided, Failed, Met}, Failed},
		{[]Ending{Failed, NotMet, Undecided}, NotMet},
	} {
		require.Equal(t, c.want, suiteWith(c.of...).Ending(), c.of)
		one := Case{}
		for _, e := range c.of {
			one.Add(Run{Ending: e})
		}
		if want := c.want; want != NotRun { // a run that did not end does not change its case's ending
			require.Equal(t, want, one.Ending(), c.of)
		}
	}
}

func TestACaseCountsAllRunsAndListsSome(t *testing.T) {
	c := Case{Name: "a"}
	for i := range 3 * MaxFailures {
		c.Add(Run{Ending: Undecided, Seed: uint64(i), Ops: 2})
	}
	c.Add(Run{Ending: Met, Ops: 2})
	c.Add(Run{Ending: NotRun, Ops: 1000})
	require.Equal(t, []int{3*MaxFailures + 1, 1, 3 * MaxFailures}, []int{c.Runs, c.Met, c.Unknown})
	require.Len(t, c.Failures, MaxFailures)
	require.EqualValues(t, 2*(3*MaxFailures+1), c.Ops)
	require.Equal(t, NotRun, Suite{Ended: "interrupted", Cases: []Case{{Met: 1, Runs: 1}}}.Ending(),
		"it did not do all it was asked to")
	_, others := Suite{Cases: []Case{c}}.Failures(5)
	require.Equal(t, 3*MaxFailures-5, others)
}

// TestMemoryIsComparedAfterTheWarmUp checks that neither the first minutes nor a single peak counts as growth.
func TestMemoryIsComparedAfterTheWarmUp(t *testing.T) {
	grows := func(by func(i int) int64) (m Memory) {
		for i := range 100 {
			at := time.Duration(i) * 10 * time.Second
			rss := by(i)
			if at <= WarmUp {
				rss = 1
			}
			m.UnderLoad(Sample{At: at, RSS: rss << 20})
			if i%10 == 9 {
				m.AfterRun(1+i/50, Sample{At: at, RSS: rss << 20, Goroutines: 3, Files: 11})
			}
		}
		return m
	}
	flat := grows(func(i int) int64 { return 200 + int64(i%3) - 1 })
	from, to, ok := flat.Load.Growth(flat.WarmUp)
	require.True(t, ok)
	require.InEpsilon(t, from, to, 0.01)
	require.InDelta(t, 200<<20, from, 2<<20)
	leak := grows(func(i int) int64 { return 200 + 2*int64(i) })
	from, to, _ = leak.Load.Growth(leak.WarmUp)
	require.Greater(t, float64(to), 1.2*float64(from))
	require.Equal(t, WarmUp, leak.WarmUp, "the first pass took longer")

	var brief Memory
	brief.AfterRun(1, Sample{At: 10 * time.Second, RSS: 1})
	brief.AfterRun(2, Sample{At: 20 * time.Second, RSS: 1})
	require.Equal(t, 10*time.Second, brief.WarmUp, "the end of the first pass")
	_, _, ok = brief.Runs.Growth(brief.WarmUp)
	require.False(t, ok)
}

func TestACurveOfMemoryStaysSmallAndCoversAll(t *testing.T) {
	var c Curve
	for i := range 100_000 {
		c.add(Sample{At: time.Duration(i), RSS: 1})
	}
	require.Less(t, len(c.All), maxSamples)
	require.Greater(t, len(c.All), maxSamples/3)
	require.Less(t, c.All[0].At, time.Duration(1000))
	require.Greater(t, c.All[len(c.All)-1].At, time.Duration(99_000))
	for i := 1; i < len(c.All); i++ {
		require.Less(t, c.All[i-1].At, c.All[i].At)
	}
}
