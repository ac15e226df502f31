package tally

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFailoversAreSummedUp(t *testing.T) {
	var all []Failover
	for i := range 10 {
		one := Failover{Times: map[string]time.Duration{"first write": time.Duration(10-i) * time.Second}, Grants: i % 2 * 10}
		if i == 3 {
			one.Times["joins"] = time.Minute
		}
		all = append(all, one)
	}
	f := FiguresOf(all, []string{"joins", "never", "first write"})
	require.Equal(t, []Distribution{
		{Name: "joins", Of: 1, Min: time.Minute, Median: time.Minute, P90: time.Minute, Max: time.Minute},
		{Name: "first write", Of: 10, Min: time.Second, Median: 5500 * time.Millisecond, P90: 9 * time.Second, Max: 10 * time.Second},
	}, f.Times)
	require.Equal(t, 5.0, f.Grants.Mean)
	require.InDelta(t, 5-2.26*5.27/3.162, f.Grants.Low, 0.01)
	require.InDelta(t, 5+2.26*5.27/3.162, f.Grants.High, 0.01)
	require.Equal(t, Mean{High: 0.3}, f.Writes, "none of ten: below 0.3 each, with 95 %")
	require.Equal(t, Mean{Mean: 10, High: -1}, FiguresOf(all[1:2], nil).Grants, "one tells nothing of others")
	require.Zero(t, FiguresOf(nil, []string{"joins"}))
	_, ok := f.At("never")
	require.False(t, ok)
}

func TestStudentsTableHasNoStep(t *testing.T) {
	for free := 1; free < 200; free++ {
		require.LessOrEqual(t, student(free+1), student(free), free)
	}
	require.InDelta(t, 2.08, student(21), 0.01)
	require.InDelta(t, 1.98, student(100), 0.01)
}
