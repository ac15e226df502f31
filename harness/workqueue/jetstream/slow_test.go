package jetstream_test

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/harness/workqueue"
	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
)

const (
	slowLease = 3 * time.Second
	slowRate  = 1 << 20 // bytes a second
)

// slowAndFast returns a coordination with a unit of that body, a worker behind a slow link, and a fast one.
func slowAndFast(t *testing.T, body []byte) (q, slow, fast *jetstream.Queue, u workqueue.Unit) {
	t.Helper()
	s := served(t)
	q = lead(t, s.Access, jetstream.Sizes{Lease: slowLease})
	over := slowLink(t, s.Access, slowRate)
	over.Patience = slowLease // less than a body takes: time in which it makes progress does not count
	slow, fast = join(t, over, "slow"), join(t, s.Access, "fast")
	u = workqueue.Unit{Kind: "x", Body: body}
	require.NoError(t, q.Put(t.Context(), u))
	return q, slow, fast, u
}

// nobodyElse checks that a worker gets no unit while at runs. In at, another worker does the only unit, for longer than
// two leases.
func nobodyElse(t *testing.T, asks *jetstream.Queue, at func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() {
		_, err := asks.Take(ctx)
		got <- err
	}()
	began := time.Now()
	at()
	took := time.Since(began)
	cancel()
	require.ErrorIs(t, <-got, context.Canceled, "the unit was handed out a second time")
	require.Greater(t, took, 2*slowLease, "or the link was not slow")
}

func TestLongAUnitThatComesSlowlyIsNotLost(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	q, slow, fast, u := slowAndFast(t, bytes.Repeat([]byte("0123456789abcdef"), 5<<20/16))
	var job workqueue.Job
	begun := make(chan error, 1)
	go func() {
		var err error
		job, err = slow.Take(t.Context())
		begun <- err
	}()
	tried(t, q, u)
	nobodyElse(t, fast, func() { require.NoError(t, <-begun) })
	require.Equal(t, u, job.Unit())
	require.NoError(t, job.Done(t.Context(), workqueue.Result{Claim: "x"}))
	require.Equal(t, "slow", outcome(t, q, u).Worker)
}

func TestLongAResultThatGoesSlowlyIsNotLost(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	q, slow, fast, u := slowAndFast(t, []byte("small"))
	job, body := one(t, slow), bytes.Repeat([]byte("0123456789abcdef"), 7<<20/16)
	nobodyElse(t, fast, func() { require.NoError(t, job.Done(t.Context(), workqueue.Result{Body: body, Claim: "x"})) })
	o := outcome(t, q, u)
	require.Equal(t, "slow", o.Worker)
	require.True(t, bytes.Equal(body, o.Body))
}

// slowLink returns the access to a NATS over a link of that rate in each direction.
func slowLink(t *testing.T, to jetstream.Access, bytesPerSecond int) jetstream.Access {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	host := strings.TrimPrefix(to.URL, "nats://")
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", host)
			if err != nil {
				_ = near.Close()
				return
			}
			for _, c := range []net.Conn{near, far} {
				_ = c.(*net.TCPConn).SetReadBuffer(16 << 10) // so that data waits at the sender
			}
			go carry(near, far, bytesPerSecond)
			go carry(far, near, bytesPerSecond)
		}
	}()
	to.URL = "nats://" + l.Addr().String()
	return to
}

// carry copies at a rate until one side has ended.
func carry(from, to net.Conn, bytesPerSecond int) {
	defer from.Close()
	defer to.Close()
	for some := make([]byte, 16<<10); ; {
		n, err := from.Read(some)
		if _, late := to.Write(some[:n]); err != nil || late != nil {
			return
		}
		// the time that they take on the link
		time.Sleep(time.Duration(n) * time.Second / time.Duration(bytesPerSecond))
	}
}
