package history_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/history"
)

// writeInto is an environment variable. With it the test binary writes a history into that folder until it is killed.
const writeInto = "DOUBLEGRANT_TEST_WRITE_INTO"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writeInto); dir != "" {
		fmt.Fprintln(os.Stderr, writeForever(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// writeForever stores operations as a recorder does. After each call it prints the Return of the last stored operation.
func writeForever(dir string) error {
	s, err := history.Create(dir)
	if err != nil {
		return err
	}
	history.SetSegmentSize(s, 20_000)
	if err := s.WriteMeta(harness.Meta{Name: "killed", Workers: 7}); err != nil {
		return err
	}
	start, n := time.Now(), 0
	for range time.Tick(20 * time.Millisecond) {
		now := time.Since(start)
		batch := make([]harness.Op, 100)
		for i := range batch {
			batch[i] = harness.Op{Client: n, Kind: harness.Next, Key: "seq", Result: strconv.Itoa(n), Return: now,
				Outcome: harness.OK}
			n++
		}
		if err := s.WriteOps(batch); err != nil {
			return err
		}
		fmt.Println(int64(now))
	}
	return nil
}

func TestAKilledWriterLosesNoMoreThanTheLastMoment(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var lost []time.Duration
	for range 7 {
		dir := t.TempDir()
		last := killed(t, dir, 150*time.Millisecond+time.Duration(rng.Int64N(int64(400*time.Millisecond))))
		h, err := history.Open(dir)
		require.NoError(t, err)
		require.Nil(t, h.End)
		ops := read(t, h)
		for i, op := range ops {
			require.Equal(t, strconv.Itoa(i), op.Result, "an operation is missing or there twice")
		}
		if len(ops) > 0 { // none if the machine stood still before the first moment was over
			last -= ops[len(ops)-1].Return
		}
		lost = append(lost, last)
	}
	require.LessOrEqual(t, slices.Min(lost), 100*time.Millisecond,
		"%v: a writer that waits until enough has come loses more each time", lost)
}

// killed starts a process that writes for the given time, and kills it. It returns the last time up to which the
// process had stored operations.
func killed(t *testing.T, dir string, after time.Duration) (last time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writeInto+"="+dir)
	cmd.Stderr = &strings.Builder{}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	kill := sync.OnceFunc(func() {
		time.Sleep(rand.N(20 * time.Millisecond)) // the moment of the kill is random
		require.NoError(t, cmd.Process.Kill())
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		at, err := strconv.ParseInt(lines.Text(), 10, 64)
		require.NoError(t, err)
		if last = time.Duration(at); last >= after {
			kill()
		}
	}
	require.Error(t, cmd.Wait())
	require.GreaterOrEqual(t, last, after, "the writer ended by itself: %s", cmd.Stderr)
	return last
}
