package fabric_test

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster/fabric"
)

// A far side that does not read looks like a paused process with full buffers.
func TestAToxicOnAConnectionThatNobodyReadsIsAnError(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		first := w.add(harness.Latency(time.Millisecond, 0)) // with it the connection goes through toxiproxy
		var flooding chan error
		var heal func() error
		var err error
		// a busy machine looks like a jam, too: then the heal frees the connection, and the next is flooded
		for began := time.Now(); err == nil; {
			require.Less(t, time.Since(began), hang)
			flooding = flood(w.dial(alice))
			w.awaitJam()
			heal, err = fabric.Impair([]*fabric.Link{w.Link("alice", "server")}, harness.Latency(time.Millisecond, 0))
			if err == nil {
				require.NoError(t, heal())
			}
		}
		require.ErrorIs(t, err, fabric.ErrStuck)
		require.ErrorContains(t, err, "alice>server")
		require.True(t, gone(<-flooding), "its connections were not reset")
		require.NoError(t, heal())
		first()
		require.NoError(t, w.echoes(w.dial(alice), "one"), "the link is not usable again")
	})
}

// flood writes to a connection whose echo is not read, and returns how that ends.
func flood(to io.Writer) chan error {
	end := make(chan error, 1)
	go func() {
		_, err := io.Copy(to, endless{})
		end <- err
	}()
	return end
}

// The first toxic of a link does not have to wait for a connection that is not read: before it, no bytes go through
// toxiproxy.
func TestAToxicTakesAConnectionThatNobodyReads(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		flood(w.dial(alice))
		w.awaitJam()
		heal := w.add(harness.Latency(80*time.Millisecond, 0))
		require.GreaterOrEqual(t, w.took(w.dial(alice), []byte("one")), 160*time.Millisecond)
		heal()
		require.NoError(t, w.echoes(w.dial(alice), "two"))
	})
}

func TestAHealFreesAConnectionThatNobodyReads(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		a := w.dial(alice)
		heal := w.add(harness.Latency(time.Millisecond, 0))
		flood(a)
		w.awaitJam()
		heal()
		require.NoError(t, w.echoes(w.dial(alice), "one"))
	})
}

// awaitJam waits until nothing more gets through to the server.
func (w world) awaitJam() {
	w.Helper()
	awaitStill(w.T, w.received)
}

// awaitStill waits until the count of bytes has begun to grow and no longer does.
func awaitStill(t *testing.T, count func() int64) {
	t.Helper()
	last, still := int64(0), 0
	require.Eventually(t, func() bool {
		now := count()
		if still++; now != last || now == 0 {
			still = 0
		}
		last = now
		return still > 10
	}, hang, 20*time.Millisecond)
}

// endless is a reader whose bytes never end.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }
