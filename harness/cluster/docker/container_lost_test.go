package docker_test

import (
	"bufio"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster/internal/platformtest"
)

// proxy sits between us and the Docker daemon. It can die or fall silent in the daemon's place.
type proxy struct {
	net.Listener
	docker string // path of the real daemon's socket
	mu     sync.Mutex
	conns  []net.Conn
	silent atomic.Bool
}

// standBefore starts a proxy that listens on the socket path.
func standBefore(t *testing.T, path, docker string) *proxy {
	t.Helper()
	ln, err := net.Listen("unix", path)
	require.NoError(t, err)
	p := &proxy{Listener: ln, docker: docker}
	t.Cleanup(p.die)
	go p.serve(docker)
	return p
}

// dockerSocket returns the path of the real daemon's socket.
func dockerSocket(t *testing.T) string {
	t.Helper()
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		u, err := url.Parse(host)
		require.NoError(t, err)
		require.Equal(t, "unix", u.Scheme)
		return u.Path
	}
	return "/var/run/docker.sock"
}

func (p *proxy) serve(docker string) {
	for {
		in, err := p.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("unix", docker)
		if err != nil {
			in.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, in, out)
		p.mu.Unlock()
		go p.pass(in, out)
		go p.pass(out, in)
	}
}

// pass copies bytes until a connection ends. While the proxy is silent it still reads, and drops what it reads.
func (p *proxy) pass(to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		silent := p.silent.Load()
		if !silent {
			_, _ = to.Write(buf[:n])
		}
		if err != nil {
			if !silent {
				_ = to.(*net.UnixConn).CloseWrite()
			}
			return
		}
	}
}

func (p *proxy) die() {
	p.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
}

func TestADockerDaemonThatIsLostInTheMiddle(t *testing.T) {
	need(t)
	for name, way := range map[string]struct{ lose, regain func(*testing.T, *proxy) }{
		"dies": {
			func(_ *testing.T, p *proxy) { p.die() },
			func(t *testing.T, p *proxy) { standBefore(t, p.Addr().String(), p.docker) },
		},
		"falls silent": {
			func(_ *testing.T, p *proxy) { p.silent.Store(true) },
			func(_ *testing.T, p *proxy) { p.silent.Store(false) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tmp, err := os.MkdirTemp("", "lost")
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, os.Remove(tmp), "a folder was left behind") })
			p := standBefore(t, filepath.Join(tmp, "docker.sock"), dockerSocket(t))
			said := actWithout(t, tmp, "unix://"+p.Addr().String(), func() { way.lose(t, p) })
			for _, act := range []string{"pause", "resume", "terminate", "kill", "stop"} {
				require.NotContains(t, said[act], "<nil>", act)
				require.Contains(t, said[act], "docker", act)
				require.Contains(t, said[act], "r1", "%s does not say where", act)
				t.Logf("%s: %s", act, said[act])
			}
			require.Contains(t, said["stop"], "doctor --clean")
			way.regain(t, p)
			require.Eventually(t, func() bool { return len(onDocker.Remains(t, tmp, "-")) == 0 }, platformtest.Hang,
				20*time.Millisecond,
				"the watchdog did not find the daemon once it was there")
		})
	}
}

// actWithout runs a harness in the folder tmp and calls lose, which takes its Docker daemon away, when the cluster is
// up. It returns how long each later action of the harness took, and its error, by the action's name.
func actWithout(t *testing.T, tmp, dockerHost string, lose func()) map[string]string {
	t.Helper()
	v := platformtest.NewVictim(t, stepwise)
	v.Dir, v.Env = tmp, append(v.Env, "TMPDIR="+tmp, "DOCKER_HOST="+dockerHost)
	in, err := v.StdinPipe()
	require.NoError(t, err)
	out, err := v.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, v.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	require.Equal(t, "start <nil>", lines.Text())
	lose()
	_, err = io.WriteString(in, "\n")
	require.NoError(t, err)
	said := map[string]string{}
	for lines.Scan() {
		act, came, _ := strings.Cut(lines.Text(), " ")
		said[act] = came
	}
	require.NoError(t, v.Wait())
	return said
}
