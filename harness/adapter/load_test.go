package adapter_test

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/adapter"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
	"github.com/doublegrant/doublegrant/workloads"
)

const loadClients = 8

// load runs an adapter under load for a moment.
func load(t *testing.T, v workloads.Variant) harness.Result {
	t.Helper()
	return loadOn(t, v, cluster.Standalone(cluster.Options{Clients: loadClients}))
}

// loadOn runs an adapter under load for a moment, on a cluster that has not started yet.
func loadOn(t *testing.T, v workloads.Variant, c *cluster.Cluster) harness.Result {
	t.Helper()
	w := v.Workload(c, workloads.Options{Keys: 2, TTL: 500 * time.Millisecond})
	res, err := harness.Run(t.Context(), harness.Spec{
		Name: v.ID, System: c, Workload: w, Clients: loadClients, Duration: time.Second / 2, Rate: 400,
		Checkers: checkers.For(w), Seed: 1,
	})
	require.NoError(t, err)
	return res
}

func outcomes(res harness.Result) map[harness.Outcome]int {
	count := map[harness.Outcome]int{}
	for op := range res.History.Ops {
		count[op.Outcome]++
	}
	return count
}

// Many clients are granted an adapter's lock, whether they share processes or have a process each.
func TestAdaptersUnderLoad(t *testing.T) {
	for _, mode := range []string{"compare", "one"} {
		t.Run(mode, func(t *testing.T) {
			v := variant(t, lock(mode))
			granted := map[int]bool{}
			for op := range load(t, v).History.Ops {
				if op.Kind == harness.Acquire && op.Outcome == harness.OK {
					granted[op.Client] = true
				}
			}
			require.Greater(t, len(granted), 2, "clients that had a lock")
			v.Close()
			require.Empty(t, processes(t))
		})
	}
}

// written returns what each process has written to its standard error, by the name of its log.
func written(t *testing.T, logs string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(logs, "client-*.log"))
	require.NoError(t, err)
	texts := map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		texts[filepath.Base(f)] = string(text)
	}
	return texts
}

// A process that ends is replaced. The operation under way ends in info, and the log keeps what the process wrote to
// its standard error.
func TestAnAdapterThatBreaksDownUnderLoadIsReplaced(t *testing.T) {
	v, logs := variant(t, lock("dies")), t.TempDir()
	v.LogTo(logs)
	res := load(t, v)
	count := outcomes(res)
	require.Positive(t, count[harness.OK], "locks were granted")
	require.Positive(t, count[harness.Info], "each release ended a process")
	texts := written(t, logs)
	require.Greater(t, len(texts), 1)
	require.Equal(t, "lost my head\n", texts["client-1.log"])
}

// Without Sentinels all processes connect directly to their node, except the first, which tries the program through
// relays. With Sentinels all use relays.
func TestAdaptersConnectDirectly(t *testing.T) {
	for name, c := range map[string]*cluster.Cluster{
		"standalone": cluster.Standalone(cluster.Options{Clients: loadClients}),
		"sentinel":   cluster.Sentinel(cluster.Options{Clients: loadClients}),
	} {
		t.Run(name, func(t *testing.T) {
			v, logs := variant(t, lock("tells")), t.TempDir()
			v.LogTo(logs)
			var mu sync.Mutex
			led := map[string]int{}
			v.ConnectDirectly(func(r redis.UniversalClient) string {
				address := c.DirectAddress(r)
				mu.Lock()
				defer mu.Unlock()
				led["redis://"+address]++
				return address
			})
			require.Positive(t, outcomes(loadOn(t, v, c))[harness.OK])
			require.Len(t, led, 1, "all clients lead to one node")
			texts, direct := written(t, logs), 0
			for _, text := range texts {
				if led[text] > 0 {
					direct++
				}
			}
			want := len(texts) - 1
			if name == "sentinel" {
				want = 0
			}
			require.Equal(t, want, direct)
		})
	}
}

// A program that succeeds without using its Redis is refused, both through relays and when it connects directly.
func TestAnAdapterThatSucceedsWithoutItsRedisIsRefused(t *testing.T) {
	for name, direct := range map[string]bool{"by a relay": false, "direct": true} {
		t.Run(name, func(t *testing.T) {
			c := cluster.Standalone(cluster.Options{Clients: loadClients})
			v := variant(t, lock("elsewhere"))
			if direct {
				v.ConnectDirectly(c.DirectAddress)
			}
			res := loadOn(t, v, c)
			count := outcomes(res)
			require.Zero(t, count[harness.OK])
			for op := range res.History.Ops {
				if op.Kind == harness.Acquire && op.Outcome == harness.Info {
					require.Contains(t, op.Err, "it talks to another Redis than the one that init names")
				}
			}
			require.Positive(t, count[harness.Info])
		})
	}
}

// A check of a wrong program reports one error, the right one. A check of a right program reports none.
func TestCheckSaysWhatIsWrong(t *testing.T) {
	c := cluster.Standalone(cluster.Options{})
	clustertest.Start(t, c)
	r, err := c.Connect(0)
	require.NoError(t, err)
	for mode, want := range map[string]string{
		"compare": "",
		"filter":  "",
		"counter": "",
		"sleeps":  "it has not answered release within 2s",
		"nothing": `it says that it can do ["dance"], which is neither a lock (acquire, release), a dedup ` +
			`(claim) nor a sequence (next)`,
		"half-a-lock": `it says that it can do ["acquire"]: a lock has to say ["acquire" "release"]`,
		"stops":       "it asked to stop thread 4711, which it has not started",
		"dies":        "it ended (exit status 3): lost my head",
		"one-of-many": "its commands come to most of the masters that init names: they have come to 1 of 3: a lock " +
			"on fewer than most is none",
		"king":        "it says that it asks 1 masters: say 2 to 9, or leave masters out where it uses one Redis",
		"many-counts": "it says that it asks 3 masters, which is for locks: a sequence leaves masters out",
		"nowhere": "acquire: ok, for the lock is free: dial tcp 127.0.0.1:1: connect: connection refused; no " +
			"command has come to redis://127.0.0.1:",
		"elsewhere": "acquire by another client: not ok, for it is taken: it answered ok: true",
	} {
		t.Run(mode, func(t *testing.T) {
			within(t, adapter.AnswerWithin, time.Minute) // they answer, however slow the machine is
			if mode == "sleeps" {
				within(t, adapter.AnswerWithin, 2*time.Second)
			}
			wrong := 0
			_, err := adapter.Check(t.Context(), fakeOf("", mode), sameFor(r), func(_ string, err error) {
				if err != nil {
					wrong++
				}
			})
			if want == "" {
				require.NoError(t, err)
				require.Zero(t, wrong)
				return
			}
			require.ErrorContains(t, err, want)
			require.NotContains(t, err.Error(), "\n")
			require.Equal(t, 1, wrong)
		})
		require.NoError(t, r.FlushAll(t.Context()).Err())
	}
	require.Empty(t, processes(t))
}

// sameFor returns Servers whose clients are all r.
func sameFor(r redis.UniversalClient) adapter.Servers {
	return func(count int, _ bool) ([]redis.UniversalClient, error) {
		return slices.Repeat([]redis.UniversalClient{r}, count), nil
	}
}

// An adapter needs a Redis client that leads to one primary.
func TestARelayNeedsOnePrimary(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{})
	defer ring.Close()
	_, err := adapter.Check(t.Context(), fakeOf(workloads.Lock, "compare"), sameFor(ring), func(string, error) {})
	require.ErrorContains(t, err, "an adapter needs one primary")
	require.NotContains(t, err.Error(), "\n")
}
