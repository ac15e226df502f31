package tally

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFailoversAreSummedUp(t *testing.T) {
	var all []Failover
	for i := range 10 {
		one := Failover{Times: map[string]time.Duration{"first write": time.Duration(10-i) * time.Second},
			Losses: map[string]int{"double-grant": i % 2 * 10}}
		if i < 5 {
			one.Losses["lost-write"] = 0
		}
		if i == 3 {
			one.Times["joins"] = time.Minute
		}
		all = append(all, one)
	}
	f := FiguresOf(all, []string{"joins", "never", "first write"})
	require.Equal(t, []Distribution{
		{Name: "joins", Of: 1, Min: time.Minute, Median: time.Minute, P90: time.Minute, Max: time.Minute},
		{Name: "first write", Of: 10, Min: time.Second, Median: 5500 * time.Millisecond, P90: 9 * time.Second,
			Max: 10 * time.Second},
	}, f.Times)
	require.Len(t, f.Losses, 2)
	require.Equal(t, []any{"double-grant", 10, 5.0}, []any{f.Losses[0].Name, f.Losses[0].Of, f.Losses[0].Mean})
	require.InDelta(t, 5-2.26*5.27/3.162, f.Losses[0].Low, 0.01)
	require.InDelta(t, 5+2.26*5.27/3.162, f.Losses[0].High, 0.01)
	require.Equal(t, Mean{Name: "lost-write", Of: 5, High: -1}, f.Losses[1], "the next one may have thousands")
	require.InDelta(t, 0.05, math.Pow(1-f.Losses[1].Share(), 5), 1e-9, "so rarely do five have none")
	require.InDelta(t, 0.1, Mean{Of: 30}.Share(), 0.005, "nearly 3 in n")
	require.Equal(t, Mean{Name: "double-grant", Of: 1, Mean: 10, High: -1}, FiguresOf(all[9:], nil).Losses[0],
		"one tells nothing of others")
	require.Zero(t, FiguresOf(nil, []string{"joins"}))
	_, ok := f.At("never")
	require.False(t, ok)
}

// TestACaseHoldsItsFailoversOnce checks that the runs that a case lists do not repeat its failovers.
func TestACaseHoldsItsFailoversOnce(t *testing.T) {
	var c Case
	require.Nil(t, c.SumUp())
	stages := []string{"joins"}
	for i := range 3 {
		one := Failover{Times: map[string]time.Duration{"joins": time.Duration(i)}}
		c.Add(Run{Ending: NotMet, Failovers: []Failover{one, {}}, Stages: stages})
	}
	c.Add(Run{Ending: Met})
	joins := Distribution{Name: "joins", Of: 3, Median: 1, P90: 2, Max: 2}
	require.Equal(t, Figures{Failovers: 6, Times: []Distribution{joins}}, *c.SumUp())
	for _, r := range append(c.Failures, c.Last) {
		require.Empty(t, r.Failovers)
		require.Empty(t, r.Stages)
	}
}

func TestFiguresWithoutTimesAreAnEmptyListInJSON(t *testing.T) {
	text, err := json.Marshal(FiguresOf([]Failover{{}}, []string{"joins"}))
	require.NoError(t, err)
	require.JSONEq(t, `{"failovers": 1, "times": []}`, string(text))
}

func TestStudentsTableHasNoStep(t *testing.T) {
	for free := 1; free < 200; free++ {
		require.LessOrEqual(t, student(free+1), student(free), free)
	}
	require.InDelta(t, 2.08, student(21), 0.01)
	require.InDelta(t, 1.98, student(100), 0.01)
}
