package history_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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

// oddOps lists operations that are hard to encode.
func oddOps() []harness.Op {
	ops := []harness.Op{
		{},
		{Client: harness.HarnessClient, Kind: harness.Read, Key: "set", Result: "0-7,9", Outcome: harness.OK, Call: 1,
			Return: 2},
		{Kind: harness.Inspect, TTL: -5, Until: -1, Due: 3, Call: 1<<63 - 1, Return: -1 << 63, Client: 1 << 40},
		{Kind: "own", Key: "\x00\xff#.", Err: "READONLY you can't\nwrite", Due: 1, Until: 1 << 62, Return: 1 << 62,
			Outcome: harness.Fail},
	}
	for _, s := range []string{
		"0", "00", "007", "x0", "x00", "x007", "-1", "#", "#1", ".", "9223372036854775807", "9223372036854775808",
		"99999999999999999999999999", "20261121142631123", "1e9", "å7", fmt.Sprintf("%0400d", 3),
	} {
		ops = append(ops, harness.Op{Kind: harness.Next, Key: s, Arg: s, Result: s + s, Err: s})
	}
	return ops
}

func write(t testing.TB, dir string, batches ...[]harness.Op) *history.Store {
	t.Helper()
	s, err := history.Create(dir)
	require.NoError(t, err)
	require.NoError(t, s.WriteMeta(harness.Meta{Name: "test", Seed: 7, Workers: 7, Groups: 2}))
	require.NoError(t, s.WriteEvent(harness.Event{At: 1, Node: "s1", Kind: "+sdown", Detail: "master"}))
	for _, ops := range batches {
		require.NoError(t, s.WriteOps(ops))
		history.Flush(s)
	}
	require.NoError(t, s.WriteFault(harness.Fault{Name: "kill-primary", Start: 1, End: 5, Proved: true}))
	return s
}

// closed closes a store and returns its history, which has no end.
func closed(t testing.TB, s *history.Store, end *harness.End) harness.History {
	t.Helper()
	if end != nil {
		require.NoError(t, s.WriteEnd(*end))
	}
	require.NoError(t, s.Close())
	h, err := s.History()
	require.NoError(t, err)
	return h
}

// ended returns a history that was written to its end.
func ended(t testing.TB, dir string, batches ...[]harness.Op) harness.History {
	t.Helper()
	return closed(t, write(t, dir, batches...), &harness.End{At: 9})
}

func read(t testing.TB, h harness.History) []harness.Op {
	t.Helper()
	ops, err := readAll(h)
	require.NoError(t, err)
	return ops
}

// readAll reads operations up to the first error.
func readAll(h harness.History) (ops []harness.Op, err error) {
	for op, err := range h.Ops {
		if err != nil {
			return ops, err
		}
		ops = append(ops, op)
	}
	return ops, nil
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	dir, ops := t.TempDir(), append(someOps(1000), oddOps()...)
	h := ended(t, dir, ops[:10], ops[10:900], ops[900:])
	require.Equal(t, ops, read(t, h))
	require.Equal(t, ops, read(t, h), "the second range")
	require.Equal(t, uint64(7), h.Meta.Seed)
	require.Equal(t, "+sdown", h.Events[0].Kind)
	require.True(t, h.Faults[0].Proved)
	require.Equal(t, &harness.End{At: 9}, h.End)
	require.NoFileExists(t, filepath.Join(dir, "reserve"))
}

func TestWhatCameBeforeARefusedOperationIsWritten(t *testing.T) {
	s, ops := write(t, t.TempDir()), someOps(3)
	ops[2].Outcome = 17
	require.ErrorContains(t, s.WriteOps(ops), "no outcome that there is")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		h, err := s.History()
		require.NoError(c, err)
		got, err := readAll(h)
		require.NoError(c, err)
		require.Equal(c, ops[:2], got)
	}, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.WriteOps(someOps(1)), os.ErrClosed)
}

func TestRangesGoOnSideBySide(t *testing.T) {
	ops := someOps(20000)
	h := ended(t, t.TempDir(), ops[:7000], ops[7000:])
	var readers sync.WaitGroup
	got := make([][]harness.Op, 3)
	for i := range got {
		readers.Go(func() { got[i], _ = readAll(h) })
	}
	for op := range h.Ops { // a range that stops early
		require.Equal(t, ops[0], op)
		break
	}
	readers.Wait()
	for i := range got {
		require.Equal(t, ops, got[i])
	}
}

