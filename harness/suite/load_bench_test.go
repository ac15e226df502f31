package suite_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/history"
	"github.com/doublegrant/doublegrant/lua"
	"github.com/doublegrant/doublegrant/workloads"
)

const (
	loadRounds = 5                      // of each way, at each number of clients
	loadFor    = 3 * time.Second        // one measurement
	loadWarm   = 500 * time.Millisecond // of it, in which connections are opened
)

// BenchmarkLoad puts the load of the harness beside that of redis-benchmark and of a bare loop over the same client
// library: one script, one Redis, as many connections, no proxy, each way in turn. It prints a table for the README.
func BenchmarkLoad(b *testing.B) {
	tool, err := exec.LookPath("redis-benchmark")
	if err != nil {
		b.Skip("no redis-benchmark in the PATH")
	}
	s := startDirect(b)
	for b.Loop() {
		fmt.Print("| connections | redis-benchmark | bare go-redis | harness | of redis-benchmark | of bare go-redis |\n" +
			"|---:|---:|---:|---:|---:|---:|\n")
		for _, clients := range []int{50, 1000, 4000} {
			var theirs, bare, ours []float64
			for range loadRounds {
				theirs = append(theirs, s.redisBenchmark(b, tool, clients))
				bare = append(bare, s.bareLoop(b, clients))
				ours = append(ours, s.harness(b, clients))
			}
			t, l, h := median(theirs), median(bare), median(ours)
			fmt.Printf("| %d | %.0f | %.0f | %.0f | %.2f | %.2f |\n", clients, t, l, h, h/t, h/l)
			b.ReportMetric(h/t, fmt.Sprintf("of-redis-benchmark-at-%d", clients))
		}
	}
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

// direct is one Redis that clients reach without anything between.
type direct struct {
	addr, sha string
	clients   int
	mu        sync.Mutex
	groups    map[int]*redis.Client
}

var (
	_ harness.System      = (*direct)(nil)
	_ workloads.Connector = (*direct)(nil)
)

// startDirect starts a Redis on a free port until the benchmark ends.
func startDirect(b *testing.B) *direct {
	path, _, err := cluster.FindRedis("")
	require.NoError(b, err)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	_, port, _ := net.SplitHostPort(free.Addr().String())
	require.NoError(b, free.Close())
	server := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--maxclients", "10000", "--tcp-backlog", "4096", "--dir", b.TempDir())
	require.NoError(b, server.Start())
	b.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	s := &direct{addr: "127.0.0.1:" + port}
	r := redis.NewClient(&redis.Options{Addr: s.addr})
	defer r.Close()
	require.Eventually(b, func() bool { return r.Ping(b.Context()).Err() == nil }, 10*time.Second, 10*time.Millisecond)
	s.sha, err = r.ScriptLoad(b.Context(), lua.SequenceNumericCompare).Result()
	require.NoError(b, err)
	return s
}

// redisBenchmark is the rate of EVALSHA that redis-benchmark reaches.
func (s *direct) redisBenchmark(b *testing.B, tool string, clients int) float64 {
	_, port, _ := net.SplitHostPort(s.addr)
	out, err := exec.Command(tool, "-p", port, "-c", strconv.Itoa(clients), "-n", "150000", "--csv",
		"evalsha", s.sha, "1", "sequences", "seq-0", "5").Output()
	require.NoError(b, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	cells := strings.Split(lines[len(lines)-1], `","`)
	require.Greater(b, len(cells), 1, "%s", out)
	rate, err := strconv.ParseFloat(strings.Trim(cells[1], `"`), 64)
	require.NoError(b, err)
	return rate
}

// bareLoop is the rate of clients that do nothing but send the script and read its answer.
func (s *direct) bareLoop(b *testing.B, clients int) float64 {
	r := s.newClient(clients)
	defer r.Close()
	var done atomic.Int64
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	var ended atomic.Bool
	var running sync.WaitGroup
	for range clients {
		running.Go(func() {
			for !ended.Load() {
				if r.EvalSha(ctx, s.sha, []string{"sequences"}, "seq-0", "5").Err() == nil {
					done.Add(1)
				}
			}
		})
	}
	time.Sleep(loadWarm)
	began, before := time.Now(), done.Load()
	time.Sleep(loadFor - loadWarm)
	rate := float64(done.Load()-before) / time.Since(began).Seconds()
	ended.Store(true)
	running.Wait()
	return rate
}

// harness is the rate of operations that are recorded, stored and checked as they come.
func (s *direct) harness(b *testing.B, clients int) float64 {
	v, err := workloads.Find("sequence/numeric-compare-hash")
	require.NoError(b, err)
	dir := filepath.Join(b.TempDir(), "history")
	store, err := history.Create(dir)
	require.NoError(b, err)
	s.clients, s.groups = clients, map[int]*redis.Client{}
	watched := newWatchedStore(store)
	_, err = harness.Run(b.Context(), harness.Spec{
		System: s, Workload: v.Workload(s, workloads.Options{}), Checkers: []harness.Checker{nobody{}}, Store: watched,
		Clients: clients, Duration: loadFor, Seed: 1,
	})
	require.NoError(b, err)
	require.Equal(b, harness.Valid, watched.judged.Verdict, "%s", watched.judged.Reason)
	require.NoError(b, os.RemoveAll(dir))
	return watched.rate(b)
}

// Start forgets the numbers drawn before.
func (s *direct) Start(ctx context.Context, _ harness.Clock, _ func(harness.Event), _ *slog.Logger) error {
	r := s.newClient(1)
	defer r.Close()
	return cmp.Or(r.FlushDB(ctx).Err(), r.ScriptLoad(ctx, lua.SequenceNumericCompare).Err())
}

func (s *direct) AwaitWhole(context.Context) error { return nil }
func (s *direct) Groups() int                      { return 5 }

func (s *direct) Stop() error {
	for _, r := range s.groups {
		_ = r.Close()
	}
	return nil
}

// Connect is as a cluster's: one client of the library for all clients of a group.
func (s *direct) Connect(group int) (redis.UniversalClient, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.groups[group] == nil {
		s.groups[group] = s.newClient(s.clients)
	}
	return s.groups[group], nil
}

func (s *direct) newClient(clients int) *redis.Client {
	const patience = 10 * time.Second
	return redis.NewClient(&redis.Options{
		Addr: s.addr, Protocol: 2, DisableIdentity: true, MaxRetries: -1, ContextTimeoutEnabled: true, PoolSize: clients,
		DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience, PoolTimeout: patience,
		PipelinePoolSize: -1, ReadBufferSize: 4 << 10, WriteBufferSize: 4 << 10,
	})
}

// watchedStore shows a checker the record while it is written.
type watchedStore struct {
	harness.Store
	feed   chan []harness.Op
	over   sync.WaitGroup
	judged harness.Judgement

	first, last time.Duration // Return of the first operation, and of the last
	counted     int           // that were ok after loadWarm
}

func newWatchedStore(to harness.Store) *watchedStore {
	s := &watchedStore{Store: to, feed: make(chan []harness.Op, 64)}
	s.over.Go(func() {
		ops := func(yield func(harness.Op, error) bool) {
			for batch := range s.feed {
				for _, op := range batch {
					if !yield(op, nil) {
						return
					}
				}
			}
		}
		s.judged = checkers.Sequence().Check(context.Background(), harness.History{Ops: ops, Meta: harness.Meta{Workers: 1 << 20}},
			func(harness.Anomaly) {})
	})
	return s
}

func (s *watchedStore) WriteOps(ops []harness.Op) error {
	s.feed <- slices.Clone(ops)
	for i := range ops {
		s.first = cmp.Or(s.first, ops[i].Return)
		if s.last = ops[i].Return; s.last > s.first+loadWarm && ops[i].Outcome == harness.OK {
			s.counted++
		}
	}
	return s.Store.WriteOps(ops)
}

func (s *watchedStore) Close() error {
	close(s.feed)
	s.over.Wait()
	return s.Store.Close()
}

// History is empty: reading it again is no part of the load.
func (s *watchedStore) History() (harness.History, error) {
	return harness.History{Ops: harness.OpsOf(nil)}, nil
}

func (s *watchedStore) rate(b *testing.B) float64 {
	span := s.last - s.first - loadWarm
	require.Positive(b, span)
	return float64(s.counted) / span.Seconds()
}

// nobody judges nothing.
type nobody struct{}

func (nobody) Name() string { return "nobody" }
func (nobody) Check(context.Context, harness.History, func(harness.Anomaly)) harness.Judgement {
	return harness.Judgement{}
}
