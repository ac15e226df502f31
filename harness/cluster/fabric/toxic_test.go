package fabric_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster/fabric"
)

// add does a link fault to alice's link.
func (w world) add(fault harness.LinkFault) (heal func()) {
	w.Helper()
	remove, err := fabric.Impair([]*fabric.Link{w.Link("alice", "server")}, fault)
	require.NoError(w, err)
	return func() { w.Helper(); require.NoError(w, remove()); require.NoError(w, remove(), "a second time") }
}

// took measures how long the word takes there and back.
func (w world) took(c net.Conn, word []byte) time.Duration {
	w.Helper()
	require.NoError(w, c.SetDeadline(time.Now().Add(hang)))
	began := time.Now()
	writing := make(chan error, 1)
	go func() { _, err := c.Write(word); writing <- err }()
	got := make([]byte, len(word))
	_, err := io.ReadFull(c, got)
	require.NoError(w, err)
	require.NoError(w, <-writing)
	require.True(w, bytes.Equal(word, got), "something else came back")
	return time.Since(began)
}

// healed waits until a word goes there and back in less time than the fault would add. On a busy machine this may take
// several tries.
func (w world) healed(c net.Conn, word []byte, fault time.Duration) {
	w.Helper()
	require.Eventually(w, func() bool { return w.took(c, word) < fault }, hang, time.Millisecond, "it is still slow")
}

// ends measures how long the other side takes to close c, after c was closed for writing.
func (w world) ends(c net.Conn) time.Duration {
	w.Helper()
	began := time.Now()
	require.NoError(w, c.(interface{ CloseWrite() error }).CloseWrite())
	require.NoError(w, c.SetReadDeadline(began.Add(hang)))
	_, err := c.Read(make([]byte, 1))
	require.ErrorIs(w, err, io.EOF)
	return time.Since(began)
}

func TestDropLosesBytesAndEndsConnectionsOnHeal(t *testing.T) {
	for fault, arrives := range map[harness.LinkFault]int64{harness.Drop(): 0, harness.DropReplies(): 6} {
		t.Run(fault.String(), func(t *testing.T) {
			fromBoth(t, func(t *testing.T, w world) {
				a, b := w.dial(alice), w.dial(bob)
				require.NoError(t, w.echoes(a, "one"))
				before := w.received()
				heal := w.add(fault)
				late := w.dial(alice)
				w.keepsSilent(a, "two")
				w.keepsSilent(late, "new")
				require.Eventually(t, func() bool { return w.received() == before+arrives }, hang, time.Millisecond)
				require.NoError(t, w.echoes(b, "two"), "another link is hit, too")
				heal()
				require.True(t, gone(w.receives(a, "two")), "a connection with a gap goes on")
				require.True(t, gone(w.receives(late, "new")))
				require.NoError(t, w.echoes(w.dial(alice), "three"))
			})
		})
	}
}

// Connections that are set up while a toxic comes must not get past it.
func TestNoConnectionEscapesANewToxic(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		for range 5 {
			var dialing sync.WaitGroup
			dialed := make(chan net.Conn, 8*12)
			for range 8 {
				dialing.Go(func() {
					for range 12 {
						c, err := w.tryDial(alice)
						if !assert.NoError(t, err) {
							return
						}
						dialed <- c
					}
				})
			}
			require.Eventually(t, func() bool { return len(dialed) > 40 }, hang, time.Millisecond)
			heal := w.add(harness.Drop())
			dialing.Wait()
			close(dialed)
			var all []net.Conn
			for c := range dialed {
				_, _ = c.Write([]byte("x"))
				all = append(all, c)
			}
			// nothing shows that no echo comes; one that comes later is not seen, and the test still passes
			time.Sleep(20 * time.Millisecond)
			for _, c := range all {
				require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Millisecond)))
				_, err := c.Read(make([]byte, 1))
				require.ErrorIs(t, err, os.ErrDeadlineExceeded, "a connection escaped")
			}
			heal()
			for _, c := range all {
				c.Close()
			}
		}
	})
}

