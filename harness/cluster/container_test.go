package cluster_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/docker"
)

// onDocker returns options for containers. It skips the test where there is no Docker.
func onDocker(t *testing.T) cluster.Options {
	t.Helper()
	docker.Need(t)
	return cluster.Options{On: docker.Platform{}}
}

// noContainers checks that no container of a cluster in the temporary folder tmp is left.
func noContainers(t *testing.T, tmp string) {
	t.Helper()
	all, err := cluster.Leftovers(context.Background(), docker.Here(context.Background())...)
	require.NoError(t, err)
	for _, l := range all {
		require.False(t, filepath.Dir(l.Run) == tmp, "left behind: %+v", l)
	}
}

// upOnDocker does what up does, and looks for containers that are left at the end.
func upOnDocker(t *testing.T, c *cluster.Cluster) *events {
	t.Helper()
	var tmp string
	t.Cleanup(func() { noContainers(t, tmp) }) // after what up cleans up
	ev := up(t, c)
	tmp = os.TempDir()
	return ev
}

func TestContainersServeEveryTopology(t *testing.T) {
	o := onDocker(t)
	for _, c := range []*cluster.Cluster{cluster.Standalone(o), cluster.Replicated(o), cluster.Masters(3, o)} {
		t.Run(c.Topology(), func(t *testing.T) {
			upOnDocker(t, c)
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
	o := onDocker(t)
	for range trials(1) {
		t.Run("", func(t *testing.T) { oneFailover(t, o, upOnDocker) })
	}
}

func TestKillsOfAPrimaryProcessAreOneFailoverEach(t *testing.T) {
	for range trials(1) {
		t.Run("", func(t *testing.T) { oneFailover(t, cluster.Options{}, up) })
	}
}

// trials returns how often to repeat a measurement: DOUBLEGRANT_TRIALS, or usual.
func trials(usual int) int {
	n, err := strconv.Atoi(os.Getenv("DOUBLEGRANT_TRIALS"))
	if err != nil {
		return usual
	}
	return n
}

// oneFailover kills the primary, and checks that every Sentinel saw one failover and that the old primary comes back.
func oneFailover(t *testing.T, o cluster.Options, up func(*testing.T, *cluster.Cluster) *events) {
	ctx := t.Context()
	o.LogDir = t.TempDir()
	c := cluster.Sentinel(o)
	ev := up(t, c)
	r := connect(t, c, 0)
	require.NoError(t, r.Set(ctx, "k", "before", 0).Err())
	old, err := c.Primary(ctx)
	require.NoError(t, err)
	killed := time.Now()
	require.NoError(t, c.Kill(old))
	gone := time.Since(killed)
	require.False(t, c.Running(old))
	_, err = c.AwaitPromotion(ctx, old) // an election that nobody wins is followed by another, six seconds later
	require.NoError(t, err)
	eventually(t, func() bool { return r.Set(ctx, "k", "after", 0).Err() == nil }, "a write after the failover")
	t.Logf("killed in %v; first write %v after the kill", gone, time.Since(killed))

	restarted := time.Now()
	require.NoError(t, c.Restart(ctx, old))
	whole(t, c)
	t.Logf("whole %v after the restart", time.Since(restarted))
	role, err := c.Role(ctx, old)
	require.NoError(t, err)
	require.Equal(t, "slave", role)
	require.Equal(t, 1, ev.count("+promoted-slave"))
	eventually(t, func() bool { return ev.count("+switch-master") == len(c.Sentinels()) }, "a Sentinel did not follow")
	for _, name := range append(c.RedisNodes(), c.Sentinels()...) {
		log, err := os.ReadFile(filepath.Join(o.LogDir, name+".log"))
		require.NoError(t, err)
		require.Contains(t, string(log), "Running mode=", "of %s", name)
	}
}

func (e *events) count(kind string) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ev := range e.all {
		if ev.Kind == kind {
			n++
		}
	}
	return n
}

func TestPausedContainerStopsUntilResumeAndCanBeKilled(t *testing.T) {
	c := cluster.Standalone(onDocker(t))
	upOnDocker(t, c)
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
	o := onDocker(t)
	o.AOF = cluster.AOFEverySec
	c := cluster.Standalone(o)
	upOnDocker(t, c)
	ctx := t.Context()
	require.NoError(t, connect(t, c, 0).Set(ctx, "k", "v", 0).Err())
	require.NoError(t, c.Terminate(ctx, "r1"))
	require.False(t, c.Running("r1"))
	require.NoError(t, c.Restart(ctx, "r1"))
	eventually(t, func() bool { return connect(t, c, 0).Get(ctx, "k").Val() == "v" }, "the value was lost")
	require.NoError(t, c.Kill("r1"))
	require.NoError(t, c.Restart(ctx, "r1"))
	eventually(t, func() bool { return connect(t, c, 0).Get(ctx, "k").Val() == "v" }, "the value was lost")
}

func TestAContainerThatEndsAtOnceSaysItsLastWords(t *testing.T) {
	o := onDocker(t)
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
	noContainers(t, os.TempDir())
}

func startQuietly(t *testing.T, c *cluster.Cluster) error {
	t.Helper()
	return c.Start(t.Context(), harness.NewClock(), func(harness.Event) {}, slog.New(slog.NewTextHandler(io.Discard, nil)))
}

func TestAnImageThatIsNotThereNamesTheRemedy(t *testing.T) {
	o := onDocker(t)
	o.On = docker.Platform{Image: "127.0.0.1:1/doublegrant/none:0"}
	err := startQuietly(t, cluster.Standalone(o))
	require.ErrorIs(t, err, docker.ErrNoDocker)
	require.ErrorContains(t, err, "make image")
	require.NotContains(t, err.Error(), "\n")
}

func TestALimitThatIsTooLowIsSaidOnDockerAsWell(t *testing.T) {
	o := onDocker(t)
	o.Clients = 10_000_000
	_, err := o.Preflight()
	require.ErrorIs(t, err, cluster.ErrLimit)
}

// recorder is a test of a test.
type recorder struct {
	*testing.T
	said []string
}

func (r *recorder) Skipf(string, ...any)  { r.said = append(r.said, "skipped") }
func (r *recorder) Fatalf(string, ...any) { r.said = append(r.said, "failed") }

func TestWithoutDockerATestIsSkippedAndInCIItFails(t *testing.T) {
	t.Setenv("DOUBLEGRANT_REDIS_IMAGE", "127.0.0.1:1/doublegrant/none:0") // as good as no Docker
	for _, env := range []string{"", "false", "1"} {
		t.Setenv("CI", env)
		t.Setenv("DOUBLEGRANT_REQUIRE_DOCKER", env)
		r := &recorder{T: t}
		docker.Need(r)
		require.Equal(t, []string{map[bool]string{true: "failed", false: "skipped"}[env == "1"]}, r.said, env)
	}
}

func TestBuildImageAgainKeepsTheImage(t *testing.T) {
	o := onDocker(t)
	began := time.Now()
	version, err := docker.BuildImage(t.Context(), "")
	require.NoError(t, err)
	t.Logf("Redis %s in %v", version, time.Since(began))
	p := docker.Platform{Image: docker.LocalImage}
	o.On = p
	found, err := o.Preflight()
	require.NoError(t, err)
	require.Equal(t, docker.LocalImage, found)
	said, err := p.Describe(t.Context())
	require.NoError(t, err)
	require.Contains(t, said, docker.LocalImage)
	_, err = docker.BuildImage(t.Context(), "/nowhere/redis-server")
	require.ErrorIs(t, err, cluster.ErrNoRedis)
	require.True(t, slices.Contains([]string{"7", "8", "9"}, version[:1]), version)
}
