package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/harness/workqueue"
	"github.com/doublegrant/doublegrant/harness/workqueue/internal/contract"
	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
)

// natsCluster is three servers of NATS in this process.
type natsCluster struct {
	servers []*server.Server
	options []*server.Options
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func startCluster(t *testing.T) *natsCluster {
	t.Helper()
	c := &natsCluster{}
	var routes []*url.URL
	for range 3 {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", freePort(t))})
	}
	for i := range 3 {
		var port int
		_, err := fmt.Sscan(routes[i].Port(), &port)
		require.NoError(t, err)
		c.options = append(c.options, &server.Options{
			ServerName: fmt.Sprintf("n%d", i+1), Host: "127.0.0.1", Port: freePort(t), JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
			Cluster: server.ClusterOpts{Name: "three", Host: "127.0.0.1", Port: port}, Routes: routes,
		})
		c.servers = append(c.servers, nil)
	}
	for i := range 3 {
		c.start(t, i)
	}
	t.Cleanup(func() {
		for i := range 3 {
			c.stop(i)
		}
	})
	require.Eventually(t, func() bool {
		for _, s := range c.servers {
			if s.JetStreamIsLeader() {
				return len(s.JetStreamClusterPeers()) == 3
			}
		}
		return false
	}, 30*time.Second, 20*time.Millisecond)
	return c
}

func (c *natsCluster) start(t *testing.T, i int) {
	t.Helper()
	s, err := server.NewServer(c.options[i].Clone())
	require.NoError(t, err)
	s.Start()
	c.servers[i] = s
	require.True(t, s.ReadyForConnections(10*time.Second))
}

func (c *natsCluster) stop(i int) {
	c.servers[i].Shutdown()
	c.servers[i].WaitForShutdown()
}

func (c *natsCluster) access() jetstream.Access {
	var all []string
	for _, o := range c.options {
		all = append(all, fmt.Sprintf("nats://127.0.0.1:%d", o.Port))
	}
	return jetstream.Access{URL: strings.Join(all, ","), Patience: 30 * time.Second}
}

func TestLongACluster(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	c := startCluster(t)
	n := 0
	contract.Test(t, contract.InRealTime, func(t *testing.T, lease time.Duration) func(string) workqueue.Queue {
		n++
		return as(t, c.access(), fmt.Sprintf("c%d", n), jetstream.Sizes{Lease: lease})
	})
}

// TestOneOfThreeServersIsLost while units are under way: nothing is lost with it, since all is there three times.
func TestOneOfThreeServersIsLost(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	as := as(t, c.access(), "main", jetstream.Sizes{Lease: 3 * time.Second})
	q, worker := as("coordinator"), as("worker")
	const units = 12
	unit := func(i int) workqueue.Unit { return workqueue.Unit{Kind: "x", Body: fmt.Append(nil, i)} }
	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Minute, errors.New("no outcome for five minutes"))
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		err := workqueue.Worker{Do: func(_ context.Context, u workqueue.Unit) (workqueue.Result, error) {
			return workqueue.Result{Body: u.Body, Claim: string(u.Body)}, nil
		}}.Work(ctx, worker)
		cancel()
		ended <- err
	}()
	for i := range units {
		switch i {
		case 3:
			c.stop(0)
		case 8:
			c.start(t, 0)
		}
		require.NoError(t, q.Put(ctx, unit(i)))
	}
	for i := range units {
		o, err := q.Await(ctx, unit(i).ID())
		if err != nil {
			t.Fatal(err, context.Cause(ctx), <-ended)
		}
		require.Equal(t, unit(i).Body, o.Body)
	}
	disputed, err := q.Disputed(ctx)
	require.NoError(t, err)
	require.Empty(t, disputed)
	require.NoError(t, q.End(ctx))
	require.NoError(t, <-ended)
}
