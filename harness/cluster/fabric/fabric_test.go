package fabric_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster/fabric"
)

// The hosts that dial.
const alice, bob = "alice", "bob"

// hang bounds the wait for what has to happen, even on a busy machine.
const hang = 30 * time.Second

// addresses are those of one test, so that tests can run side by side; 127.5 is outside of what clusters claim.
type addresses struct {
	network         string // such as 127.5.7.
	real, announced string // the server's
}

var networks atomic.Int32

func newAddresses() addresses {
	network := fmt.Sprintf("127.5.%d.", networks.Add(1)%256)
	return addresses{network: network, real: network + "3:7000", announced: network + "4:7000"}
}

// of returns the address from which a host dials.
func (a addresses) of(host string) string {
	return a.network + map[string]string{alice: "1", bob: "2", alicesProber: "5"}[host]
}

// source returns a host as the opener of a connection within this process.
func (a addresses) source(host string) fabric.Source {
	s := fabric.Source{Host: host, IP: a.of(host)}
	if host == alicesProber {
		s.Host, s.Uncounted = alice, true
	}
	return s
}

// world is a fabric with two clients and an echo server.
type world struct {
	*testing.T
	*fabric.Fabric
	addresses
	within bool     // the clients dial in this process
	bytes  *counter // of what reached the server
}

// fromBoth runs a test twice, in parallel: with clients that connect through the kernel, and with clients that dial in
// this process. Faults act on both in the same way.
func fromBoth(t *testing.T, test func(t *testing.T, w world)) {
	t.Parallel()
	fromBothAlone(t, func(t *testing.T, w world) { t.Parallel(); test(t, w) })
}

// fromBothAlone does what fromBoth does, but not in parallel: for tests that count goroutines or files of the whole
// process.
func fromBothAlone(t *testing.T, test func(t *testing.T, w world)) {
	for name, within := range map[string]bool{"from outside": false, "from within": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.within = within
			test(t, w)
		})
	}
}

func (w world) received() int64 { return w.bytes.Load() }

func newWorld(t *testing.T) world {
	t.Helper()
	at := newAddresses()
	echo, err := net.Listen("tcp", at.real)
	require.NoError(t, err)
	var serving sync.WaitGroup
	received := new(counter)
	serving.Go(func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { _, _ = io.Copy(c, io.TeeReader(c, received)); c.Close() })
		}
	})
	f := fabric.New()
	f.Host(alice, at.of(alice))
	f.Host(bob, at.of(bob))
	require.NoError(t, f.Listen("server", at.announced, at.real))
	t.Cleanup(func() {
		require.NoError(t, f.Close())
		require.NoError(t, f.Close(), "a second time")
		require.NoError(t, echo.Close())
		serving.Wait() // every connection has ended
	})
	return world{T: t, Fabric: f, addresses: at, bytes: received}
}

// counter counts the bytes that are written to it.
type counter struct{ atomic.Int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.Add(int64(len(b)))
	return len(b), nil
}

func (w world) dial(from string) net.Conn {
	w.Helper()
	c, err := w.tryDial(from)
	require.NoError(w, err)
	w.Cleanup(func() { c.Close() })
	return c
}

func (w world) tryDial(from string) (net.Conn, error) {
	if w.within {
		ctx, cancel := context.WithTimeout(w.Context(), hang)
		defer cancel()
		return w.DialFrom(ctx, w.source(from), w.announced)
	}
	return dialFrom(w.of(from), w.announced)
}

func dialFrom(from, to string) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: hang}
	return d.Dial("tcp", to)
}

// echoes sends a word on c and returns nil if it comes back.
func (w world) echoes(c net.Conn, word string) error {
	w.Helper()
	_, err := c.Write([]byte(word))
	if err != nil {
		return err
	}
	return w.receives(c, word)
}

func (w world) receives(c net.Conn, word string) error {
	w.Helper()
	return w.hears(c, word, hang)
}