func TestSegmentsFollowEachOther(t *testing.T) {
	dir, ops := t.TempDir(), someOps(3000)
	s := write(t, dir)
	history.SetSegmentSize(s, 2000)
	for i := 0; i < 3000; i += 1000 {
		require.NoError(t, s.WriteOps(ops[i:i+1000]))
		history.Flush(s)
	}
	require.Equal(t, ops, read(t, closed(t, s, &harness.End{At: 9})))
	require.FileExists(t, filepath.Join(dir, "ops-000003.seg"))

	require.NoError(t, os.Rename(filepath.Join(dir, "ops-000002.seg"), filepath.Join(dir, "away")))
	_, err := history.Open(dir)
	require.ErrorContains(t, err, "ops-000002.seg")
	require.NoError(t, os.Rename(filepath.Join(dir, "away"), filepath.Join(dir, "ops-000002.seg")))

	require.NoError(t, os.Remove(filepath.Join(dir, "ops-000003.seg")))
	h, err := history.Open(dir)
	require.NoError(t, err)
	got, err := readAll(h)
	require.ErrorContains(t, err, "3000 operations were stored and 2000 were read")
	require.Equal(t, ops[:2000], got)

	require.NoError(t, os.Truncate(filepath.Join(dir, "ops-000001.seg"), 700))
	_, err = readAll(h)
	require.ErrorContains(t, err, "ops-000001.seg is damaged")
}

func TestATailIsCutShortAtEveryByte(t *testing.T) {
	dir, ops := t.TempDir(), someOps(60)
	ended(t, dir, ops[:20], ops[20:40], ops[40:])
	path := filepath.Join(dir, "ops-000001.seg")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	seen, between := map[int]bool{}, 0
	for n := len(whole) - 1; n >= 0; n-- {
		require.NoError(t, os.Truncate(path, int64(n)))
		h, err := history.Open(dir)
		require.NoError(t, err)
		got, err := readAll(h)
		require.Zero(t, len(got)%20, "half a frame at %d", n)
		require.Equal(t, ops[:len(got)], append([]harness.Op{}, got...))
		if err != nil { // a file that ends between frames is whole, but the end declares more operations
			require.ErrorContains(t, err, "60 operations were stored")
			require.NotNil(t, h.End)
			between++
		} else {
			require.Nil(t, h.End, "cut at %d", n)
		}
		seen[len(got)] = true
	}
	require.Equal(t, map[int]bool{0: true, 20: true, 40: true}, seen)
	require.Equal(t, 3, between, "before each frame")
}

func TestTheRunsFileIsCutShortAtEveryByte(t *testing.T) {
	dir := t.TempDir()
	ended(t, dir, someOps(5))
	path := filepath.Join(dir, "run.seg")
	info, err := os.Stat(path)
	require.NoError(t, err)
	opened := 0
	for n := info.Size() - 1; n >= 0; n-- {
		require.NoError(t, os.Truncate(path, n))
		h, err := history.Open(dir)
		require.Nil(t, h.End)
		if err != nil {
			require.ErrorContains(t, err, "has no header")
			continue
		}
		opened++
		require.Len(t, read(t, h), 5)
	}
	require.Positive(t, opened)
}

// A changed byte anywhere is an error that names the file and the byte. What was read before the error is what was
// written.
func TestAChangedByteIsNoticed(t *testing.T) {
	dir, ops := t.TempDir(), someOps(60)
	ended(t, dir, ops[:30], ops[30:])
	path := filepath.Join(dir, "ops-000001.seg")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := range whole {
		broken := append([]byte{}, whole...)
		broken[i] ^= 0x10
		require.NoError(t, os.WriteFile(path, broken, 0o644))
		h, err := history.Open(dir)
		require.NoError(t, err)
		got, err := readAll(h)
		require.ErrorContains(t, err, "ops-000001.seg is damaged at byte ", "byte %d", i)
		require.Less(t, len(got), 60)
		require.Equal(t, ops[:len(got)], append([]harness.Op{}, got...))
	}
}

func TestDamageIsNamed(t *testing.T) {
	dir := t.TempDir()
	ended(t, dir, someOps(10))
	run := filepath.Join(dir, "run.seg")
	whole, err := os.ReadFile(run)
	require.NoError(t, err)
	whole[60] ^= 1
	require.NoError(t, os.WriteFile(run, whole, 0o644))
	_, err = history.Open(dir)
	require.ErrorContains(t, err, "run.seg is damaged at byte 22")
	_, err = history.Open(t.TempDir())
	require.ErrorContains(t, err, "contains no history")
	_, err = history.Create(dir)
	require.ErrorContains(t, err, "exists")
	old := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(old, "ops.jsonl.gz"), nil, 0o644))
	_, err = history.Open(old)
	require.ErrorContains(t, err, "older doublegrant")
}
