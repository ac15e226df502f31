package coordinate

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/suite"
	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// onOther returns the result of a run as a worker with another server would send it.
func onOther(t *testing.T, res workqueue.Result, server, other string) workqueue.Result {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "of")
	require.NoError(t, unpack(res.Body, dir))
	record := filepath.Join(dir, outcomeFile)
	text, err := os.ReadFile(record)
	require.NoError(t, err)
	require.Contains(t, string(text), server)
	require.NoError(t, os.WriteFile(record, bytes.ReplaceAll(text, []byte(server), []byte(other)), 0o644))
	res.Body, err = pack(dir, workqueue.MostBytes)
	require.NoError(t, err)
	return res
}

// TestTheFirstRunSaysWhichServerCounts has a second run on another server. The suite's results leave that run out and
// say why.
func TestTheFirstRunSaysWhichServerCounts(t *testing.T) {
	t.Parallel()
	server, err := cluster.RedisVersion("")
	require.NoError(t, err)
	s, err := suite.Decode([]byte("name: mine\nruns: [{variant: lock/setnx, explore: {clients: 2}, expect: " +
		"documented, times: 3}]\n"))
	require.NoError(t, err)
	memory := workqueue.NewMemory(0)
	d := &Executor{Version: "v1"}
	ended := make(chan error, 1)
	go func() {
		ended <- workqueue.Worker{Do: func(ctx context.Context, u workqueue.Unit) (workqueue.Result, error) {
			res, err := d.Do(ctx, u)
			if err == nil && bytes.Contains(u.Body, []byte(`"turn":1`)) {
				res = onOther(t, res, server, "Redis 9.9.9")
			}
			return res, err
		}}.Work(t.Context(), memory.As("worker"), "worker")
	}()
	var whys []string
	out, dir, err := Suite(t.Context(), memory.As("coordinator"), s, SuiteOptions{
		Results: t.TempDir(), Version: "v1", End: func(e EndedRun) { whys = append(whys, e.Why) },
	})
	require.NoError(t, err)
	require.NoError(t, memory.As("coordinator").End(t.Context()))
	require.NoError(t, <-ended)
	require.NotEmpty(t, dir)
	require.Equal(t, 2, out.Total().Runs)
	require.Contains(t, out.Ended, "it ran on Redis 9.9.9")
	require.Equal(t, map[string]string{"process": server}, out.Servers)
	require.Len(t, whys, 3)
	require.Empty(t, whys[0]+whys[2])
	require.True(t, strings.HasPrefix(whys[1],
		"the result of worker is unusable: it ran on Redis 9.9.9, and the units of worker on "+server), whys[1])
}
