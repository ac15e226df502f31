package fabric_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster/fabric"
)

// These tests are about what only connections from within have: their costs, and their changes between the direct way
// and toxiproxy.

func newWithin(t *testing.T) world {
	w := newWorld(t)
	w.within = true
	return w
}

func TestAConnectionFromWithinCostsOneFileAndNoGoroutine(t *testing.T) {
	w := newWithin(t)
	const many = 20
	require.NoError(t, w.echoes(w.dial(alice), "one"))
	files, running := openFiles(t), runtime.NumGoroutine()
	var all []net.Conn
	for range many {
		all = append(all, w.dial(alice))
		require.NoError(t, w.echoes(all[len(all)-1], "one"))
	}
	require.Equal(t, many+1, w.Link("alice", "server").Connections())
	require.LessOrEqual(t, openFiles(t)-files, 2*many, "one file here, and one of the server")
	require.LessOrEqual(t, runtime.NumGoroutine()-running, many, "the server has one for each")
	for _, c := range all {
		require.Equal(t, w.of(alice), c.LocalAddr().(*net.TCPAddr).IP.String(), "the host sees who connects")
		require.Equal(t, w.announced, c.RemoteAddr().String())
	}
}

func TestConnectionsGoDirectAgainAfterAToxic(t *testing.T) {
	w := newWithin(t)
	const many = 20
	var all []net.Conn
	for range many {
		all = append(all, w.dial(alice))
		require.NoError(t, w.echoes(all[len(all)-1], "one"))
	}
	running := runtime.NumGoroutine()
	for range 3 {
		first, second := w.add(harness.Latency(time.Millisecond, 0)), w.add(harness.Latency(time.Millisecond, 0))
		require.Greater(t, runtime.NumGoroutine(), running+many, "toxiproxy has several for each")
		for _, c := range all {
			_, err := c.Write([]byte("under way"))
			require.NoError(t, err)
		}
		first()
		second()
		for _, c := range all {
			require.NoError(t, w.receives(c, "under way"))
			require.NoError(t, w.echoes(c, "two"))
		}
		require.Eventually(t, func() bool { return runtime.NumGoroutine() <= running+2 }, hang, time.Millisecond,
			"they still go through toxiproxy; two goroutines are of this very look")
	}
}

// Whatever faults come and go, no byte is lost, doubled or overtaken.
func TestBytesStayInOrderWhileFaultsComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWithin(t)
	const streams, words = 8, 4000
	var streaming sync.WaitGroup
	for range streams {
		c := w.dial(alice)
		require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
		streaming.Go(func() {
			for n := range words {
				if _, err := c.Write(pattern(4*n, 4)); err != nil {
					return // the reader says what is missing
				}
				if n%8 == 0 {
					time.Sleep(time.Millisecond) // the pace of a load
				}
			}
		})
		streaming.Go(func() {
			got := make([]byte, 4*words)
			n, err := io.ReadFull(c, got)
			assert.NoError(t, err, "after %d bytes of %d", n, len(got))
			assert.True(t, bytes.Equal(pattern(0, n), got[:n]), "something else came")
		})
	}
	over := make(chan struct{})
	go func() { streaming.Wait(); close(over) }()
	var faults sync.WaitGroup
	for of := range 3 {
		faults.Go(func() { w.faultsComeAndGo(rand.New(rand.NewPCG(1, uint64(of))), over) })
	}
	faults.Wait()
	<-over
	require.NoError(t, w.echoes(w.dial(alice), "healed"))
}

func (w world) faultsComeAndGo(rng *rand.Rand, over <-chan struct{}) {
	l := w.Link("alice", "server")
	// A pipeline that cuts thousands of bytes into pieces of a few is busy for seconds, and cannot be changed.
	toxics := []harness.LinkFault{
		harness.Latency(time.Millisecond, time.Millisecond), harness.Slice(100, time.Microsecond),
		harness.Bandwidth(1_000_000),
		harness.SlowClose(10 * time.Millisecond),
	}
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(rng.IntN(10)) * time.Millisecond):
		}
		if rng.IntN(2) == 0 {
			heal := l.Withhold()
			time.Sleep(time.Duration(rng.IntN(10)) * time.Millisecond) // the moment is random, not awaited
			heal()
			continue
		}
		heal, err := fabric.Impair([]*fabric.Link{l}, toxics[rng.IntN(len(toxics))])
		assert.NoError(w, err)
		time.Sleep(time.Duration(rng.IntN(10)) * time.Millisecond) // the moment is random, not awaited
		assert.NoError(w, heal())
	}
}

func TestWhatIsWrittenToAWithheldLinkArrivesAlthoughItsWriterHasLeft(t *testing.T) {
	t.Parallel()
	w := newWithin(t)
	a := w.dial(alice)
	require.NoError(t, w.echoes(a, "one"))
	before := w.received()
	heal := w.Link("alice", "server").Withhold()
	for range 3 {
		_, err := a.Write([]byte("word"))
		require.NoError(t, err)
	}
	require.NoError(t, a.Close())
	_, err := a.Write([]byte("more"))
	require.ErrorIs(t, err, net.ErrClosed)
	require.Equal(t, before, w.received())
	heal()
	require.Eventually(t, func() bool { return w.received() == before+12 }, hang, time.Millisecond)
	require.Eventually(t, func() bool { return w.Link("alice", "server").Connections() == 0 }, hang, time.Millisecond)
}

