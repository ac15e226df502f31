package drawing

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
