package processes_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/internal/processes"
)

func TestAChildIsSeenUntilItEnds(t *testing.T) {
	require.NotContains(t, processes.Children(), "cat")
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.Contains(t, processes.Children(), "cat")
	require.Subset(t, processes.All(), []int{os.Getpid(), cmd.Process.Pid})
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
	require.NotContains(t, processes.Children(), "cat")
	require.NotContains(t, processes.All(), cmd.Process.Pid)
}
