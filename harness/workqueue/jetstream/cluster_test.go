package jetstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/harness/workqueue"
	"github.com/doublegrant/doublegrant/harness/workqueue/internal/contract"
	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
)

// asServer is the environment variable that makes the test binary a NATS server, so that it can be killed.
const asServer = "DOUBLEGRANT_TEST_AS_NATS"

// serverOptions configures a process that is a NATS server.
type serverOptions struct {
	Name, Store   string
	Port, Cluster int
	Routes        string
}

func TestMain(m *testing.M) {
	if text := os.Getenv(asServer); text != "" {
		os.Exit(serve(text))
	}
	os.Exit(m.Run())
}

// serve runs a NATS server until it is killed.
func serve(text string) int {
	var o serverOptions
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return 1
	}
	s, err := server.NewServer(&server.Options{
		ServerName: o.Name, Host: "127.0.0.1", Port: o.Port, JetStream: true, StoreDir: o.Store,
		NoLog: true, NoSigs: true,
		Cluster: server.ClusterOpts{Name: "three", Host: "127.0.0.1", Port: o.Cluster},
		Routes:  server.RoutesFromStr(o.Routes),
	})
	if err != nil {
		return 1
	}
	s.Start()
	s.WaitForShutdown()
	return 0
}

// cluster is three NATS servers, each in its own process.
type cluster struct {
	*testing.T
	options [3]serverOptions
	running [3]*exec.Cmd
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{T: t}
	var ports [3]int
	routes := ""
	for i := range ports {
		ports[i] = freePort(t)
		routes += fmt.Sprintf(",nats://127.0.0.1:%d", ports[i])
	}
	for i := range ports {
		c.options[i] = serverOptions{fmt.Sprint("n", i+1), t.TempDir(), freePort(t), ports[i], routes[1:]}
		c.start(i)
	}
	return c
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (c *cluster) start(i int) {
	c.Helper()
	text, err := json.Marshal(c.options[i])
	require.NoError(c, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asServer+"="+string(text))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(c, cmd.Start())
	c.running[i] = cmd
	c.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

// kill ends a server abruptly.
func (c *cluster) kill(i int) {
	c.Helper()
	require.NoError(c, c.running[i].Process.Signal(syscall.SIGKILL))
	_ = c.running[i].Wait() // an error: it was killed
}

func (c *cluster) access() jetstream.Access {
	var urls []string
	for _, o := range c.options {
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", o.Port))
	}
	return jetstream.Access{URL: strings.Join(urls, ","), Patience: time.Minute}
}

func TestLongACluster(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	c := startCluster(t)
	var n atomic.Int64
	contract.Test(t, contract.InRealTime, func(t *testing.T, lease time.Duration) func(string) workqueue.Queue {
		return as(t, c.access(), fmt.Sprint("c", n.Add(1)), jetstream.Sizes{Lease: lease})
	})
}

// TestAKilledServerOfThree checks that nothing is lost, since everything has three replicas.
func TestAKilledServerOfThree(t *testing.T) { killServers(t, 1) }

func TestLongAKilledServerOfThree(t *testing.T) {
	testenv.NeedLong(t)
	killServers(t, 3)
}

// killServers kills and restarts the servers of a cluster, one after the other, while units are done. It checks that
// each unit has the right outcome.
func killServers(t *testing.T, kills int) {
	t.Parallel()
	c := startCluster(t)
	as := as(t, c.access(), "main", jetstream.Sizes{Lease: 3 * time.Second})
	q := as("coordinator")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Minute, errors.New("no outcome for five minutes"))
	defer cancel()
	const workers = 2
	units := 6 * kills // a server is killed in each six
	ended := make(chan error, workers)
	for i := range workers {
		worker := as(fmt.Sprint("worker-", i))
		go func() {
			ended <- workqueue.Worker{Do: func(_ context.Context, u workqueue.Unit) (workqueue.Result, error) {
				return workqueue.Result{Body: u.Body, Claim: string(u.Body)}, nil
			}}.Work(ctx, worker, fmt.Sprint("worker-", i))
		}()
	}
	unit := func(i int) workqueue.Unit { return workqueue.Unit{Kind: "x", Body: fmt.Append(nil, i)} }
	await := func(i int) {
		o, err := q.Await(ctx, unit(i).ID())
		require.NoError(t, err, "%v", context.Cause(ctx))
		require.False(t, o.GivenUp(), o.Why())
		require.Equal(t, unit(i).Body, o.Body)
	}
	for i := range units {
		if i%6 == 2 {
			c.kill(i / 6)
		}
		require.NoError(t, q.Put(ctx, unit(i)))
		require.NoError(t, q.Put(ctx, unit(i)), "again")
		if i%6 == 5 { // work goes on without it; then it comes back
			for u := i - 5; u <= i; u++ {
				await(u)
			}
			c.start(i / 6)
		}
	}
	for i := range units {
		await(i)
	}
	require.Empty(t, disputed(t, q))
	require.NoError(t, q.End(ctx))
	for range workers {
		require.NoError(t, <-ended)
	}
}

// TestLongAWorkerThatComesBackToACluster checks that a worker that returns after the end learns of it at once.
func TestLongAWorkerThatComesBackToACluster(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	comesBackAfterTheEnd(t, startCluster(t).access())
}
