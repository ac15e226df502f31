package fabric_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

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
	require.NoError(w, c.SetDeadline(time.Now().Add(5*time.Second)))
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

// quick checks that the word goes there and back within a bound, in one of many tries: the machine may be busy.
func (w world) quick(c net.Conn, word []byte, bound time.Duration, otherwise string) {
	w.Helper()
	require.Eventually(w, func() bool { return w.took(c, word) < bound }, 5*time.Second, time.Millisecond, otherwise)
}

// firstPiece returns how much of the word comes back in the first read. A late reader sees several pieces at once.
func (w world) firstPiece(c net.Conn, word []byte) int {
	w.Helper()
	require.NoError(w, c.SetReadDeadline(time.Now().Add(5*time.Second)))
	_, err := c.Write(word)
	require.NoError(w, err)
	n, err := c.Read(make([]byte, len(word)))
	require.NoError(w, err)
	_, err = io.CopyN(io.Discard, c, int64(len(word)-n))
	require.NoError(w, err)
	return n
}

// ends measures how long the other side takes to close c, after c was closed for writing.
func (w world) ends(c net.Conn) time.Duration {
	w.Helper()
	began := time.Now()
	require.NoError(w, c.(interface{ CloseWrite() error }).CloseWrite())
	require.NoError(w, c.SetReadDeadline(began.Add(5*time.Second)))
	_, err := c.Read(make([]byte, 1))
	require.ErrorIs(w, err, io.EOF)
	return time.Since(began)
}

func TestDropLosesBytesAndEndsConnectionsOnHeal(t *testing.T) {
	for name, toxic := range map[string]harness.LinkFault{"both ways": harness.Drop(), "replies": harness.DropReplies()} {
		t.Run(name, func(t *testing.T) {
			fromBoth(t, func(t *testing.T, w world) {
				a, b := w.dial(alice), w.dial(bob)
				require.NoError(t, w.echoes(a, "one"))
				heal := w.add(toxic)
				late := w.dial(alice)
				w.keepsSilent(a, "two")
				w.keepsSilent(late, "new")
				require.NoError(t, w.echoes(b, "two"), "another link is hit, too")
				heal()
				require.True(t, gone(w.receives(a, "two")), "a connection with a gap goes on")
				require.True(t, gone(w.receives(late, "new")))
				require.NoError(t, w.echoes(w.dial(alice), "three"))
			})
		})
	}
}

func TestDropRepliesLetsCommandsThrough(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		a := w.dial(alice)
		require.NoError(t, w.echoes(a, "one"))
		before := w.received()
		defer w.add(harness.DropReplies())()
		w.keepsSilent(a, "two")
		require.Eventually(t, func() bool { return w.received() == before+3 }, 5*time.Second, time.Millisecond, "the command did not arrive")
	})
}

func TestDropLosesCommands(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		a := w.dial(alice)
		require.NoError(t, w.echoes(a, "one"))
		before := w.received()
		defer w.add(harness.Drop())()
		w.keepsSilent(a, "two")
		require.Equal(t, before, w.received(), "the command arrived")
	})
}

// Connections that are set up while a toxic comes must not get past it.
func TestNoConnectionEscapesANewToxic(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		for range 5 {
			var dialing sync.WaitGroup
			var mu sync.Mutex
			var all []net.Conn
			stop := make(chan struct{})
			for range 8 {
				dialing.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						c, err := w.tryDial(alice)
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						all = append(all, c)
						many := len(all) > 400
						mu.Unlock()
						if many {
							return
						}
					}
				})
			}
			require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(all) > 40 }, 5*time.Second, time.Millisecond)
			heal := w.add(harness.Drop())
			close(stop)
			dialing.Wait()
			for _, c := range all {
				_, _ = c.Write([]byte("x"))
			}
			time.Sleep(20 * time.Millisecond) // long enough for an echo, if there were one
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

func TestLatencyDelaysEachWay(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		a, b := w.dial(alice), w.dial(bob)
		w.took(a, []byte("one"))
		heal := w.add(harness.Latency(80*time.Millisecond, 20*time.Millisecond))
		for _, c := range []net.Conn{a, w.dial(alice)} {
			require.GreaterOrEqual(t, w.took(c, []byte("two")), 120*time.Millisecond)
			w.quick(c, []byte("two"), 300*time.Millisecond, "it delays far too long")
		}
		w.quick(b, []byte("two"), 100*time.Millisecond, "another link is hit, too")
		heal()
		w.quick(a, []byte("three"), 100*time.Millisecond, "it is still slow")
	})
}

