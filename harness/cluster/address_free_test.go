//go:build linux

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

func TestALookAtAnAddressLeavesItFreeWhileChildrenStart(t *testing.T) {
	listened, err := lookAndListen(t, 5*time.Second, cluster.AddressFree)
	require.NoError(t, err, "after %d addresses", listened)
	t.Logf("%d addresses", listened)

	// a check that listens would disturb the next one
	listened, err = lookAndListen(t, 20*time.Second, func(addr string) error {
		ln, err := net.Listen("tcp", addr)
		if err != nil {
			return err
		}
		return ln.Close()
	})
	require.ErrorIs(t, err, syscall.EADDRINUSE, "children kept nothing open in %d tries: this test shows nothing",
		listened)
	t.Logf("a listener that is closed was in the way of the next at address %d", listened)
}

func TestAnAddressIsTakenBySomebodyWhoListensOnly(t *testing.T) {
	addr := fmt.Sprintf("127.251.0.1:%d", 10_000+rand.IntN(20_000)) // another process may run this test
	require.NoError(t, cluster.AddressFree(addr))
	ln, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	require.ErrorIs(t, cluster.AddressFree(addr), syscall.EADDRINUSE)
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	there, err := ln.Accept()
	require.NoError(t, err)
	require.NoError(t, errors.Join(there.Close(), ln.Close(), conn.Close())) // our side waits in TIME_WAIT
	eventually(t, func() bool { return cluster.AddressFree(addr) == nil },
		"an address at which nobody listens is taken")

	everywhere, err := net.Listen("tcp", "0.0.0.0:0")
	require.NoError(t, err)
	defer everywhere.Close()
	require.ErrorIs(t, cluster.AddressFree(fmt.Sprintf("127.251.0.1:%d", everywhere.Addr().(*net.TCPAddr).Port)),
		syscall.EADDRINUSE)
	for _, bad := range []string{"", "127.251.0.1", "[::1]:6378", "localhost:6378"} {
		require.ErrorContains(t, cluster.AddressFree(bad), "is not an IPv4 address with a port")
	}
}

// lookAndListen checks addresses, each once, and listens on each, while children are started all the time. It ends with
// the first error, after 10,000 addresses or when the time is up, and returns how many addresses it has listened on.
func lookAndListen(t *testing.T, within time.Duration, look func(addr string) error) (listened int, err error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var starting sync.WaitGroup
	for range 2 {
		starting.Go(func() {
			for ctx.Err() == nil {
				_ = exec.Command("/bin/true").Run() // what comes of it does not matter
			}
		})
	}
	defer starting.Wait()
	defer stop()
	port := 10_000 + rand.IntN(20_000) // another process may run this test
	for began := time.Now(); listened < 10_000 && time.Since(began) < within; listened++ {
		addr := fmt.Sprintf("127.251.%d.%d:%d", 1+listened/250, 1+listened%250, port) // no subnet of a run
		if err := look(addr); err != nil {
			return listened, err
		}
		ln, err := net.Listen("tcp", addr)
		if err != nil {
			return listened, err
		}
		if err := ln.Close(); err != nil {
			return listened, err
		}
	}
	return listened, nil
}
