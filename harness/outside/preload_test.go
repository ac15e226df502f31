package outside

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/workloads"
	"github.com/stretchr/testify/require"
)

// preloadedIn runs a program whose clock stands at a time, and returns what it writes, and for how long it slept on that clock.
func preloadedIn(t *testing.T, at time.Time, command ...string) (out string, slept time.Duration, k *clock) {
	t.Helper()
	k, err := newClock(func() bool { return true })
	require.NoError(t, err)
	var sum atomic.Int64
	go func() {
		for {
			select {
			case q := <-k.looks:
				sum.Add(int64(q.sleep))
				q.told <- at
			case <-k.over:
				return
			}
		}
	}()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), k.environment()...)
	text, err := cmd.Output()
	require.NoError(t, err)
	k.close()
	require.NoDirExists(t, k.folder)
	return strings.TrimSpace(string(text)), time.Duration(sum.Load()), k
}

// What interpreters tell as the time of day is the preloaded clock's, and so are the sleeps of those that sleep by the C library.
func TestClocksOfInterpreters(t *testing.T) {
	at := time.Unix(1893456001, 0)
	for _, c := range []struct {
		command []string
		sleeps  bool
	}{
		{[]string{"python3", "-c", "import time, datetime; time.sleep(3600); print(int(time.time()), int(datetime.datetime.now().timestamp()))"}, true},
		{[]string{"perl", "-e", "sleep 3600; print time, ' ', time"}, true},
		{[]string{"php", "-r", "sleep(3600); echo time(), ' ', (int)microtime(true);"}, true},
		{[]string{"ruby", "-e", "puts \"#{Time.now.to_i} #{Process.clock_gettime(Process::CLOCK_REALTIME).to_i}\""}, false},
		{[]string{"node", "-e", "const s = () => Math.floor(Date.now() / 1000); console.log(s(), s())"}, false},
		{[]string{"date", "+%s %s"}, false},
		{[]string{"sh", "-c", "sleep 3600; date '+%s %s'"}, true},
	} {
		t.Run(c.command[0], func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(c.command[0]); err != nil {
				t.Skip(err)
			}
			began := time.Now()
			out, slept, k := preloadedIn(t, at, c.command...)
			require.Equal(t, "1893456001 1893456001", out)
			require.True(t, k.loaded.Load())
			require.Less(t, time.Since(began), time.Hour/2)
			if c.sleeps {
				require.Equal(t, time.Hour, slept)
			}
		})
	}
}

// A program that is asked for nothing, and one whose harness has gone, have the machine's clock.
func TestAClockThatNobodySetsIsTheMachines(t *testing.T) {
	k, err := newClock(func() bool { return false })
	require.NoError(t, err)
	look := func() time.Time {
		cmd := exec.Command("date", "+%s")
		cmd.Env = append(os.Environ(), k.environment()...)
		out, err := cmd.Output()
		require.NoError(t, err)
		seconds, err := time.ParseDuration(strings.TrimSpace(string(out)) + "s")
		require.NoError(t, err)
		return time.Unix(0, int64(seconds))
	}
	require.WithinDuration(t, time.Now(), look(), 10*time.Second)
	then := time.Unix(1893456001, 0)
	k.told.Store(then.UnixNano())
	require.Equal(t, then, look(), "it shows what it showed last")
	k.told.Store(0)
	require.NoError(t, k.l.Close())
	require.WithinDuration(t, time.Now(), look(), 10*time.Second)
	k.close()
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

// A program that loads no library cannot have its clock preloaded, and neither can one that was not started here.
func TestAClockThatCannotBePreloadedIsRefused(t *testing.T) {
	source, binary := filepath.Join(t.TempDir(), "static.c"), filepath.Join(t.TempDir(), "static")
	require.NoError(t, os.WriteFile(source, []byte(staticProgram), 0o644))
	if out, err := exec.Command("cc", "-static", "-o", binary, source).CombinedOutput(); err != nil {
		t.Skipf("no static C library: %s", out)
	}
	p := New(workloads.Client{As: workloads.Lock, Command: []string{binary}})
	defer p.Close()
	c, err := p.start("redis://127.0.0.1:1", request{}, underLoad)
	require.NoError(t, err, "under load it may read the machine's clock")
	c.end()
	_, err = p.start("redis://127.0.0.1:1", request{}, inSearch)
	require.ErrorContains(t, err, "its clock cannot be preloaded, since it loads no library")
	require.NotContains(t, err.Error(), "\n")

	elsewhere := New(workloads.Client{As: workloads.Lock, Connect: "unix:/nowhere", Clock: workloads.PreloadedClock})
	_, err = elsewhere.start("redis://127.0.0.1:1", request{}, inSearch)
	require.ErrorContains(t, err, "since unix:/nowhere was not started here")
}
