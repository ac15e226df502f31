package fabric_test

import (
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster/fabric"
)

// TestAPlaceNobodyListensAt dials a host at which the fabric does not listen. The link is found by the name of the host
// that dials, not by its address.
func TestAPlaceNobodyListensAt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const announced = "redis.example:7000" // a name that no resolver knows
	w.Announce("elsewhere", announced, w.real)
	dial := func(from fabric.Source) error {
		c, err := w.DialFrom(t.Context(), from, announced)
		if err != nil {
			return err
		}
		defer c.Close()
		require.Equal(t, announced, c.RemoteAddr().String())
		return w.echoes(c, "hello")
	}
	require.NoError(t, dial(fabric.Source{Host: "alice"}))
	heal := w.Link("alice", "elsewhere").Refuse()
	require.Error(t, dial(fabric.Source{Host: "alice"}))
	require.Error(t, dial(fabric.Source{Host: "alice", IP: w.of(bob)}), "the name counts, not the address")
	require.NoError(t, dial(fabric.Source{Host: "bob"}))
	require.EqualValues(t, 2, w.Link("alice", "elsewhere").Touched().Reset)
	require.Error(t, dial(fabric.Source{Host: "alice", Uncounted: true}))
	require.EqualValues(t, 2, w.Link("alice", "elsewhere").Touched().Reset, "our own connection is counted")
	heal()
	require.NoError(t, dial(fabric.Source{Host: "alice"}))
	_, err := w.DialFrom(t.Context(), fabric.Source{Host: "alice"}, "unknown.example:7000")
	require.ErrorContains(t, err, "no host of the fabric")
}

// TestErrorsNameNoAddress checks errors of clients. They are published, and must not say where hosts are.
func TestErrorsNameNoAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Announce("nobody", "canary-1:7000", w.network+"9:7001")
	w.Announce("unknown", "canary-2:7000", "canary.invalid:7001")
	w.Announce("server", "canary-3:7000", w.real)
	for _, announced := range []string{"canary-1:7000", "canary-2:7000"} {
		_, err := w.DialFrom(t.Context(), fabric.Source{Host: "alice"}, announced)
		var op *net.OpError
		require.ErrorAs(t, err, &op)
		require.Equal(t, "dial", op.Op)
		require.NotRegexp(t, "canary|127|700", err.Error())
	}
	c, err := w.DialFrom(t.Context(), fabric.Source{Host: "alice"}, "canary-3:7000")
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(10*time.Millisecond)))
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NotRegexp(t, "canary|127|700", err.Error())
}
