package results_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
	"github.com/doublegrant/doublegrant/harness/cluster/fabric"
	"github.com/doublegrant/doublegrant/lua"
	"github.com/doublegrant/doublegrant/workloads"
)

// direct is one Redis, reached by connections of dial: directly, or over the fabric or a proxy.
type direct struct {
	at   string // its address
	sha  string // of the script
	dial func(ctx context.Context, group int) (net.Conn, error)

	clients int
	mu      sync.Mutex
	groups  map[int]*redis.Client
}

var (
	_ harness.System      = (*direct)(nil)
	_ workloads.Connector = (*direct)(nil)
)

// loadGroups is the number of client groups. Each has an address of its own, since one address does not have enough
// ports.
const loadGroups = 5

func groupIP(group int) string { return fmt.Sprintf("127.6.1.%d", 1+group) }

// startDirect starts a Redis until the benchmark ends.
func startDirect(b *testing.B) *direct {
	c := clustertest.Start(b, cluster.Standalone(cluster.Options{}))
	s := &direct{at: c.Deployment().Nodes[0].Real}
	s.dial = dialing(s.at)
	r := s.newClient(0, 1)
	defer r.Close()
	var err error
	s.sha, err = r.ScriptLoad(b.Context(), lua.SequenceNumericCompare).Result()
	require.NoError(b, err)
	return s
}

// dialing returns a function that connects a group to an address without the fabric.
func dialing(to string) func(ctx context.Context, group int) (net.Conn, error) {
	return func(ctx context.Context, group int) (net.Conn, error) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(groupIP(group))}}
		return d.DialContext(ctx, "tcp", to)
	}
}

// overFabric returns the same Redis, reached over the fabric.
func (s *direct) overFabric(b *testing.B) *direct {
	const announced = "127.6.2.1:6379"
	f := fabric.New()
	b.Cleanup(func() { require.NoError(b, f.Close()) })
	require.NoError(b, f.Listen("r1", announced, s.at))
	return &direct{at: s.at, sha: s.sha, dial: func(ctx context.Context, group int) (net.Conn, error) {
		return f.DialFrom(ctx, fabric.Source{Host: cluster.GroupName(group)}, announced)
	}}
}

// overToxiproxy returns the same Redis, reached over an unmodified toxiproxy.
func (s *direct) overToxiproxy(b *testing.B) *direct {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	proxy := toxiproxy.NewProxy(server, "redis", "127.6.2.2:6379", s.at)
	require.NoError(b, proxy.Start())
	b.Cleanup(proxy.Stop)
	return &direct{at: s.at, sha: s.sha, dial: dialing(proxy.Listen)}
}

// Start removes the numbers drawn before.
func (s *direct) Start(ctx context.Context, _ harness.Clock, _ func(harness.Event), _ *slog.Logger) error {
	r := s.newClient(0, 1)
	defer r.Close()
	return cmp.Or(r.FlushDB(ctx).Err(), r.ScriptLoad(ctx, lua.SequenceNumericCompare).Err())
}

func (s *direct) AwaitWhole(context.Context) error { return nil }
func (s *direct) Groups() int                      { return loadGroups }

func (s *direct) Stop() error {
	for _, r := range s.groups {
		_ = r.Close()
	}
	return nil
}

// Connect returns one client of the library for all clients of a group, as a cluster does.
func (s *direct) Connect(group int) (redis.UniversalClient, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.groups[group] == nil {
		s.groups[group] = s.newClient(group, s.clients)
		open(context.Background(), s.groups[group], s.clients/loadGroups)
	}
	return s.groups[group], nil
}

// open opens n connections, as a cluster does for thousands of clients, so that dials are not part of the load.
func open(ctx context.Context, r *redis.Client, n int) {
	conns := make([]*redis.Conn, n)
	var opening sync.WaitGroup
	for i := range conns {
		conns[i] = r.Conn()
		opening.Go(func() { _ = conns[i].Ping(ctx).Err() }) // errors show under load
	}
	opening.Wait()
	for _, conn := range conns {
		_ = conn.Close()
	}
}

func (s *direct) newClient(group, clients int) *redis.Client {
	const patience = 10 * time.Second
	return redis.NewClient(&redis.Options{
		Addr: s.at, Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return s.dial(ctx, group) },
		Protocol: 2, DisableIdentity: true, MaxRetries: -1, ContextTimeoutEnabled: true, PoolSize: clients,
		DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience, PoolTimeout: patience,
		PipelinePoolSize: -1, ReadBufferSize: 4 << 10, WriteBufferSize: 4 << 10,
	})
}
