package jetstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/harness/workqueue"
	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
)

// asServer, in the environment, makes the test binary a server of NATS: a process can be killed as no server in this one can.
const asServer = "DOUBLEGRANT_TEST_AS_NATS"

// serverOptions say what such a process is.
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

// serve is a server of NATS until it is told to end.
func serve(text string) int {
	var o serverOptions
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return 1
	}
	s, err := server.NewServer(&server.Options{
		ServerName: o.Name, Host: "127.0.0.1", Port: o.Port, JetStream: true, StoreDir: o.Store, NoLog: true, NoSigs: true,
		Cluster: server.ClusterOpts{Name: "three", Host: "127.0.0.1", Port: o.Cluster}, Routes: server.RoutesFromStr(o.Routes),
	})
	if err != nil {
		return 1
	}
	s.Start()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	<-ended
	s.Shutdown()
	return 0
}

// processes is three servers of NATS in processes of their own.
type processes struct {
	*testing.T
	options [3]serverOptions
	running [3]*exec.Cmd
}

func startProcesses(t *testing.T) *processes {
	t.Helper()
	p := &processes{T: t}
	var ports [3]int
	routes := ""
	for i := range ports {
		ports[i] = freePort(t)
		routes += fmt.Sprintf(",nats://127.0.0.1:%d", ports[i])
	}
	for i := range ports {
		p.options[i] = serverOptions{fmt.Sprint("p", i+1), t.TempDir(), freePort(t), ports[i], routes[1:]}
		p.start(i)
	}
	return p
}

func (p *processes) start(i int) {
	p.Helper()
	text, err := json.Marshal(p.options[i])
	require.NoError(p, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asServer+"="+string(text))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(p, cmd.Start())
	p.running[i] = cmd
	p.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

// kill ends a server as nothing else does: it has no time for a last word.
func (p *processes) kill(i int) {
	p.Helper()
	require.NoError(p, p.running[i].Process.Signal(syscall.SIGKILL))
	_ = p.running[i].Wait() // it says that it was killed
}

func (p *processes) access() jetstream.Access {
	a := jetstream.Access{Patience: time.Minute}
	for _, o := range p.options {
		a.URL += fmt.Sprintf(",nats://127.0.0.1:%d", o.Port)
	}
	a.URL = a.URL[1:]
	return a
}

// TestLongAKilledServerOfThree: each of three processes is killed, and comes back, while units are under way. Each unit has the one outcome
// that its work has.
func TestLongAKilledServerOfThree(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	p := startProcesses(t)
	as := as(t, p.access(), "main", jetstream.Sizes{Lease: 3 * time.Second})
	q := as("coordinator")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Minute, errors.New("no outcome for five minutes"))
	defer cancel()
	const workers = 2
	units := 6 * len(p.options) // a server is killed in each six
	ended := make(chan error, workers)
	for i := range workers {
		worker := as(fmt.Sprint("worker-", i))
		go func() {
			ended <- workqueue.Worker{Do: func(_ context.Context, u workqueue.Unit) (workqueue.Result, error) {
				return workqueue.Result{Body: u.Body, Claim: string(u.Body)}, nil
			}}.Work(ctx, worker)
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
			p.kill(i / 6)
		}
		require.NoError(t, q.Put(ctx, unit(i)))
		require.NoError(t, q.Put(ctx, unit(i)), "again")
		if i%6 == 5 { // what is under way goes on without it; then it comes back
			for u := i - 5; u <= i; u++ {
				await(u)
			}
			p.start(i / 6)
		}
	}
	for i := range units {
		await(i)
	}
	disputed, err := q.Disputed(ctx)
	require.NoError(t, err)
	require.Empty(t, disputed)
	require.NoError(t, q.End(ctx))
	for range workers {
		require.NoError(t, <-ended)
	}
}

// TestLongAWorkerThatComesBackToACluster after the end learns of it at once.
func TestLongAWorkerThatComesBackToACluster(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	comesBackAfterTheEnd(t, startCluster(t).access())
}
