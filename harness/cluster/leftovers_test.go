package cluster_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/docker"
)

// victim is a harness in a process of its own, to be killed.
type victim struct {
	*testing.T
	*exec.Cmd
	tmp string
}

func newVictim(t *testing.T, on cluster.Platform) victim {
	t.Helper()
	v := prepareVictim(t, on)
	require.NoError(t, v.Cmd.Start())
	t.Cleanup(v.kill)
	return v
}

func prepareVictim(t *testing.T, on cluster.Platform) victim {
	v := victim{t, exec.Command(os.Args[0]), os.TempDir()}
	v.Cmd.Dir = v.tmp // its children are found by their working folder
	v.Cmd.Env = append(os.Environ(), asHarness+"="+nameOf(on))
	return v
}

func (v victim) kill() {
	_ = v.Process.Kill()
	_ = v.Wait()
}

// watchdogs returns the pids of its watchdogs: the environment of each names the process that it watches.
func (v victim) watchdogs() (all []int) {
	for _, pid := range pids() {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && strings.Contains(string(env), fmt.Sprintf("_WATCHDOG_OF=%d\x00", v.Process.Pid)) {
			all = append(all, pid)
		}
	}
	return all
}

// nameOf returns the name of a platform, which may be nil.
func nameOf(on cluster.Platform) string {
	if on == nil {
		return cluster.OnProcess
	}
	return on.String()
}

func pids() (all []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		all = append(all, pid)
	}
	return all
}

// remains lists the folders, containers and processes in tmp, without those of the bystander's cluster.
func remains(t *testing.T, tmp, bystander string) (left []string) {
	t.Helper()
	all, err := cluster.Leftovers(context.Background(), docker.Here(context.Background())...)
	require.NoError(t, err)
	for _, l := range all {
		if filepath.Dir(l.Run) == tmp && l.Run != bystander {
			left = append(left, fmt.Sprintf("%s %s owned=%v", l.Kind, l.Name, l.Owned))
		}
	}
	for _, pid := range pids() {
		cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		if err == nil && strings.HasPrefix(cwd, tmp) && !strings.HasPrefix(cwd, bystander) {
			left = append(left, fmt.Sprintf("process %d in %s", pid, cwd))
		}
	}
	return left
}

// bystander starts a cluster of ours that must survive the end of others, and returns its folder.
func bystander(t *testing.T, o cluster.Options) (*cluster.Cluster, string) {
	t.Helper()
	c := cluster.Sentinel(o)
	up(t, c)
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), "doublegrant-*"))
	require.NoError(t, err)
	require.Len(t, dirs, 1)
	return c, dirs[0]
}

func TestNothingIsLeftOfAHarnessKilledAtARandomMoment(t *testing.T) {
	for _, o := range []cluster.Options{{}, {On: docker.Platform{}}} {
		t.Run(nameOf(o.On), func(t *testing.T) {
			longest := 2 * time.Second
			if o.On != nil {
				docker.Need(t)
				longest = 4 * time.Second
			}
			c, own := bystander(t, o)
			for range trials(2) {
				v := newVictim(t, o.On)
				lived := time.Duration(rand.Int64N(int64(longest)))
				time.Sleep(lived) // the moment is what is random here
				before := len(remains(t, v.tmp, own))
				v.kill()
				died := time.Now()
				gone := func() bool { return len(remains(t, v.tmp, own)) == 0 && len(v.watchdogs()) == 0 }
				require.Eventually(t, gone, 20*time.Second, 20*time.Millisecond, "something was left behind")
				t.Logf("killed after %v with %d things; all gone after %v", lived, before, time.Since(died))
			}
			whole(t, c)
			require.NoError(t, connect(t, c, 0).Set(t.Context(), "k", "v", 0).Err())
		})
	}
}

