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

// scaleEnv names one measurement of BenchmarkScale, which a process of its own takes: who judges what, of how many
// operations, on how many keys.
const scaleEnv = "DOUBLEGRANT_SCALE"

const (
	scaleWithin = 30 * time.Second // what porcupine may take
	scaleMemory = 4 << 30          // bytes that it may have
)

// scaled are the histories: ten calls are under way at any time.
var scaled = map[string]struct {
	c     harness.Checker
	class harness.Class
	at    func(i, keys int) harness.Op
}{
	"numbers": {Sequence(), harness.DuplicateNumber, func(i, keys int) harness.Op {
		t := 10 * time.Microsecond * time.Duration(i)
		return on(strconv.Itoa(i%keys), next(i%(10*keys), t, t+time.Duration(95*keys)*time.Microsecond, fmt.Sprintf("1608181%09d", i)))
	}},
	"locks": {Mutex(), harness.DoubleGrant, func(i, keys int) harness.Op {
		t, w := 10*time.Microsecond*time.Duration(i), i/keys/2
		op := acquire(w%10*keys+i%keys, strconv.Itoa(w), t, t+time.Microsecond, time.Second)
		if i/keys%2 == 1 {
			op = release(op.Client, op.Arg, t, t+time.Microsecond)
		}
		return on(strconv.Itoa(i%keys), op)
	}},
}

// BenchmarkScale compares the checkers with porcupine on the same histories, and prints a Markdown table. Of a size that
// porcupine did not master the larger ones are left out.
func BenchmarkScale(b *testing.B) {
	if os.Getenv(scaleEnv) != "" {
		b.Skip("this is the process of one measurement")
	}
	fmt.Println("| history | keys | operations | checker | porcupine |\n|---|---|---|---|---|")
	for _, what := range []string{"numbers", "locks"} {
		for _, keys := range []int{1, 1000} {
			beyond := ""
			for ops := 1000; ops <= 10_000_000; ops *= 10 {
				checker := measured(b, "checker", what, ops, keys)
				if beyond == "" || !strings.HasPrefix(beyond, ">") {
					beyond = measured(b, "porcupine", what, ops, keys)
				}
				fmt.Printf("| %s | %d | %d | %s | %s |\n", what, keys, ops, checker, beyond)
			}
		}
	}
}

// measured has a process of its own take one measurement.
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

// TestScaleMeasurement takes the measurement that its environment names; without one it takes a small one.
func TestScaleMeasurement(t *testing.T) {
	task, asked := os.LookupEnv(scaleEnv)
	if !asked {
		task = "checker locks 1000 10"
	}
	var who, what string
	var ops, keys int
	_, err := fmt.Sscan(task, &who, &what, &ops, &keys)
	require.NoError(t, err)
	h := of()
	h.Meta = harness.Meta{Workers: 10 * keys, Clients: 10 * keys, Groups: 1}
	h.Ops = func(yield func(harness.Op, error) bool) {
		for i := 0; i < ops && yield(scaled[what].at(i, keys), nil); i++ {
		}
	}
	start := time.Now()
	said := ""
	if who == "porcupine" {
		said = porcupineOn(t, h, scaled[what].class)
	} else {
		g := scaled[what].c.Check(t.Context(), h, func(harness.Anomaly) {})
		require.Equal(t, harness.Valid, g.Verdict, g.Reason)
	}
	if said == "" {
		said = time.Since(start).Round(100 * time.Microsecond).String()
	}
	fmt.Printf("measured: %s, %d MB\n", said, peakMemory()>>20)
}

// porcupineOn has porcupine judge each key of h as a whole. It returns what kept it from that, if anything did.
func porcupineOn(t *testing.T, h harness.History, class harness.Class) string {
	byKey := map[string][]harness.Op{}
	require.NoError(t, each(t.Context(), h, func(x harness.Op) { byKey[x.Key] = append(byKey[x.Key], x) }))
	ctx, cancel := context.WithTimeout(t.Context(), scaleWithin)
	defer cancel()
	done := make(chan porcupine.CheckResult, 1)
	go func() {
		for _, ops := range byKey {
			w, _ := windowOf(class, ops, h.Meta)
			if got := porcupine.CheckOperationsTimeout(w.model, w.steps, scaleWithin); got != porcupine.Ok {
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

// peakMemory is the most that this process had, in bytes: what it has from the system where that is not told.
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