// The fault latency delays both directions of old and new connections of its link, and of no other link, until its
// heal.
func TestADelayHitsOldConnectionsAndNewOfOneLinkBothWaysUntilItsHeal(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		const least = 120 * time.Millisecond
		word := []byte("1")
		a, b, l := w.dial(alice), w.dial(bob), w.Link("alice", "server")
		w.took(a, word)
		heal := w.add(harness.Latency(80*time.Millisecond, 20*time.Millisecond))
		for _, c := range []net.Conn{a, w.dial(alice)} {
			require.GreaterOrEqual(t, w.took(c, word), least)
		}
		w.healed(b, word, least) // another link is not hit
		heal()
		touched := l.Touched()
		w.healed(a, word, least)
		require.Zero(t, l.Touched().Minus(touched), "what is touched stops with the fault")
	})
}

func TestLimitDataEndsConnections(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		a := w.dial(alice)
		require.NoError(t, w.echoes(a, "before the fault nothing counts"))
		heal := w.add(harness.LimitData(10))
		for _, c := range []net.Conn{a, w.dial(alice)} {
			before := w.received()
			require.NoError(t, w.echoes(c, "12345"))
			require.True(t, gone(w.echoes(c, "6789012345")))
			require.Eventually(t, func() bool { return w.received() == before+10 }, hang, time.Millisecond,
				"what is within the limit arrives, and no more")
		}
		young := w.dial(alice)
		require.NoError(t, w.echoes(young, "123"))
		heal()
		require.NoError(t, w.echoes(young, "123456789012345"), "an old connection lives on")
	})
}

func TestSlowClose(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		a, b := w.dial(alice), w.dial(alice)
		require.NoError(t, w.echoes(a, "one"))
		require.NoError(t, w.echoes(b, "one"))
		heal := w.add(harness.SlowClose(100 * time.Millisecond))
		w.healed(a, []byte("two"), 100*time.Millisecond) // bytes are not delayed
		for _, c := range []net.Conn{a, w.dial(alice)} {
			require.GreaterOrEqual(t, w.ends(c), 100*time.Millisecond)
		}
		heal()
		w.ends(b)
		require.Eventually(t, func() bool { return w.ends(w.dial(alice)) < 100*time.Millisecond }, hang,
			time.Millisecond)
	})
}

func TestAWithheldLinkWithAToxic(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		a := w.dial(alice)
		require.NoError(t, w.echoes(a, "one"))
		before := w.received()
		slow := w.add(harness.Latency(time.Millisecond, 0))
		flow := w.Link("alice", "server").Withhold()
		w.keepsSilent(a, "two")
		require.Equal(t, before, w.received(), "the command arrived")
		flow()
		require.NoError(t, w.receives(a, "two"))
		slow()
		require.NoError(t, w.echoes(a, "three"))
	})
}

// A fault may begin right after another has healed, while connections still leave toxiproxy.
func TestAToxicRightAfterAnother(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		a := w.dial(alice)
		require.NoError(t, w.echoes(a, "one"))
		for range 20 {
			w.add(harness.Latency(time.Millisecond, 0))()
			heal := w.add(harness.Latency(10*time.Millisecond, 0))
			require.GreaterOrEqual(t, w.took(a, []byte("two")), 20*time.Millisecond)
			heal()
		}
		w.healed(a, []byte("three"), 20*time.Millisecond)
	})
}

func TestAWithheldLinkAndADrop(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		a := w.dial(alice)
		require.NoError(t, w.echoes(a, "one"))
		flow := w.Link("alice", "server").Withhold()
		undrop := w.add(harness.Drop())
		flow()
		w.keepsSilent(a, "two")
		flow = w.Link("alice", "server").Withhold()
		undrop()
		late := w.dial(alice)
		w.keepsSilent(late, "three")
		flow()
		require.NoError(t, w.receives(late, "three"))
	})
}
