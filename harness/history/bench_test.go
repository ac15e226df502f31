package history_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/history"
)

// drawn returns n calls of a sequence by 200 clients. Latencies are as uneven as real ones.
func drawn(n int) []harness.Op {
	ops := make([]harness.Op, n)
	at := uint64(0)
	for i := range ops {
		noise := (uint64(i) * 0x9e3779b97f4a7c15) >> 33
		at += 20_000 + noise%60_000
		ops[i] = harness.Op{
			Client: int(noise % 200), Kind: harness.Next, Key: "seq-0", Arg: "23",
			Result: fmt.Sprint(uint64(i) - noise%5),
			Call:   time.Duration(at - noise%5_000_000), Return: time.Duration(at), Outcome: harness.OK,
		}
	}
	return ops
}

func BenchmarkWrite(b *testing.B) {
	const batch = 400 // operations of 20 ms at 20,000 a second
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
	h := ended(b, b.TempDir(), batches...)
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

// respellings are ways to write a line: as doublegrant prints it; with a space after each colon and comma, as Python
// does; with escapes in the key.
var respellings = map[string]func(string) string{
	"printed": func(line string) string { return line },
	"spaced":  func(line string) string { return strings.NewReplacer(":", ": ", ",", ", ").Replace(line) },
	"escaped": func(line string) string { return strings.Replace(line, `"seq-0"`, `"s\u00e9q\/0"`, 1) },
}

// BenchmarkLine reads lines with the quick reader, and with the strict one, which uses a JSON library.
func BenchmarkLine(b *testing.B) {
	ops, quick := drawnInTurn(10_000), history.NewQuick()
	for name, respell := range respellings {
		var lines [][]byte
		for i := range ops {
			line, err := json.Marshal(ops[i])
			require.NoError(b, err)
			lines = append(lines, []byte(respell(string(line))))
		}
		for reader, read := range map[string]func([]byte) bool{
			"quick":  func(line []byte) bool { _, ok := quick(line); return ok },
			"strict": func(line []byte) bool { _, err := history.Strict(line); return err == nil },
		} {
			b.Run(name+"/"+reader, func(b *testing.B) {
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					if !read(lines[n%len(lines)]) {
						b.Fatalf("not read: %s", lines[n%len(lines)])
					}
				}
			})
		}
	}
}

// BenchmarkParse reads the text form and stores it. Each case has the lines of a million operations.
func BenchmarkParse(b *testing.B) {
	const total = 1_000_000
	ops := drawnInTurn(total)
	for name, respell := range respellings {
		var text bytes.Buffer
		for i := range ops {
			line, err := json.Marshal(ops[i])
			require.NoError(b, err)
			text.WriteString(respell(string(line)) + "\n")
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			b.ReportAllocs()
			before := processorTime(b)
			for n := 0; b.Loop(); n++ {
				_, err := history.Parse(bytes.NewReader(text.Bytes()), "text",
					filepath.Join(b.TempDir(), fmt.Sprint(n)))
				require.NoError(b, err)
			}
			b.ReportMetric(float64(total)*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
			b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/float64(total)/float64(b.N), "cpu-ns/line")
		})
	}
}

// processorTime returns the processor time of this process, which a busy machine disturbs less than elapsed time.
func processorTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// drawnInTurn returns operations as drawn does, by clients that do one thing after the other.
func drawnInTurn(n int) []harness.Op {
	ops := drawn(n)
	for i := range ops {
		ops[i].Client = i % 200
		ops[i].Call = max(ops[i].Call, ops[max(0, i-200)].Return)
	}
	return ops
}
