package docker_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/docker"
	"github.com/doublegrant/doublegrant/harness/cluster/internal/platformtest"
)

func TestContainersServeEveryTopology(t *testing.T) {
	o := options(t)
	for _, c := range []*cluster.Cluster{cluster.Standalone(o), cluster.Replicated(o), cluster.Masters(3, o)} {
		t.Run(c.Topology(), func(t *testing.T) {
			up(t, c)
			whole(t, c)
			all, err := c.ConnectAll(0)
			require.NoError(t, err)
			for _, r := range all {
				require.NoError(t, r.Set(t.Context(), "k", "v", 0).Err())
			}
			path, err := c.Socket("r1")
			if err == nil { // the temporary folder's name is short enough
				r := redis.NewClient(&redis.Options{Network: "unix", Addr: path})
				require.NoError(t, errors.Join(r.Ping(t.Context()).Err(), r.Close()))
			}
		})
	}
}

func TestKilledPrimaryInAContainerIsReplacedAndComesBackAsReplica(t *testing.T) {
	need(t)
	for range platformtest.Trials(1) {
		t.Run("", onDocker.OneFailover)
	}
}

func TestNothingIsLeftOfAHarnessKilledAtARandomMoment(t *testing.T) {
	need(t)
	onDocker.NothingIsLeftOfAKilledHarness(t)
}

func TestOrphansOfAHarnessKilledTogetherWithItsWatchdogsAreRemovedAndNothingElse(t *testing.T) {
	need(t)
	onDocker.OrphansAreRemovedAndNothingElse(t, "folder", "container")
}

func TestANodeTakesTheClientsThatItIsToTake(t *testing.T) {
	need(t)
	onDocker.TakesItsClients(t)
}

func TestPausedContainerStopsUntilResumeAndCanBeKilled(t *testing.T) {
	c := cluster.Standalone(options(t))
	up(t, c)
	ctx := t.Context()
	require.NoError(t, c.Pause(ctx, "r1"))
	require.Error(t, c.Probe(ctx, cluster.GroupName(0), "r1"))
	require.True(t, c.Running("r1"))
	require.NoError(t, c.Pause(ctx, "r1"), "a second pause")
	require.NoError(t, c.Resume("r1"))
	sees(t, c, cluster.GroupName(0), "r1")
	require.NoError(t, c.Resume("r1"), "a resume of what runs")
	require.NoError(t, c.Pause(ctx, "r1"))
	require.NoError(t, c.Kill("r1"))
	require.False(t, c.Running("r1"))
	require.NoError(t, c.Kill("r1"), "of what is gone")
	require.NoError(t, c.Resume("r1"), "its pause ended with it")
	require.NoError(t, c.Restart(ctx, "r1"))
	whole(t, c)
}

func TestTerminatedContainerKeepsItsAppendOnlyFile(t *testing.T) {
	o := options(t)
	o.AOF = cluster.AOFEverySec
	c := cluster.Standalone(o)
	up(t, c)
	ctx := t.Context()
	require.NoError(t, connect(t, c, 0).Set(ctx, "k", "v", 0).Err())
	terminate, kill := func() error { return c.Terminate(ctx, "r1") }, func() error { return c.Kill("r1") }
	for _, end := range []func() error{terminate, kill} {
		require.NoError(t, end())
		require.False(t, c.Running("r1"))
		require.NoError(t, c.Restart(ctx, "r1"))
		eventually(t, func() bool { return connect(t, c, 0).Get(ctx, "k").Val() == "v" }, "the value was lost")
	}
}

func TestAContainerThatEndsAtOnceSaysItsLastWords(t *testing.T) {
	o := options(t)
	o.AOF = cluster.AOFAlways
	o.LogDir = t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	c := cluster.Standalone(o)
	require.NoError(t, startQuietly(t, c))
	require.NoError(t, c.Terminate(t.Context(), "r1"))
	conf, err := filepath.Glob(filepath.Join(os.TempDir(), "doublegrant-*/r1/redis.conf"))
	require.NoError(t, err)
	require.Len(t, conf, 1)
	require.NoError(t, os.WriteFile(conf[0], []byte("nonsense on stilts\n"), 0o644))
	require.ErrorContains(t, c.Restart(t.Context(), "r1"), "nonsense on stilts")
	require.NoError(t, c.Stop())
	onDocker.NothingLeft(t, os.TempDir())
}

func TestAnImageThatIsNotThereNamesTheRemedy(t *testing.T) {
	o := options(t)
	o.Platform = docker.Platform{Image: "127.0.0.1:1/doublegrant/none:0"}
	err := startQuietly(t, cluster.Standalone(o))
	require.ErrorIs(t, err, docker.ErrNoDocker)
	require.ErrorContains(t, err, "doublegrant doctor --build-image")
	require.NotContains(t, err.Error(), "no Docker", "there is one")
	require.NotContains(t, err.Error(), "\n")
}

func TestALimitThatIsTooLowIsSaidOnDockerAsWell(t *testing.T) {
	o := options(t)
	o.Clients = 10_000_000
	_, err := o.Preflight()
	require.ErrorIs(t, err, cluster.ErrLimit)
}

// An image to which a user has given a name is not removed.
func TestAnImageThatWasReplacedAndHasAnotherNameStays(t *testing.T) {
	need(t)
	name := fmt.Sprintf("doublegrant/test-names:%d", os.Getpid())
	run := func(words ...string) {
		out, err := exec.Command("docker", words...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	build := func(version string) {
		h := docker.Harness{Name: name, Program: "/bin/true", Version: version}
		_, err := docker.BuildHarnessImage(t.Context(), h)
		require.NoError(t, err)
	}
	build("1")
	t.Cleanup(func() { run("image", "rm", name) })
	run("tag", name, name+"-kept")
	t.Cleanup(func() { run("image", "rm", name+"-kept") })
	build("2")
	run("image", "inspect", name+"-kept")
}

func TestBuildImageAgainKeepsTheImage(t *testing.T) {
	o := options(t)
	began := time.Now()
	version, err := docker.BuildImage(t.Context(), "")
	require.NoError(t, err)
	t.Logf("Redis %s in %v", version, time.Since(began))
	p := docker.Platform{Image: docker.LocalImage}
	o.Platform = p
	found, err := o.Preflight()
	require.NoError(t, err)
	require.Equal(t, docker.LocalImage, found)
	said, err := p.Describe(t.Context())
	require.NoError(t, err)
	require.Contains(t, said, docker.LocalImage)
	_, err = docker.BuildImage(t.Context(), "/nowhere/redis-server")
	require.ErrorIs(t, err, cluster.ErrNoRedis)
	require.Regexp(t, "^[789]", version)
}
