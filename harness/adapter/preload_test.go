package adapter

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/workloads"
)

// keeper stands in for the process that owns a clock.
type keeper struct {
	over chan struct{} // nil: no operation is under way
	why  error
}

func (k *keeper) underWay() <-chan struct{} { return k.over }
func (k *keeper) breakDown(why error)       { k.why = why }

// newClock makes a clock, which the caller closes. Without a C compiler the test is skipped.
func newClock(t *testing.T, owner timekeeper) *clock {
	t.Helper()
	var all clocks
	k, err := all.make(owner)
	if errors.Is(err, cluster.ErrNoCompiler) {
		testenv.LeftOut(t, "clocks of adapters", "install a C compiler: gcc and libc6-dev")
	}
	require.NoError(t, err)
	t.Cleanup(func() {
		all.clear()
		require.NoDirExists(t, filepath.Dir(k.library))
	})
	return k
}

// runOn runs a program on a clock and returns what it writes.
func runOn(t *testing.T, k *clock, command ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env, cmd.WaitDelay = append(os.Environ(), k.environment()...), time.Second
	text, err := cmd.Output()
	require.NoError(t, err, "does it sleep by the machine's clock?")
	return strings.TrimSpace(string(text))
}

// tell answers the questions of a clock's processes with what, until the clock is closed.
func tell(k *clock, what func(timeQuestion) time.Time) {
	for {
		select {
		case q := <-k.questions:
			q.reply <- what(q)
		case <-k.over:
			return
		}
	}
}

// interpreter skips the test if the interpreter called name is missing.
func interpreter(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		testenv.LeftOut(t, "clocks of "+name, "install "+name)
	}
}

// Interpreters take the time of day from the preloaded clock. Those that sleep by the C library also sleep in its time.
func TestClocksOfInterpreters(t *testing.T) {
	at := time.Unix(1893456001, 0)
	for _, c := range []struct {
		command []string
		sleeps  bool
	}{
		{[]string{"python3", "-c",
			"import time, datetime; time.sleep(3600); print(int(time.time()), " +
				"int(datetime.datetime.now().timestamp()))"}, true},
		{[]string{"perl", "-e", "sleep 3600; print time, ' ', time"}, true},
		{[]string{"php", "-r", "sleep(3600); echo time(), ' ', (int)microtime(true);"}, true},
		{[]string{"ruby", "-e",
			"sleep 3600; puts \"#{Time.now.to_i} #{Process.clock_gettime(Process::CLOCK_REALTIME).to_i}\""}, true},
		{[]string{"node", "-e", "const s = () => Math.floor(Date.now() / 1000); console.log(s(), s())"}, false},
		{[]string{"date", "+%s %s"}, false},
		{[]string{"sh", "-c", "sleep 3600; date '+%s %s'"}, true},
		{[]string{"perl", "-e", "select undef, undef, undef, 3600; print time, ' ', time"}, true},
	} {
		t.Run(c.command[0], func(t *testing.T) {
			t.Parallel()
			interpreter(t, c.command[0])
			k := newClock(t, &keeper{over: make(chan struct{})})
			defer k.close()
			var slept atomic.Int64
			go tell(k, func(q timeQuestion) time.Time {
				slept.Add(int64(q.sleep))
				return at
			})
			require.Equal(t, "1893456001 1893456001", runOn(t, k, c.command...))
			require.True(t, k.loaded.Load())
			if c.sleeps {
				require.EqualValues(t, time.Hour, slept.Load())
			}
		})
	}
}

