package adapter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An adapter that sleeps in real time is right, but a search with it would take too long.
func TestASlowStepSaysWhatToDo(t *testing.T) {
	require.Equal(t, " (slow: 500ms, and a search asks thousands of times: let it ask for each sleep, "+page+")",
		slowness(500*time.Millisecond))
	require.Empty(t, slowness(5*time.Millisecond))
}
