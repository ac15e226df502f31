package awake

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A long time without a reading is a standstill, of which only step counts as awake. A short wait on a busy machine is
// not a standstill.
func TestTimeInWhichNobodyReadsTheClockIsNoTimeAwake(t *testing.T) {
	c := &Clock{}
	for _, at := range []struct {
		now, awake  time.Duration
		standstills int
	}{
		{tick, tick, 0},
		{tick, tick, 0},
		{3 * tick, 3 * tick, 0},
		{3*tick + Standstill - 1, 5 * tick, 0},
		{3*tick + 2*Standstill, 7 * tick, 1},
		{time.Hour, 9 * tick, 2},
		{time.Hour + tick, 10 * tick, 2},
	} {
		awake, standstills := c.readAfter(at.now)
		require.Equal(t, []any{at.awake, at.standstills}, []any{awake, standstills}, "%v", at.now)
	}
	require.Greater(t, c.longest, 59*time.Minute)
}

// A function is called after the given time awake, unless it is canceled before.
func TestACallAfterSomeTimeAwake(t *testing.T) {
	c := New()
	defer c.Close()
	called := make(chan time.Duration, 1)
	cancel := c.CallAt(30*time.Millisecond, func() {
		awake, _ := c.Read()
		called <- awake
	})
	require.GreaterOrEqual(t, <-called, 30*time.Millisecond)
	cancel()
	c.CallAt(time.Hour, func() { called <- 0 })()
	require.Empty(t, called)
}
