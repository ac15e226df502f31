package fabric_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster/fabric"
)

// newPair makes a connection from within this process. Its other end is at a host that does only what the test says.
func newPair(t *testing.T) (l *fabric.Link, dialed, host net.Conn) {
	t.Helper()
	at := newAddresses()
	ln, err := net.Listen("tcp", at.real)
	require.NoError(t, err)
	defer ln.Close()
	f := fabric.New()
	f.Host(alice, at.of(alice))
	require.NoError(t, f.Listen("server", at.announced, at.real))
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	dialed, err = f.DialFrom(t.Context(), at.source(alice), at.announced)
	require.NoError(t, err)
	host, err = ln.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { host.Close() })
	return f.Link(alice, "server"), dialed, host
}

func TestAWithheldLinkKeepsWhatArrivesAtABlockedReader(t *testing.T) {
	l, dialed, host := newPair(t)
	read := make(chan error, 1)
	require.NoError(t, dialed.SetReadDeadline(time.Now().Add(hang)))
	go func() { _, err := dialed.Read(make([]byte, 10)); read <- err }()
	awaitBlocked(t, "fabric.(*dialed).Read(")
	heal := l.Withhold()
	_, err := host.Write([]byte("late"))
	require.NoError(t, err)
	select {
	case <-read:
		t.Fatal("it came through a withheld link")
	case <-time.After(50 * time.Millisecond):
	}
	require.NoError(t, dialed.SetReadDeadline(time.Now().Add(-time.Second)))
	require.ErrorIs(t, <-read, os.ErrDeadlineExceeded, "a deadline ends the wait")
	require.NoError(t, dialed.SetReadDeadline(time.Now().Add(hang)))
	require.NoError(t, host.Close())
	heal()
	all, err := io.ReadAll(dialed)
	require.NoError(t, err)
	require.Equal(t, "late", string(all), "and nothing is lost")
}

func TestTheHostsEndComesThroughAToxic(t *testing.T) {
	t.Parallel()
	l, dialed, host := newPair(t)
	heal, err := fabric.Impair([]*fabric.Link{l}, harness.Latency(time.Millisecond, 0))
	require.NoError(t, err)
	_, err = host.Write([]byte("last words"))
	require.NoError(t, err)
	require.NoError(t, host.Close())
	require.NoError(t, dialed.SetDeadline(time.Now().Add(hang)))
	all, err := io.ReadAll(dialed)
	require.NoError(t, err)
	require.Equal(t, "last words", string(all))
	require.Eventually(t, func() bool {
		_, err := dialed.Write([]byte("is there anybody?"))
		return errors.Is(err, syscall.EPIPE)
	}, hang, time.Millisecond)
	require.NoError(t, heal())
	require.NoError(t, dialed.Close())
	require.Zero(t, l.Connections())
}

// While the host does not read, the socket takes only part of a write. The rest has to take the detour through
// toxiproxy, in order.
func TestNothingIsLostOfABlockedWriteWhenAToxicComes(t *testing.T) {
	for name, queued := range map[string]bool{"of the opener": false, "of what a withheld link has queued": true} {
		t.Run(name, func(t *testing.T) {
			l, dialed, host := newPair(t)
			sent := 0
			flood := func(bytes int, patience time.Duration) (err error) {
				for most := sent + bytes; sent < most && err == nil; {
					block := pattern(sent, min(100_000, most-sent))
					_ = dialed.SetWriteDeadline(time.Now().Add(patience))
					var n int
					n, err = dialed.Write(block)
					sent += n
				}
				return err
			}
			for before := -1; sent > before; { // the kernel's buffers grow for a while
				before = sent
				require.ErrorIs(t, flood(1<<30, 200*time.Millisecond), os.ErrDeadlineExceeded,
					"the kernel has no end of room")
			}
			flooding := make(chan error, 1)
			begin := func() {
				if queued {
					heal := l.Withhold()
					flooding <- flood(200_000, time.Minute)
					heal()
				} else {
					go func() { flooding <- flood(150_000, time.Minute) }()
				}
			}
			begin()
			for tries := 0; !blockedWithin(2*time.Second, "net.(*conn).Write(", "fabric.(*dialed)."); tries++ {
				require.Less(t, tries, 50, "the kernel always finds more room")
				require.NoError(t, <-flooding) // it has all been taken, so there was more room
				begin()
			}
			heal, err := fabric.Impair([]*fabric.Link{l}, harness.Latency(time.Millisecond, 0))
			require.NoError(t, err)

			read := make(chan []byte, 1)
			go func() { all, _ := io.ReadAll(host); read <- all }()
			require.NoError(t, <-flooding)
			require.NoError(t, heal())
			require.NoError(t, dialed.Close())
			all := <-read
			require.Equal(t, sent, len(all))
			require.True(t, bytes.Equal(pattern(0, len(all)), all), "not in order")
		})
	}
}

// pattern returns n bytes of a stream in which no two places look the same for long.
func pattern(from, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		at := from + i
		b[i] = byte(at) ^ byte(at>>8) ^ byte(at>>16)*31
	}
	return b
}

// Once LimitData has dropped bytes of a connection, no later bytes may arrive, however late the client reads the
// earlier ones.
func TestAConnectionThatALimitHasCutDoesNotLiveOn(t *testing.T) {
	t.Parallel()
	l, dialed, host := newPair(t)
	all := bytes.Repeat([]byte("0123456789abcdef"), 33*512) // more than the queue to the opener holds
	heal, err := fabric.Impair([]*fabric.Link{l}, harness.LimitData(int64(len(all))-100))
	require.NoError(t, err)
	_, err = host.Write(all)
	require.NoError(t, err)
	// nothing shows that a cut waits for its reader; if it has not come by then, the test shows less and still passes
	time.Sleep(100 * time.Millisecond)
	require.NoError(t, heal())
	go func() {
		_, _ = host.Write([]byte("beyond the gap"))
		_ = host.Close()
	}()
	require.NoError(t, dialed.SetDeadline(time.Now().Add(hang)))
	got, err := io.ReadAll(dialed)
	require.False(t, errors.Is(err, os.ErrDeadlineExceeded), "it hangs")
	require.True(t, bytes.HasPrefix(append(all, "beyond the gap"...), got), "%d bytes came, and then others",
		len(all)-100)
}

// A Write that waits for the host ends by Close or by its deadline, also on a withheld link.
func TestAWriteThatIsUnderWayEndsOnAWithheldLink(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end  func(c net.Conn) error
		want error
	}{
		"close":    {net.Conn.Close, net.ErrClosed},
		"deadline": {func(c net.Conn) error { return c.SetWriteDeadline(time.Now()) }, os.ErrDeadlineExceeded},
		"deadline before the end": {func(c net.Conn) error {
			return errors.Join(c.SetWriteDeadline(time.Now().Add(100*time.Millisecond)),
				c.(interface{ CloseWrite() error }).CloseWrite())
		}, os.ErrDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, dialed, _ := newPair(t)
			var written atomic.Int64
			wrote := make(chan error, 1)
			go func() {
				for {
					n, err := dialed.Write(make([]byte, 64<<10))
					written.Add(int64(n))
					if err != nil {
						wrote <- err
						return
					}
				}
			}()
			awaitStill(t, written.Load) // the host reads nothing
			heal := l.Withhold()
			require.NoError(t, tc.end(dialed))
			require.Eventually(t, func() bool { return len(wrote) == 1 }, hang, time.Millisecond, "it still writes")
			require.ErrorIs(t, <-wrote, tc.want)
			heal()
		})
	}
}