func TestAFullQueueMakesTheWriterWait(t *testing.T) {
	t.Parallel()
	w := newWithin(t)
	a := w.dial(alice)
	require.NoError(t, w.echoes(a, "one"))
	before := w.received()
	heal := w.Link("alice", "server").Withhold()
	block := bytes.Repeat([]byte("x"), 100_000)
	sent, err := 0, error(nil)
	for began := time.Now(); err == nil || sent < 256<<10; {
		// of each: one that begins late fills nothing
		require.NoError(t, a.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
		var n int
		n, err = a.Write(block)
		sent += n
		require.Less(t, sent, 1<<20, "the queue has no bound")
		require.Less(t, time.Since(began), hang, "the queue takes %d bytes", sent)
	}
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	go func() { _, _ = io.Copy(io.Discard, a) }()
	heal()
	require.Eventually(t, func() bool { return w.received() == before+int64(sent) }, hang, time.Millisecond)
}

func TestCloseWakesAReaderWhateverIsInForce(t *testing.T) {
	for name, fault := range map[string]func(w world) (heal func()){
		"nothing":          func(world) func() { return func() {} },
		"withheld, before": func(w world) func() { return w.Link("alice", "server").Withhold() },
		"a toxic":          func(w world) func() { return w.add(harness.Latency(time.Millisecond, 0)) },
		"withheld and then no toxic": func(w world) func() {
			h := w.Link("alice",
				"server").Withhold()
			w.add(harness.Drop())()
			return h
		},
	} {
		for _, when := range []string{"before the read", "during the read"} {
			t.Run(name+" "+when, func(t *testing.T) {
				w := newWithin(t)
				a := w.dial(alice)
				require.NoError(t, w.echoes(a, "one"))
				require.NoError(t, a.SetDeadline(time.Time{}))
				var heal func()
				if when == "before the read" {
					heal = fault(w)
				}
				read := make(chan error, 1)
				go func() { _, err := a.Read(make([]byte, 1)); read <- err }()
				if name != "withheld and then no toxic" { // where the read has ended already
					awaitBlocked(t, "fabric.(*dialed).Read(")
				}
				if heal == nil {
					heal = fault(w)
				}
				require.NoError(t, a.Close())
				require.Eventually(t, func() bool { return len(read) == 1 }, hang, time.Millisecond, "it still reads")
				require.Error(t, <-read)
				heal()
			})
		}
	}
}

// A client library looks at an idle connection before it uses it again. It must see no more than its host would.
func TestAnIdleConnectionShowsOnlyWhatHasArrived(t *testing.T) {
	t.Parallel()
	w := newWithin(t)
	a := w.dial(alice)
	require.NoError(t, w.echoes(a, "one"))
	require.ErrorIs(t, w.idle(a), syscall.EAGAIN)
	_, err := a.Write([]byte("x"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return w.idle(a) == nil }, hang, time.Millisecond, "an answer is there")

	heal := w.Link("alice", "server").Withhold()
	require.ErrorIs(t, w.idle(a), errNotShown)
	heal()
	require.NoError(t, w.idle(a))
	require.NoError(t, w.receives(a, "x"))

	heal = w.add(harness.Latency(time.Millisecond, 0))
	require.ErrorIs(t, w.idle(a), errNotShown)
	heal()
	require.Eventually(t, func() bool { return w.idle(a) == syscall.EAGAIN }, hang, time.Millisecond,
		"it is direct again")

	w.Link("alice", "server").Refuse()()
	_, err = a.(syscall.Conn).SyscallConn()
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

const errNotShown = syscall.Errno(0xffff)

// idle looks at the connection without reading from it, as go-redis does. It returns nil if a byte is there,
// errNotShown if none is shown, or the socket's error.
func (w world) idle(c net.Conn) error {
	raw, err := c.(syscall.Conn).SyscallConn()
	require.NoError(w, err)
	var seen error = errNotShown
	require.NoError(w, raw.Read(func(fd uintptr) bool {
		_, _, seen = syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return true
	}))
	return seen
}

func TestDialFromWithin(t *testing.T) {
	t.Parallel()
	w := newWithin(t)
	_, err := w.DialFrom(t.Context(), w.source(alice), w.network+"9:7000")
	require.ErrorContains(t, err, "no host of the fabric announces "+w.network+"9:7000")

	require.NoError(t, w.Listen("nobody", w.network+"9:7000", w.network+"8:7000"))
	_, err = w.DialFrom(t.Context(), w.source(alice), w.network+"9:7000")
	require.ErrorIs(t, err, syscall.ECONNREFUSED)

	heal := w.Link("alice", "nobody").Withhold()
	c, err := w.DialFrom(t.Context(), w.source(alice), w.network+"9:7000")
	require.NoError(t, err, "while the link is withheld nobody knows")
	heal()
	require.True(t, ended(c))

	require.NoError(t, w.Close())
	_, err = w.DialFrom(t.Context(), w.source(alice), w.announced)
	require.ErrorIs(t, err, net.ErrClosed)
}
