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