// The clock is told when an event loop waits for a timer, and only then.
func TestTimersOfEventLoops(t *testing.T) {
	for _, c := range []struct {
		command []string
		timers  int64
	}{
		{[]string{"node", "-e", "setTimeout(() => console.log('over'), 50)"}, 1},
		{[]string{"node", "-e", "setImmediate(() => console.log('over'))"}, 0},
		{[]string{"python3", "-c", "import asyncio; asyncio.run(asyncio.sleep(0.05)); print('over')"}, 1},
	} {
		t.Run(c.command[0], func(t *testing.T) {
			interpreter(t, c.command[0])
			k := newClock(t, &keeper{over: make(chan struct{})})
			defer k.close()
			var timers atomic.Int64
			go tell(k, func(q timeQuestion) time.Time {
				if q.sleep == askTimer {
					timers.Add(1)
				}
				return time.Time{}
			})
			require.Equal(t, "over", runOn(t, k, c.command...))
			require.Equal(t, c.timers > 0, timers.Load() > 0)
		})
	}
}

// Between two operations a process sees the last time that the clock answered. Before the first operation it sees the
// machine's time. Sleeps are real.
func TestTheClockBetweenOperations(t *testing.T) {
	k := newClock(t, &keeper{})
	defer k.close()
	look := func() time.Time {
		seconds, err := strconv.ParseInt(runOn(t, k, "date", "+%s"), 10, 64)
		require.NoError(t, err)
		return time.Unix(seconds, 0)
	}
	require.WithinDuration(t, time.Now(), look(), 10*time.Second)
	then := time.Unix(1893456001, 0)
	k.shown.Store(then.UnixNano())
	require.Equal(t, then, look())
	began := time.Now()
	runOn(t, k, "sleep", "0.3")
	require.Greater(t, time.Since(began), 300*time.Millisecond)
}

// A process ends if the harness does not answer its question. With the machine's time its schedule would mean nothing.
func TestAProcessWithoutItsClockEnds(t *testing.T) {
	k := newClock(t, &keeper{over: make(chan struct{})})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-k.questions // the first look is not answered
		k.close()
	}()
	cmd := exec.Command("date")
	cmd.Env = append(os.Environ(), k.environment()...)
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, "Error: the harness does not answer what the time is\n", string(out))
	<-ended
}

// staticProgram answers init, and is linked statically.
const staticProgram = `
#include <stdio.h>
int main(void) {
	char line[4096];
	while (fgets(line, sizeof line, stdin)) {
		puts("{\"id\":1,\"ok\":true,\"version\":1,\"can\":[\"acquire\",\"release\"],\"clock\":\"preloaded\"}");
		fflush(stdout);
	}
}
`

// A search refuses to preload the clock of a program that is linked statically, or that doublegrant has not started.
func TestAClockThatCannotBePreloadedIsRefused(t *testing.T) {
	source, binary := filepath.Join(t.TempDir(), "static.c"), filepath.Join(t.TempDir(), "static")
	require.NoError(t, os.WriteFile(source, []byte(staticProgram), 0o644))
	if out, err := exec.Command("cc", "-static", "-o", binary, source).CombinedOutput(); err != nil {
		t.Log(string(out))
		testenv.LeftOut(t, "programs that are linked statically", "install a C compiler: gcc and libc6-dev")
	}
	for _, command := range [][]string{{binary}, {"sh", "-c", binary + "; true"}} {
		p := New(workloads.Adapter{As: workloads.Lock, Command: command})
		c, err := p.start(request{Redis: "redis://127.0.0.1:1"}, underLoad)
		require.NoError(t, err, "under load it may read the machine's clock")
		c.end()
		_, err = p.start(request{Redis: "redis://127.0.0.1:1"}, inSearch)
		require.ErrorContains(t, err, "its clock cannot be preloaded: ")
		require.ErrorContains(t, err, "loads no library (LD_PRELOAD)")
		require.NotContains(t, err.Error(), "\n")
		p.Close()
	}

	elsewhere := New(workloads.Adapter{As: workloads.Lock, Connect: "unix:/nowhere", Clock: workloads.PreloadedClock})
	_, err := elsewhere.start(request{Redis: "redis://127.0.0.1:1"}, inSearch)
	require.ErrorContains(t, err, "since unix:/nowhere was not started here")
}
