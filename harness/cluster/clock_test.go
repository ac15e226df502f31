package cluster_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

// isOff checks how wrong the node's clock is, to a few milliseconds. The node reads it between our question and its
// answer.
func isOff(t *testing.T, c *cluster.Cluster, node string, by time.Duration) {
	t.Helper()
	began := time.Now()
	reply, err := c.Do(t.Context(), node, "TIME")
	require.NoError(t, err)
	var seconds, micros int64
	_, err = fmt.Sscanf(fmt.Sprint(reply), "[%d %d]", &seconds, &micros)
	require.NoError(t, err)
	its := time.Unix(seconds, micros*1000)
	const few = 20 * time.Millisecond
	require.GreaterOrEqual(t, its.Sub(began), by-few)
	require.LessOrEqual(t, time.Until(its), by+few)
}

func TestClocksAreSetNodeByNode(t *testing.T) {
	c := cluster.Masters(2, cluster.Options{Clocks: true})
	up(t, c)
	for _, by := range []time.Duration{time.Hour, -time.Hour, 1500 * time.Millisecond, 0} {
		require.NoError(t, c.SetClock("r1", by))
		isOff(t, c, "r1", by)
		isOff(t, c, "r2", 0)
	}
	require.NoError(t, c.SetClock("r1", time.Hour))
	require.NoError(t, c.Kill("r1"))
	require.NoError(t, c.SetClock("r1", time.Minute), "a node that is down")
	require.NoError(t, c.Restart(t.Context(), "r1"))
	isOff(t, c, "r1", time.Minute)
	require.Error(t, c.SetClock("r9", 0))
}

func TestClocksNeedTheOptionAndACompiler(t *testing.T) {
	c := cluster.Standalone(cluster.Options{})
	up(t, c)
	require.ErrorContains(t, c.SetClock("r1", time.Second), "Options.Clocks")

	for _, compiler := range []string{"no-such-compiler", "false"} {
		t.Setenv("CC", compiler)
		err := startQuietly(t, cluster.Standalone(cluster.Options{Clocks: true}))
		require.ErrorIs(t, err, cluster.ErrNoCompiler)
		require.ErrorContains(t, err, strconv.Quote(compiler))
		require.NotContains(t, err.Error(), "\n")
	}
}

// A library that is already compiled lets clocks be set on a machine without a compiler, as in an image of this
// program.
func TestClocksOfALibraryThatWasMadeBeforeNeedNoCompiler(t *testing.T) {
	library, err := cluster.CompileClocks(t.Context())
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "made.so")
	require.NoError(t, os.WriteFile(path, library, 0o600))
	t.Setenv("CC", "no-such-compiler")
	t.Setenv(cluster.ClockLibraryEnv, path)
	require.True(t, cluster.HasClockLibrary())
	c := cluster.Standalone(cluster.Options{Clocks: true})
	up(t, c)
	require.NoError(t, c.SetClock("r1", time.Hour))
	isOff(t, c, "r1", time.Hour)

	t.Setenv(cluster.ClockLibraryEnv, filepath.Dir(path))
	require.False(t, cluster.HasClockLibrary(), "a folder")
}

// twoClocks prints the time of day from three functions, and the monotonic clock, in seconds.
const twoClocks = `
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
int main(void) {
	struct timespec real, steady;
	struct timeval day;
	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &steady);
	gettimeofday(&day, NULL);
	printf("%ld %ld %ld %ld\n", real.tv_sec, (long)day.tv_sec, (long)time(NULL), steady.tv_sec);
}`

func TestTheMonotonicClockStaysTrue(t *testing.T) {
	compiler := cmp.Or(os.Getenv("CC"), "cc")
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("clocks.c"), []byte(twoClocks), 0o600))
	for _, args := range [][]string{
		{"-o", at("clocks"), at("clocks.c")},
		{"-O2", "-shared", "-fPIC", "-nostdlib", "-fno-stack-protector", "-Wall", "-Wextra", "-Werror", "-o",
			at("clock.so"), "clock_shim.c", "time_of_day.c"},
	} {
		out, err := exec.Command(compiler, args...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	tell := func(env ...string) (all [4]int64) {
		cmd := exec.Command(at("clocks"))
		cmd.Env = env
		out, err := cmd.Output()
		require.NoError(t, err)
		_, err = fmt.Sscan(string(out), &all[0], &all[1], &all[2], &all[3])
		require.NoError(t, err)
		return all
	}
	ahead := []byte{7: 1} // 2^56 ns: 834 days, on a little-endian machine
	require.NoError(t, os.WriteFile(at("offset"), ahead, 0o600))
	plain, shifted := tell(), tell("LD_PRELOAD="+at("clock.so"), "DOUBLEGRANT_CLOCK="+at("offset"))
	for i := range 3 {
		require.InDelta(t, plain[i]+(1<<56)/1_000_000_000, shifted[i], 3)
	}
	require.InDelta(t, plain[3], shifted[3], 3, "CLOCK_MONOTONIC")
}