func TestOrphansOfAHarnessKilledTogetherWithItsWatchdogAreRemovedAndNothingElse(t *testing.T) {
	for _, o := range []cluster.Options{{}, {On: docker.Platform{}}} {
		t.Run(nameOf(o.On), func(t *testing.T) {
			kinds := map[string]bool{"folder": true}
			if o.On != nil {
				docker.Need(t)
				kinds["container"] = true
			}
			c, own := bystander(t, o)
			killBoth(t, o.On, own)
			removed, err := cluster.RemoveOrphans(t.Context(), docker.Here(t.Context())...)
			require.NoError(t, err)
			for _, l := range removed {
				require.False(t, l.Owned)
				require.NotEqual(t, own, l.Run)
				delete(kinds, l.Kind)
			}
			require.Empty(t, kinds, "none of them was an orphan")
			awaitNothing(t, own)
			whole(t, c)

			killBoth(t, o.On, own)
			if o.On != nil { // somebody cleaned the temporary files
				for _, l := range orphans(t) {
					require.NoError(t, os.RemoveAll(l.Run))
				}
				require.NotEmpty(t, orphans(t))
			}
			next := cluster.Standalone(o)
			require.NoError(t, startQuietly(t, next))
			require.NoError(t, next.Stop())
			awaitNothing(t, own)
			whole(t, c)
		})
	}
}

// awaitNothing waits until nothing remains. Files and containers are gone already, but the kernel may not have ended the nodes of
// a dead harness yet.
func awaitNothing(t *testing.T, own string) {
	t.Helper()
	for _, what := range remains(t, os.TempDir(), own) {
		require.Contains(t, what, "process ")
	}
	eventually(t, func() bool { return len(remains(t, os.TempDir(), own)) == 0 }, "processes remain")
}

func orphans(t *testing.T) []cluster.Leftover {
	t.Helper()
	all, err := cluster.Leftovers(t.Context(), docker.Here(t.Context())...)
	require.NoError(t, err)
	return slices.DeleteFunc(all, func(l cluster.Leftover) bool { return l.Owned || filepath.Dir(l.Run) != os.TempDir() })
}

// killBoth kills a harness with six nodes and its watchdog.
func killBoth(t *testing.T, on cluster.Platform, own string) {
	t.Helper()
	v := prepareVictim(t, on)
	v.Cmd.Env = append(v.Cmd.Env, asIdle+"=1") // a busy one may be done when we come to kill it
	_, err := v.StdinPipe()
	require.NoError(t, err)
	out, err := v.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, v.Cmd.Start())
	t.Cleanup(v.kill)
	said, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "start <nil>\n", said)
	dogs := v.watchdogs()
	require.Len(t, dogs, map[bool]int{true: 2, false: 1}[on != nil], "one of the folder, and one of containers")
	for _, dog := range dogs {
		require.NoError(t, syscall.Kill(dog, syscall.SIGKILL))
	}
	v.kill()
	require.NotEmpty(t, remains(t, v.tmp, own), "nothing was left to remove")
}

func TestAFolderOfTheMomentBetweenItsMakingAndItsLockIsAnOrphan(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := filepath.Join(os.TempDir(), "doublegrant-1")
	require.NoError(t, os.Mkdir(dir, 0o700))
	all, err := cluster.Leftovers(t.Context(), docker.Here(t.Context())...)
	require.NoError(t, err)
	require.Contains(t, all, cluster.Leftover{Kind: "folder", Name: dir, Run: dir})
	_, err = cluster.RemoveOrphans(t.Context(), docker.Here(t.Context())...)
	require.NoError(t, err)
	require.NoDirExists(t, dir)
}

func TestStartsAndSweepsSideBySideDoNoHarm(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	swept := make(chan error, 1)
	go func() {
		var err error
		for err == nil && ctx.Err() == nil {
			_, err = cluster.RemoveOrphans(context.Background())
		}
		swept <- err
	}()
	for range 10 {
		c := cluster.Standalone(cluster.Options{})
		require.NoError(t, startQuietly(t, c))
		require.NoError(t, connect(t, c, 0).Ping(t.Context()).Err())
		require.NoError(t, c.Stop())
	}
	stop()
	require.NoError(t, <-swept)
}

func TestAProcessIsKnownByItsIdAndItsStart(t *testing.T) {
	mark := cluster.ProcessMark(os.Getpid())
	require.True(t, cluster.ProcessLives(mark), mark)
	for _, other := range []string{"", "1", mark + "0", "0@1", cluster.ProcessMark(0)} {
		require.False(t, cluster.ProcessLives(other), other)
	}
	cmd := exec.Command("/bin/true")
	require.NoError(t, cmd.Start())
	gone := cluster.ProcessMark(cmd.Process.Pid)
	require.NoError(t, cmd.Wait())
	require.False(t, cluster.ProcessLives(gone), gone)
}
