package checkers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Redis keeps a key to the end of its last millisecond. It has no lease of less than one.
func TestLastKept(t *testing.T) {
	const ms = time.Millisecond
	for ttl, want := range map[time.Duration]time.Duration{
		ms - 1: 7 + ms - 1, ms: 7 + 2*ms - 1, 5 * ms: 7 + 6*ms - 1, 0: forever, forever: forever, forever - 1: forever,
	} {
		require.Equal(t, want, lastKept(acquire(0, "a", 1, 7, ttl), 0), ttl)
	}
	require.Equal(t, 7+12*ms-1, lastKept(acquire(0, "a", 1, 7, 9*ms), 0.2))
}

func TestLastOf(t *testing.T) {
	require.Equal(t, []int{4, 5}, lastOf([]int{1, 2, 3, 4, 5}, 2))
	require.Equal(t, []int{4, 5}, lastOf([]int{4, 5}, 2))
}
