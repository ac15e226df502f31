package history_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/history"
)

func someOps(n int) []harness.Op {
	ops := make([]harness.Op, n)
	for i := range ops {
		at := time.Duration(i) * time.Millisecond
		ops[i] = harness.Op{
			Client: i % 7, Kind: harness.Acquire, Key: fmt.Sprintf("lock-%d", i%3), Arg: fmt.Sprintf("%d-%d", i%7, i),
			TTL: time.Second, Call: at, Return: at + 500*time.Microsecond, Outcome: harness.Outcome(i % 3),
		}
	}
	return ops
}

func write(t *testing.T, dir string, ops []harness.Op) *history.Store {
	t.Helper()
	s, err := history.Create(dir)
	require.NoError(t, err)
	require.NoError(t, s.WriteMeta(harness.Meta{Name: "test", Seed: 7, Workers: 7, Groups: 2}))
	require.NoError(t, s.WriteEvent(harness.Event{At: 1, Node: "s1", Kind: "+sdown", Detail: "master"}))
	require.NoError(t, s.WriteOps(ops))
	require.NoError(t, s.WriteFault(harness.Fault{Name: "kill-primary", Start: 1, End: 5, Proved: true}))
	return s
}

func read(t *testing.T, h harness.History) (ops []harness.Op) {
	t.Helper()
	for op, err := range h.Ops {
		require.NoError(t, err)
		ops = append(ops, op)
	}
	return ops
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	dir, ops := t.TempDir(), someOps(1000)
	s := write(t, dir, ops)
	require.NoError(t, s.WriteEnd(harness.End{At: 9}))
	require.NoError(t, s.Close())
	h, err := s.History()
	require.NoError(t, err)
	require.Equal(t, ops, read(t, h))
	require.Equal(t, ops, read(t, h), "the second range")
	require.Equal(t, uint64(7), h.Meta.Seed)
	require.Equal(t, "+sdown", h.Events[0].Kind)
	require.True(t, h.Faults[0].Proved)
	require.Equal(t, &harness.End{At: 9}, h.End)
}

func TestAnInterruptedHistoryIsReadAsFarAsItGoes(t *testing.T) {
	dir, ops := t.TempDir(), someOps(20000)
	require.NoError(t, write(t, dir, ops).Close())
	path := filepath.Join(dir, "ops.jsonl.gz")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, info.Size()/2))
	h, err := history.Open(dir)
	require.NoError(t, err)
	require.Nil(t, h.End)
	got := read(t, h)
	require.Greater(t, len(got), 1000)
	require.Less(t, len(got), len(ops))
	require.Equal(t, ops[:len(got)], got)
}

func TestDamageIsNamed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, write(t, dir, someOps(10)).Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run.jsonl"), []byte("{\"meta\":{\"workers\":7}}\nnonsense\n"), 0o644))
	_, err := history.Open(dir)
	require.ErrorContains(t, err, "record 2")
	_, err = history.Open(t.TempDir())
	require.ErrorContains(t, err, "holds none")
	_, err = history.Create(dir)
	require.ErrorContains(t, err, "exists")
}