func TestBandwidth(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		a := w.dial(alice)
		word := bytes.Repeat([]byte("0123456789"), 2000)
		w.took(a, word)
		heal := w.add(harness.Bandwidth(100_000))
		for _, c := range []net.Conn{a, w.dial(alice)} {
			require.GreaterOrEqual(t, w.took(c, word), 180*time.Millisecond, "20 kB at 100 kB/s")
			w.quick(c, word, time.Second, "it delays far too long")
		}
		heal()
		w.quick(a, word, 150*time.Millisecond, "it is still slow")
	})
}

func TestSlice(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		a := w.dial(alice)
		word := bytes.Repeat([]byte("0123456789"), 10)
		w.took(a, word)
		heal := w.add(harness.Slice(10, 5*time.Millisecond))
		for _, c := range []net.Conn{a, w.dial(alice)} {
			require.GreaterOrEqual(t, w.took(c, word), 50*time.Millisecond, "ten pieces with a pause after each")
		}
		require.Eventually(t, func() bool { return w.firstPiece(a, word) <= 10 }, 5*time.Second, time.Millisecond, "it comes at once")
		heal()
		w.quick(a, word, 50*time.Millisecond, "it is still slow")
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
			require.Eventually(t, func() bool { return w.received() == before+10 }, 2*time.Second, time.Millisecond,
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
		w.quick(a, []byte("two"), 100*time.Millisecond, "bytes are delayed as well")
		for _, c := range []net.Conn{a, w.dial(alice)} {
			require.GreaterOrEqual(t, w.ends(c), 100*time.Millisecond)
		}
		heal()
		w.ends(b)
		require.Eventually(t, func() bool { return w.ends(w.dial(alice)) < 100*time.Millisecond }, 5*time.Second, time.Millisecond)
	})
}

func TestASlowCloseThatHealsLeavesNothingWaiting(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		a := w.dial(alice)
		require.NoError(t, w.echoes(a, "one"))
		heal := w.add(harness.SlowClose(time.Minute))
		require.NoError(t, a.Close())
		heal()
		require.Eventually(t, func() bool { return w.Link("alice", "server").Connections() == 0 }, 2*time.Second, time.Millisecond)
	})
}

func TestToxicsOfOneKindAddUp(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		a := w.dial(alice)
		first, second := w.add(harness.Latency(30*time.Millisecond, 0)), w.add(harness.Latency(40*time.Millisecond, 0))
		require.GreaterOrEqual(t, w.took(a, []byte("one")), 140*time.Millisecond)
		first()
		require.GreaterOrEqual(t, w.took(a, []byte("two")), 80*time.Millisecond)
		second()
		w.quick(a, []byte("three"), 60*time.Millisecond, "it is still slow")

		first, second = w.add(harness.Drop()), w.add(harness.Drop())
		first()
		w.keepsSilent(w.dial(alice), "four")
		second()
		require.NoError(t, w.echoes(w.dial(alice), "five"))
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

// One fault may follow the other before connections have found back to their usual way.
func TestAToxicRightAfterAnother(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		a := w.dial(alice)
		require.NoError(t, w.echoes(a, "one"))
		for range 30 {
			w.add(harness.Latency(time.Millisecond, 0))()
			heal := w.add(harness.Latency(10*time.Millisecond, 0))
			require.GreaterOrEqual(t, w.took(a, []byte("two")), 20*time.Millisecond)
			heal()
		}
		w.quick(a, []byte("three"), 20*time.Millisecond, "it is still slow")
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

// TestSenselessFaultsAreErrors and do nothing. harness has the bounds.
func TestSenselessFaultsAreErrors(t *testing.T) {
	fromBoth(t, func(t *testing.T, w world) {
		for _, fault := range []harness.LinkFault{{}, {Kind: "gust"}, harness.Latency(0, 0), harness.Bandwidth(999)} {
			heal, err := fabric.Impair([]*fabric.Link{w.Link("alice", "server")}, fault)
			require.Equal(t, fault.Validate(), err)
			require.Error(t, err)
			require.NoError(t, heal())
		}
		require.NoError(t, w.echoes(w.dial(alice), "one"))
	})
}
