package fabric_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// When connections end under two toxics and one of these goes, the bytes under way are still delivered, and the next
// toxic does not make toxiproxy panic.
func TestAToxicComesWhileConnectionsEndThatTwoOthersHaveLeft(t *testing.T) {
	for _, first := range []harness.LinkFault{harness.Latency(time.Second, 0), harness.LimitData(2),
		harness.DropReplies()} {
		t.Run(first.String(), func(t *testing.T) {
			fromBoth(t, func(t *testing.T, w world) {
				older := w.add(first)
				younger := w.add(harness.Latency(300*time.Millisecond, 0))
				for range 20 {
					c := w.dial(alice)
					_, err := c.Write([]byte("one"))
					require.NoError(t, err)
					if first.Kind != harness.LinkLimitData { // which ends it
						require.NoError(t, c.(interface{ CloseWrite() error }).CloseWrite())
					}
				}
				older()
				younger()
				third := w.add(harness.Latency(time.Millisecond, 0))
				require.NoError(t, w.echoes(w.dial(alice), "two"))
				third()
				require.NoError(t, w.echoes(w.dial(alice), "three"))
			})
		})
	}
}
