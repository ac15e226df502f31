package jetstream_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
)

// slowLink returns the access to a NATS over a link that carries so many bytes a second, in each direction.
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
				_ = c.(*net.TCPConn).SetReadBuffer(16 << 10) // what waits, waits at the sender
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
		time.Sleep(time.Duration(n) * time.Second / time.Duration(bytesPerSecond)) // what they take on the link
	}
}
