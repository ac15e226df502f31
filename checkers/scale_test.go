package checkers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

// scaleEnv is the environment variable that tells another process of BenchmarkScale what to measure: who judges which
// history, how many operations, on how many keys.
const scaleEnv = "DOUBLEGRANT_SCALE"

const (
	scaleWithin = 30 * time.Second // time for porcupine
	scaleMemory = 4 << 30          // memory for porcupine, in bytes
)

// scaled lists the histories, each with ten clients for each key. at makes operation i, on the key i%keys; text is i in
// decimal digits.
var scaled = map[string]struct {
	c     harness.Checker
	class harness.Class
	at    func(i, keys int, text string) harness.Op
}{
	"numbers": {Sequence(), harness.DuplicateNumber, func(i, keys int, text string) harness.Op {
		t := 10 * time.Microsecond * time.Duration(i)
		return next(i%(10*keys), t, t+time.Duration(95*keys)*time.Microsecond, text)
	}},
	"locks": {Mutex(), harness.DoubleGrant, func(i, keys int, text string) harness.Op {
		t, client := 10*time.Microsecond*time.Duration(i), i/keys/2%10*keys+i%keys
		if i/keys%2 == 1 {
			return release(client, "t", t, t+time.Microsecond)
		}
		return acquire(client, "t", t, t+time.Microsecond, time.Second)
	}},
}

// scaleBatch is the number of operations that are made at a time.
const scaleBatch = 1024

// scaledHistory returns a history that is made while it is read, in batches, so that only one batch exists at a time.
// It adds the time for that to making.
func scaledHistory(what string, ops, keys int, making *time.Duration) harness.History {
	h := of()
	h.Meta = harness.Meta{Workers: 10 * keys, Clients: 10 * keys, Groups: 1}
	names, batch := make([]string, keys), make([]harness.Op, scaleBatch)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	h.Ops = func(yield func(harness.Op, error) bool) {
		for from := 0; from < ops; from += scaleBatch {
			start := time.Now()
			batch = batch[:min(scaleBatch, ops-from)]
			texts := numerals(from, len(batch))
			for i := range batch {
				batch[i] = on(names[(from+i)%keys], scaled[what].at(from+i, keys, texts[16*i:16*i+16]))
			}
			*making += time.Since(start)
			for _, x := range batch {
				if !yield(x, nil) {
					return
				}
			}
		}
	}
	return h
}

// numerals returns n numbers of 16 digits, one after the other.
func numerals(from, n int) string {
	var out strings.Builder
	out.Grow(16 * n)
	for i := from; i < from+n; i++ {
		out.Write(strconv.AppendInt(make([]byte, 0, 16), 1608181_000_000_000+int64(i), 10))
	}
	return out.String()
}

// BenchmarkScale compares the checkers with porcupine on the same histories, and prints a Markdown table. Once a size
// is too much for porcupine, larger ones are skipped.
func BenchmarkScale(b *testing.B) {
	if os.Getenv(scaleEnv) != "" {
		b.Skip("this is the process of one measurement")
	}
	fmt.Println("| history | keys | operations | checker | porcupine |\n|---|---|---|---|---|")
	for _, what := range []string{"numbers", "locks"} {
		for _, keys := range []int{1, 1000} {
			for ops, beyond := 1000, false; ops <= 10_000_000; ops *= 10 {
				checker, other := measured(b, "checker", what, ops, keys), "not asked"
				if !beyond {
					other = measured(b, "porcupine", what, ops, keys)
					beyond = strings.HasPrefix(other, ">")
				}
				fmt.Printf("| %s | %d | %d | %s | %s |\n", what, keys, ops, checker, other)
			}
		}
	}
}

// measured takes one measurement in a process of its own.
func measured(b *testing.B, who, what string, ops, keys int) string {
	cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestScaleMeasurement$", "-test.v")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d %d", scaleEnv, who, what, ops, keys))
	out, err := cmd.CombinedOutput()
	require.NoError(b, err, string(out))
	_, line, found := strings.Cut(string(out), "measured: ")
	require.True(b, found, string(out))
	line, _, _ = strings.Cut(line, "\n")
	return line
}

// TestScaleMeasurement takes the measurement that its environment names, or a small one.
func TestScaleMeasurement(t *testing.T) {
	task, asked := os.LookupEnv(scaleEnv)
	if !asked {
		task = "checker locks 1000 10"
	}
	var who, what string
	var ops, keys int
	_, err := fmt.Sscan(task, &who, &what, &ops, &keys)
	require.NoError(t, err)
	var making time.Duration
	h := scaledHistory(what, ops, keys, &making)
	start, said := time.Now(), ""
	if who == "porcupine" {
		said = porcupineOn(t, h, scaled[what].class)
	} else {
		said = checkerOn(t, h, scaled[what].c, &making)
	}
	took := time.Since(start) - making
	if said == "" || who == "checker" {
		rate := float64(ops) / took.Seconds() / 1e6
		said = strings.TrimPrefix(fmt.Sprintf("%s, %s, %.1f M/s", said, took.Round(100*time.Microsecond), rate), ", ")
	}
	t.Logf("measured: %s, %d MB", said, peakMemory()>>20)
}

// checkerOn has c judge h, and returns the heap that c keeps at the end.
func checkerOn(t *testing.T, h harness.History, c harness.Checker, making *time.Duration) string {
	start := time.Now()
	before, live := heapInUse(), int64(0)
	*making += time.Since(start)
	all := h.Ops
	h.Ops = func(yield func(harness.Op, error) bool) {
		all(yield)
		start := time.Now()
		live = max(0, int64(heapInUse())-int64(before))
		*making += time.Since(start)
	}
	g := c.Check(t.Context(), h, func(harness.Anomaly) {})
	require.Equal(t, harness.Valid, g.Verdict, g.Reason)
	return fmt.Sprintf("keeps %.1f MB", float64(live)/(1<<20))
}

// porcupineOn has porcupine judge each key of h as a whole. It returns why porcupine could not, or "".
func porcupineOn(t *testing.T, h harness.History, class harness.Class) string {
	byKey := map[string][]harness.Op{}
	require.NoError(t, eachOp(t.Context(), h, func(x harness.Op) { byKey[x.Key] = append(byKey[x.Key], x) }))
	ctx, cancel := context.WithTimeout(t.Context(), scaleWithin)
	defer cancel()
	done := make(chan porcupine.CheckResult, 1)
	go func() {
		for _, ops := range byKey {
			w, _ := windowOf(class, ops, h.Meta)
			if got := porcupine.CheckOperationsTimeout(w.model, w.operations, scaleWithin); got != porcupine.Ok {
				done <- got
				return
			}
		}
		done <- porcupine.Ok
	}()
	for {
		select {
		case got := <-done:
			if got == porcupine.Ok {
				return ""
			}
			require.Equal(t, porcupine.Unknown, got)
			return "> 30 s"
		case <-ctx.Done():
			return "> 30 s"
		case <-time.After(50 * time.Millisecond):
			if peakMemory() > scaleMemory {
				return "> 4 GB"
			}
		}
	}
}

// peakMemory returns the most memory that this process had, in bytes. If the system does not say, it returns what Go's
// runtime has taken from it.
func peakMemory() uint64 {
	status, _ := os.ReadFile("/proc/self/status")
	if _, rest, found := strings.Cut(string(status), "VmHWM:"); found {
		if kb, err := strconv.ParseUint(strings.Fields(rest)[0], 10, 64); err == nil {
			return kb << 10
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys
}
