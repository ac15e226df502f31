package cluster_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

func TestNothingIsLeftOfAHarnessKilledAtARandomMoment(t *testing.T) {
	onProcesses.NothingIsLeftOfAKilledHarness(t)
}

func TestOrphansOfAHarnessKilledTogetherWithItsWatchdogAreRemovedAndNothingElse(t *testing.T) {
	onProcesses.OrphansAreRemovedAndNothingElse(t, "folder")
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
