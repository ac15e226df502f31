package cluster_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

// taken is a network on which some addresses are taken. It counts listeners that are not closed.
type taken struct {
	by   func(addr string) bool
	why  error
	mu   sync.Mutex
	held map[string]bool
}

func (n *taken) listen(addr string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.by(addr) || n.held[addr] {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", n.why)}
	}
	n.held[addr] = true
	return listening{n: n, addr: addr}, nil
}

func (n *taken) free(addr string) error {
	ln, err := n.listen(addr)
	if err != nil {
		return err
	}
	return ln.Close()
}

// listening is a listener on a taken address. It has no Accept, since no test connects.
type listening struct {
	net.Listener
	n    *taken
	addr string
}

func (l listening) Addr() net.Addr { a, _ := net.ResolveTCPAddr("tcp", l.addr); return a }
func (l listening) Close() error {
	l.n.mu.Lock()
	defer l.n.mu.Unlock()
	delete(l.n.held, l.addr)
	return nil
}

func TestAddressesThatAreTakenAreLeftToWhoHasThem(t *testing.T) {
	reachable := func(string) error { return nil }
	port := func(ports ...int) func(string) bool {
		return func(addr string) bool {
			return slices.ContainsFunc(ports, func(p int) bool {
				return strings.HasSuffix(addr, fmt.Sprintf(":%d", p))
			})
		}
	}
	none := port()
	for name, c := range map[string]struct {
		by   func(string) bool
		why  error
		dial func(string) error
		port int
		says string
	}{
		"nothing":             {none, nil, reachable, 6379, ""},
		"Redis's port":        {port(6379), syscall.EADDRINUSE, reachable, 7379, ""},
		"the Sentinels' port": {port(26379), syscall.EADDRINUSE, reachable, 7379, ""},
		"two of each":         {port(6379, 27379), syscall.EADDRINUSE, reachable, 8379, ""},
		"all but one subnet": {func(a string) bool { return !strings.HasPrefix(a, "127.77.") }, syscall.EADDRINUSE,
			reachable, 6379, ""},
		"every choice": {port(6379, 7379, 28379), syscall.EADDRINUSE, reachable, 0,
			"the ports 6379, and 2 others in their place, are taken: end what listens there (ss -ltnp 'sport = " +
				":6379' shows it): "},
		"the lock's port": {port(6378), syscall.EADDRINUSE, reachable, 0,
			"port 6378 of 127.10.0.1 to 127.250.0.1 is taken, by another program that listens at all addresses or by " +
				"as many runs: end what"},
		"no such addresses": {func(string) bool { return true }, syscall.EADDRNOTAVAIL, reachable, 0,
			"all of 127.0.0.0/8 must be local, as on Linux"},
		"the interface (down)": {none, nil, func(string) error { return syscall.ENETUNREACH }, 0,
			"the loopback interface seems to be down: as root: ip link set lo up: network is unreachable"},
	} {
		n := &taken{by: c.by, why: c.why, held: map[string]bool{}}
		port, err := cluster.NetworkOf(n.listen, n.free, c.dial).Claim()
		if c.says == "" {
			require.NoError(t, err, name)
			require.Equal(t, c.port, port, name)
		} else {
			require.ErrorIs(t, err, cluster.ErrLimit, name)
			require.ErrorContains(t, err, c.says, name)
			require.NotContains(t, err.Error(), "\n", name)
		}
		require.Empty(t, n.held, "%s: not given back", name)
	}
}

// TestAVersionThatNeverComesIsNotWaitedFor checks that neither the binary nor its children, which hold its output open,
// are waited for.
func TestAVersionThatNeverComesIsNotWaitedFor(t *testing.T) {
	defer cluster.BoundVersion(100 * time.Millisecond)()
	path := filepath.Join(t.TempDir(), "redis-server")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nsleep 30\n"), 0o755))
	began := time.Now()
	_, _, err := cluster.FindRedis(path)
	require.ErrorIs(t, err, cluster.ErrNoRedis)
	require.ErrorContains(t, err,
		"does not answer --version within 100ms: install one that does, or set DOUBLEGRANT_REDIS_SERVER")
	require.Less(t, time.Since(began), 30*time.Second)
}

// The version of a Redis is read even if another process still holds its output open, as a child of this process may on
// a busy machine.
func TestAVersionIsTakenThoughTheOutputStaysOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "redis-server")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho 'Redis server v=7.2.4 sha=0'\nsleep 2 &\n"), 0o755))
	version, err := cluster.RedisVersion(path)
	require.NoError(t, err)
	require.Equal(t, "Redis 7.2.4", version)
}

func TestATemporaryFolderThatTakesNothingIsNamed(t *testing.T) {
	own := t.TempDir() // other tests look for room, too, side by side
	t.Setenv("TMPDIR", own)
	require.NoError(t, cluster.TempRoom())
	left, err := os.ReadDir(own)
	require.NoError(t, err)
	require.Empty(t, left)
	dir := filepath.Join(own, "gone")
	t.Setenv("TMPDIR", dir)
	_, preflight := cluster.Options{}.Preflight()
	for _, err := range []error{cluster.TempRoom(), preflight} {
		require.ErrorIs(t, err, cluster.ErrLimit)
		require.ErrorContains(t, err, "the folder for temporary files, "+dir+
			", cannot take the 1024 KiB of a cluster: make it a folder that can be written, or set TMPDIR to another: ")
	}
}
