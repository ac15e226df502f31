package outside_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
	"github.com/doublegrant/doublegrant/harness/outside"
	"github.com/doublegrant/doublegrant/workloads"
)

// load runs a program outside under load for a second.
func load(t *testing.T, v workloads.Variant) harness.Result {
	t.Helper()
	const clients = 8
	c := cluster.Standalone(cluster.Options{Clients: clients})
	w := v.Workload(c, workloads.Options{Keys: 2, TTL: 500 * time.Millisecond})
	res, err := harness.Run(t.Context(), harness.Spec{
		Name: v.ID, System: c, Workload: w, Clients: clients, Duration: time.Second, Checkers: checkers.For(w), Seed: 1,
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

// A lock outside is granted to many clients of few processes, and to clients with a process each.
func TestProgramsOutsideUnderLoad(t *testing.T) {
	for _, mode := range []string{"compare", "one"} {
		t.Run(mode, func(t *testing.T) {
			v := variant(t, childOf(workloads.Lock, mode, "acquire", "release"))
			count := outcomes(load(t, v))
			require.Greater(t, count[harness.OK], 20)
			v.Close()
			require.Empty(t, children(t))
		})
	}
}

// A process that ends is replaced, what it was asked is unknown, and what it wrote to its standard error is kept.
func TestAProgramOutsideThatBreaksDownUnderLoadIsReplaced(t *testing.T) {
	v, logs := variant(t, childOf(workloads.Lock, "dies", "acquire", "release")), t.TempDir()
	v.LogTo(logs)
	res := load(t, v)
	count := outcomes(res)
	require.Positive(t, count[harness.OK], "locks were granted")
	require.Positive(t, count[harness.Info], "each release ended a process")
	files, err := filepath.Glob(filepath.Join(logs, "client-*.log"))
	require.NoError(t, err)
	require.Greater(t, len(files), 1)
	text, err := os.ReadFile(filepath.Join(logs, "client-1.log"))
	require.NoError(t, err)
	require.Equal(t, "lost my head\n", string(text))
}

// What a check says of programs that are wrong, and that it says nothing else is.
func TestCheckSaysWhatIsWrong(t *testing.T) {
	defer outside.ShortenAnswers(2 * time.Second)()
	c := cluster.Standalone(cluster.Options{})
	clustertest.Start(t, c)
	r, err := c.Connect(0)
	require.NoError(t, err)
	for mode, want := range map[string]string{
		"compare":     "",
		"one":         "",
		"filter":      "",
		"counter":     "",
		"sleeps":      "it has not answered release within 2s",
		"tomorrow":    "it speaks version 2 of the protocol, and this is version 1",
		"nothing":     `it says that it can do ["dance"], which is neither a lock (acquire, release), a dedup (claim) nor a sequence (next)`,
		"half-a-lock": `it says that it can do ["acquire"]: a lock has to say ["acquire" "release"]`,
		"banner":      `it wrote "Welcome to my lock 1.0", which is not a line of the protocol`,
		"half":        `it ended in the middle of the line`,
		"long":        "it wrote a line of more than 65536 bytes",
		"twice":       "twice: ",
		"unasked":     "it answered 4711, which was never asked",
		"dies":        "it ended (exit status 3): lost my head",
		"nowhere":     "acquire: ok, for the lock is free: dial tcp 127.0.0.1:1: connect: connection refused",
		"elsewhere":   "acquire by another client: not ok, for it is taken: it answered ok: true",
	} {
		t.Run(mode, func(t *testing.T) {
			wrong := 0
			_, err := outside.Check(t.Context(), childOf("", mode), r, func(_ string, err error) {
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
	require.Empty(t, children(t))
}

// A relay needs a client of one primary.
func TestARelayNeedsOnePrimary(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{})
	defer ring.Close()
	_, err := outside.Check(t.Context(), childOf(workloads.Lock, "compare"), ring, func(string, error) {})
	require.ErrorContains(t, err, "a program outside needs one primary")
	require.NotContains(t, fmt.Sprint(strings.TrimSpace(err.Error())), "\n")
}