// keepsSilent sends a word on c and fails if anything comes back within 200 ms, even the end of the connection.
func (w world) keepsSilent(c net.Conn, word string) {
	w.Helper()
	_, err := c.Write([]byte(word))
	require.NoError(w, err)
	require.ErrorIs(w, w.hears(c, word, 200*time.Millisecond), os.ErrDeadlineExceeded, "something came back")
}

func (w world) hears(c net.Conn, word string, within time.Duration) error {
	w.Helper()
	require.NoError(w, c.SetReadDeadline(time.Now().Add(within)))
	b := make([]byte, len(word))
	if _, err := io.ReadFull(c, b); err != nil {
		return err
	}
	require.Equal(w, word, string(b))
	return nil
}

func TestWithholdKeepsEveryByteAndTheEndsOfOneLinkOnly(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		a, b, l := w.dial(alice), w.dial(bob), w.Link("alice", "server")
		require.NoError(t, w.echoes(a, "one"))
		require.NoError(t, w.echoes(b, "one"))
		require.Equal(t, 1, l.Connections())

		heal := l.Withhold()
		w.keepsSilent(a, "two")
		require.NoError(t, w.echoes(b, "two"), "another link is withheld, too")
		late := w.dial(alice)
		w.keepsSilent(late, "new")

		heal()
		require.NoError(t, w.receives(a, "two"), "withheld bytes were lost")
		require.NoError(t, w.receives(late, "new"))
		require.NoError(t, w.echoes(a, "three"))

		heal = l.Withhold()
		require.NoError(t, a.Close())
		// nothing shows that a FIN is not passed on; if one comes later, the test shows less and still passes
		time.Sleep(50 * time.Millisecond)
		require.Equal(t, 2, l.Connections())
		heal()
		require.Eventually(t, func() bool { return l.Connections() == 1 }, hang, time.Millisecond)
	})
}

func TestRefuseResetsOldAndNewConnections(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		a, b := w.dial(alice), w.dial(bob)
		require.NoError(t, w.echoes(a, "one"))
		heal := w.Link("alice", "server").Refuse()
		require.True(t, gone(w.echoes(a, "two")))
		require.True(t, w.refused(alice))
		require.NoError(t, w.echoes(b, "two"))
		heal()
		require.NoError(t, w.echoes(w.dial(alice), "three"))
	})
}

func TestALinkFlowsWhenTheLastOfItsFaultsHeals(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		for _, fault := range []harness.LinkFault{harness.Withhold(), harness.Drop(), harness.Refuse()} {
			first, second := w.add(fault), w.add(fault)
			first() // twice, and counts once
			if fault == harness.Refuse() {
				require.True(t, w.refused(alice))
			} else {
				w.keepsSilent(w.dial(alice), "one")
			}
			second()
			require.NoError(t, w.echoes(w.dial(alice), "two"))
		}
	})
}

func TestAnUnknownSourceComesFromOutside(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		c, err := net.Dial("tcp", w.announced)
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, w.echoes(c, "hello"))
		require.Equal(t, 1, w.Link(fabric.UnknownHost, "server").Connections())
	})
}

func TestADeadServerResets(t *testing.T) {
	f := fabric.New()
	defer f.Close()
	at := newAddresses()
	require.NoError(t, f.Listen("nobody", at.announced, at.real))
	require.True(t, refused(dialFrom(at.of(alice), at.announced)))
}

func TestCloseEndsWithheldConnections(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		a := w.dial(alice)
		require.NoError(t, w.echoes(a, "one"))
		w.Link("alice", "server").Withhold()
		w.dial(alice) // waits at the gate
		require.NoError(t, w.Close())
		require.True(t, gone(w.receives(a, "x")))
	})
}

// gone reports whether err is that of a connection that its peer ended.
func gone(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// refused reports whether a new connection is reset, while it is set up or right after.
func (w world) refused(from string) bool { return refused(w.tryDial(from)) }

func refused(c net.Conn, err error) bool { return err != nil && gone(err) || err == nil && ended(c) }

// ended reports whether c is reset, and closes it.
func ended(c net.Conn) bool {
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
	_, err := c.Read(make([]byte, 1))
	return gone(err)
}
