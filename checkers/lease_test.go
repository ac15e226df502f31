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

// In a note on two holds that overlap by less than a microsecond, one still sees which came first.
func TestTimesOfAShortOverlapLookDifferent(t *testing.T) {
	const start = 10*time.Second + 500*time.Millisecond
	_, found := judge(t, Mutex(), of(acquire(0, "", start, start+1000, time.Minute),
		acquire(1, "", start+1500, start+2002, time.Minute), release(0, "", start+2003, start+9000)))
	require.Len(t, found, 1)
	require.Equal(t, "client 1 was granted k by 10.500002002s, while client 0 certainly held it from 10.500001s until "+
		"10.500002003s", found[0].Note)
	require.Equal(t, []any{"10.500002s", "the end"}, formatOrdered(start+2002, forever))
}
