package results_test

import (
	"fmt"
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
	"github.com/doublegrant/doublegrant/harness/history"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/workloads"
)

const (
	loadRounds = 5                      // measurements of each way, at each number of clients
	loadFor    = 4 * time.Second        // one measurement, at fewer than 1,000 clients: see lastFor
	loadWarm   = 500 * time.Millisecond // the part of it in which connections are opened
)

// loadClients lists the numbers of clients to compare. Rounds of 10,000 would run out of ports: redis-benchmark
// connects from one address, and its ports are not free again for a minute.
var loadClients = []int{50, 1000, 4000}

// rate measures one way to make load with a number of clients, in commands a second.
type rate func(b *testing.B, clients int) float64

// BenchmarkLoad compares the harness with redis-benchmark, and with a bare loop over the same client library. All use
// one script, one Redis, as many connections and no proxy. It prints a table for the README.
func BenchmarkLoad(b *testing.B) {
	tool, err := exec.LookPath("redis-benchmark")
	if err != nil {
		b.Skip("no redis-benchmark in the PATH")
	}
	s := startDirect(b)
	compareRates(b, []string{"redis-benchmark", "bare go-redis", "harness"},
		func(b *testing.B, clients int) float64 { return s.redisBenchmark(b, tool, clients) },
		s.bareLoop, s.harness)
}

// BenchmarkLinks compares the load of the harness without a fabric, over the fabric without a fault, and over an
// unmodified toxiproxy.
func BenchmarkLinks(b *testing.B) {
	s := startDirect(b)
	compareRates(b, []string{"no fabric", "fabric", "stock toxiproxy"},
		s.harness, s.overFabric(b).harness, s.overToxiproxy(b).harness)
}

// compareRates prints a row for each number of clients: the median of each way, and its ratio to the first way.
func compareRates(b *testing.B, names []string, ways ...rate) {
	for b.Loop() {
		fmt.Printf("| clients | %s | of %s |\n|---:%s|---:|\n", strings.Join(names, " | "), names[0],
			strings.Repeat("|---:", len(names)))
		for _, clients := range loadClients {
			rates := make([][]float64, len(ways))
			for range loadRounds {
				for i, way := range ways {
					rates[i] = append(rates[i], way(b, clients))
				}
			}
			row, parts := fmt.Sprintf("| %d ", clients), []string{}
			first := median(rates[0])
			for i, r := range rates {
				row += fmt.Sprintf("| %.0f (%.0f to %.0f) ", median(r), slices.Min(r), slices.Max(r))
				if i > 0 {
					part := median(r) / first
					parts = append(parts, fmt.Sprintf("%.2f", part))
					b.ReportMetric(part, fmt.Sprintf("%s-of-%s-at-%d", dashed(names[i]), dashed(names[0]), clients))
				}
			}
			fmt.Printf("%s| %s |\n", row, strings.Join(parts, ", "))
		}
	}
}

func dashed(name string) string { return strings.ReplaceAll(name, " ", "-") }

// median sorts a list and returns its middle value.
func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

// warmFor returns the length of the warm-up, and lastFor that of a measurement. Thousands of clients take longer.
func warmFor(clients int) time.Duration { return loadWarm * time.Duration(1+clients/1000) }
func lastFor(clients int) time.Duration { return warmFor(clients) + loadFor - loadWarm }

// redisBenchmark measures the rate of EVALSHA that redis-benchmark reaches.
func (s *direct) redisBenchmark(b *testing.B, tool string, clients int) float64 {
	host, port, err := net.SplitHostPort(s.at)
	require.NoError(b, err)
	cmd := exec.Command(tool, "-h", host, "-p", port, "-c", strconv.Itoa(clients), "-n", "200000", "--csv",
		"evalsha", s.sha, "1", "sequences", "seq-0", "5")
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	require.NoError(b, err, "%s%s", out, complaint.String())
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	cells := strings.Split(lines[len(lines)-1], `","`)
	require.Greater(b, len(cells), 1, "%s", out)
	rate, err := strconv.ParseFloat(strings.Trim(cells[1], `"`), 64)
	require.NoError(b, err)
	return rate
}

// bareLoop measures the rate of clients that only send the script and read its answer.
func (s *direct) bareLoop(b *testing.B, clients int) float64 {
	r := s.newClient(0, clients)
	defer r.Close()
	open(b.Context(), r, clients)
	var done atomic.Int64
	var ended atomic.Bool
	var running sync.WaitGroup
	for range clients {
		running.Go(func() {
			for !ended.Load() {
				if r.EvalSha(b.Context(), s.sha, []string{"sequences"}, "seq-0", "5").Err() == nil {
					done.Add(1)
				}
			}
		})
	}
	time.Sleep(warmFor(clients)) // a benchmark lasts as long as it is told
	began, before := time.Now(), done.Load()
	time.Sleep(loadFor - loadWarm) // as above
	rate := float64(done.Load()-before) / time.Since(began).Seconds()
	ended.Store(true)
	running.Wait()
	return rate
}

// harness measures the rate of operations that are recorded, stored and checked as they come.
func (s *direct) harness(b *testing.B, clients int) float64 {
	v, err := workloads.Find("sequence/numeric-compare-hash")
	require.NoError(b, err)
	dir := filepath.Join(b.TempDir(), "history")
	store, err := history.Create(dir)
	require.NoError(b, err)
	s.clients, s.groups = clients, map[int]*redis.Client{}
	var warm, last harness.Progress
	res, err := harness.Run(b.Context(), harness.Spec{
		System: s, Workload: v.Workload(s, workloads.Options{Regime: workloads.Fixed}),
		Watchers: []harness.Checker{checkers.Sequence()},
		Checkers: []harness.Checker{checkers.Gates()}, Store: unread{store}, Clients: clients,
		Duration: lastFor(clients), Seed: 1,
		OnAnomaly: func(a harness.Anomaly, _ time.Duration) { b.Error(a) },
		Progress: func(p harness.Progress) {
			if last = p; warm.Elapsed < warmFor(clients) {
				warm = p
			}
		},
	})
	require.NoError(b, err)
	require.Empty(b, res.Notes, "the checker did not keep up")
	require.NoError(b, os.RemoveAll(dir))
	require.Greater(b, last.Elapsed, warm.Elapsed)
	return float64(last.OK-warm.OK) / (last.Elapsed - warm.Elapsed).Seconds()
}

// unread is a store whose history is not read again, since reading is not part of the load.
type unread struct{ harness.Store }

func (unread) History() (harness.History, error) {
	return harness.History{Ops: harness.OpsOf(nil)}, nil
}

// BenchmarkViolationToReport measures the times that watched returns, with 1,000 clients.
func BenchmarkViolationToReport(b *testing.B) {
	for b.Loop() {
		_, delays := watched(b, plan.Plan{Variant: "sequence/get-set", Clients: 1000, Duration: 5 * time.Second})
		slices.Sort(delays)
		at := func(q float64) float64 {
			return float64(delays[int(q*float64(len(delays)-1))]) / float64(time.Millisecond)
		}
		b.ReportMetric(float64(len(delays)), "violations")
		b.ReportMetric(at(0.5), "p50-ms")
		b.ReportMetric(at(0.99), "p99-ms")
		b.ReportMetric(at(1), "max-ms")
	}
}
