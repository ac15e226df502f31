package fabric_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// openFiles returns the number of files that this process has open.
func openFiles(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(fds)
}

// Sentinels connect ten times a second to a node that they have lost, and give each connection up. A link withheld for
// minutes must not keep these connections.
func TestAWithheldLinkKeepsNoConnectionThatWasGivenUp(t *testing.T) {
	fromBothAlone(t, func(t *testing.T, w world) {
		link := w.Link("alice", "server")
		unhold := link.Withhold()
		patient := w.dial(alice)
		_, err := patient.Write([]byte("still here"))
		require.NoError(t, err)
		require.Eventually(t, func() bool { return link.Touched().Waited == 1 }, hang, time.Millisecond,
			"the fabric has not accepted it")
		before := openFiles(t)
		for range 100 {
			c := w.dial(alice)
			_, err := c.Write([]byte("PING"))
			require.NoError(t, err)
			require.NoError(t, c.Close())
		}
		require.Eventually(t, func() bool { return openFiles(t) <= before }, hang, 20*time.Millisecond,
			"connections are kept")
		require.Zero(t, w.received(), "a byte came through a withheld link")
		unhold()
		require.NoError(t, w.receives(patient, "still here"))
		require.EqualValues(t, len("still here"), w.received(), "what was given up was sent all the same")
	})
}
