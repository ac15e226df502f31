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

// drawn are n calls of a sequence by 200 clients, with latencies as uneven as real ones.
func drawn(n int) []harness.Op {
	ops := make([]harness.Op, n)
	at := uint64(0)
	for i := range ops {
		noise := (uint64(i) * 0x9e3779b97f4a7c15) >> 33
		at += 20_000 + noise%60_000
		ops[i] = harness.Op{
			Client: int(noise % 200), Kind: harness.Next, Key: "seq-0", Arg: "23", Result: fmt.Sprint(uint64(i) - noise%5),
			Call: time.Duration(at - noise%5_000_000), Return: time.Duration(at), Outcome: harness.OK,
		}
	}
	return ops
}

func BenchmarkWrite(b *testing.B) {
	const batch = 400 // what comes in 20 ms at 20,000 operations a second
	ops, dir := drawn(batch*2500), b.TempDir()
	s, err := history.Create(dir)
	require.NoError(b, err)
	n := 0
	for b.Loop() {
		i := n % len(ops)
		require.NoError(b, s.WriteOps(ops[i:i+batch]))
		if n += batch; n%(3*batch) == 0 {
			history.Flush(s)
		}
	}
	require.NoError(b, s.Close())
	size := int64(0)
	files, _ := filepath.Glob(filepath.Join(dir, "ops-*.seg"))
	for _, f := range files {
		info, err := os.Stat(f)
		require.NoError(b, err)
		size += info.Size()
	}
	b.ReportMetric(float64(size)/float64(n), "bytes/op-stored")
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "ops/s")
}

func BenchmarkRead(b *testing.B) {
	const total, batch = 1_000_000, 1200
	ops := drawn(total)
	var batches [][]harness.Op
	for i := 0; i < total; i += batch {
		batches = append(batches, ops[i:min(i+batch, total)])
	}
	h, err := ended(b, b.TempDir(), batches...).History()
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range h.Ops {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		require.Equal(b, total, n)
	}
	b.ReportMetric(float64(total)*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}
