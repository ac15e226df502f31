package drawing

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStepsAreRound(t *testing.T) {
	require.Equal(t, 5*sec, timeTickEvery(20*sec, 8))
	require.Equal(t, 10*sec, timeTickEvery(60*sec, 8))
	require.Equal(t, 600*sec, timeTickEvery(time.Hour, 8))
	require.Equal(t, 100*time.Microsecond, timeTickEvery(700*time.Microsecond, 8))
	require.Positive(t, timeTickEvery(1000*time.Hour, 8))
	require.InDelta(t, 500, valueTickEvery(1800, 4), 1e-9)
	require.InDelta(t, 1, valueTickEvery(0, 4), 1e-9)
}

func TestLanesKeepLabelsApart(t *testing.T) {
	var l lanes
	require.Equal(t, 0, l.put(0, 10))
	require.Equal(t, 1, l.put(5, 10))
	require.Equal(t, 0, l.put(10, 10))
}

// Adjacent ticks have different labels, even long after the beginning.
func TestTicksHaveTheDigitsTheyNeed(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		at, end, step time.Duration
		want          string
	}{
		{0, sec, 200 * us, "0 s"},
		{5371200 * us, 5371400 * us, 50 * us, "5.3712 s"},
		{5371250 * us, 5371400 * us, 50 * us, "5.37125 s"},
		{1200 * us, 1900 * us, 200 * us, "1.2 ms"},
		{1250 * time.Nanosecond, 2 * us, 50 * time.Nanosecond, "1.25 µs"},
		{20 * sec, 60 * sec, 10 * sec, "20 s"},
		{10 * sec, 20 * sec, 5 * sec, "10 s"},
		{100 * us, 900 * us, 100 * us, "100 µs"},
		{90 * sec, 200 * sec, 30 * sec, "1:30"},
	} {
		require.Equal(t, c.want, timeTick(c.at, c.end, c.step))
	}
}
