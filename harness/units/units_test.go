package units

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDurationsForPeople(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 12: "12 ns", 4200: "4.20 µs", 999_960: "1,000 µs", 15 * time.Millisecond: "15.0 ms",
		1480 * time.Millisecond: "1.48 s", 90 * time.Second: "90.0 s",
		125 * time.Second: "2:05", 3725 * time.Second: "1:02:05", -20 * time.Millisecond: "-20.0 ms",
	} {
		require.Equal(t, want, Duration(d))
	}
}

func TestNumbersForPeople(t *testing.T) {
	require.Equal(t, "1,234,567", Count(1234567))
	require.Equal(t, "−1,000", Count(-1000))
	require.Equal(t, "999", Count(999))
	require.Equal(t, "0.5", Short(0.5))
	require.Equal(t, "2,000", Short(2000))
	require.Equal(t, "12.5k", Short(12500))
	require.Equal(t, "3M", Short(3e6))
	require.Equal(t, "3.2 ops/s", Rate(3.2))
	require.Equal(t, "5,240 ops/s", Rate(5240.4))
	require.Equal(t, "äö…", Clip("äöüß", 3))
	require.Equal(t, "a, b and c", And([]string{"a", "b", "c"}))
}
