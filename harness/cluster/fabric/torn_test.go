package fabric_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// Connections end while two toxics act on them, and one of the toxics is removed. Their last bytes still arrive, and
// toxiproxy does not panic when a toxic is added.
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
