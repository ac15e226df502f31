package reports

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDurationsForPeople(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 12: "12 ns", 4200: "4.20 µs", 999_960: "1,000 µs", 15 * ms: "15.0 ms", 1480 * ms: "1.48 s", 90 * sec: "90.0 s",
		125 * sec: "2:05", 3725 * sec: "1:02:05", -20 * ms: "-20.0 ms",
	} {
		require.Equal(t, want, dur(d))
	}
}

func TestNumbersForPeople(t *testing.T) {
	require.Equal(t, "1,234,567", count(1234567))
	require.Equal(t, "−1,000", count(-1000))
	require.Equal(t, "999", count(999))
	require.Equal(t, "0.5", short(0.5))
	require.Equal(t, "2,000", short(2000))
	require.Equal(t, "12.5k", short(12500))
	require.Equal(t, "3M", short(3e6))
	require.Equal(t, "3.2 ops/s", rate(3.2))
	require.Equal(t, "5,240 ops/s", rate(5240.4))
	require.Equal(t, "äö…", clip("äöüß", 3))
	require.Equal(t, "a, b and c", and([]string{"a", "b", "c"}))
}

func TestStepsAreRound(t *testing.T) {
	require.Equal(t, 5*sec, timeStep(20*sec, 8))
	require.Equal(t, 10*sec, timeStep(60*sec, 8))
	require.Equal(t, 600*sec, timeStep(time.Hour, 8))
	require.Equal(t, 100*time.Microsecond, timeStep(700*time.Microsecond, 8))
	require.Positive(t, timeStep(1000*time.Hour, 8))
	require.InDelta(t, 500, valueStep(1800, 4), 1e-9)
	require.InDelta(t, 1, valueStep(0, 4), 1e-9)
}

func TestLanesKeepLabelsApart(t *testing.T) {
	var l lanes
	require.Equal(t, 0, l.place(0, 10))
	require.Equal(t, 1, l.place(5, 10))
	require.Equal(t, 0, l.place(10, 10))
}
