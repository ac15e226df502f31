package fabric_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// When a toxic ends a connection in the middle, no goroutine that carried its bytes remains.
func TestNothingStaysOfConnectionsThatEndInTheMiddle(t *testing.T) {
	for name, toxic := range map[string]harness.LinkFault{"drop": harness.Drop(), "limit": harness.LimitData(100)} {
		t.Run(name, func(t *testing.T) {
			fromBothAlone(t, func(t *testing.T, w world) {
				require.NoError(t, w.echoes(w.dial(alice), "one"))
				running := runtime.NumGoroutine()
				slow, end := w.add(harness.Latency(50*time.Millisecond, 0)), w.add(toxic)
				for range 20 {
					c := w.dial(alice)
					for range 10 {
						_, _ = c.Write(make([]byte, 20<<10)) // until it has ended
					}
				}
				end()
				slow()
				heal := w.Link("alice", "server").Refuse()
				defer heal() // not before all is gone: the fabric may not have accepted the last ones yet
				require.Eventually(t, func() bool { return runtime.NumGoroutine() <= running+5 }, hang,
					10*time.Millisecond,
					"some of 120 stay; a few are of this very look")
			})
		})
	}
}
