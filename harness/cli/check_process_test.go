package cli_test

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
)

func TestAKilledCheckLeavesNoFolder(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "check", "--history", "-", "--model", "lock")
	_, err := cmd.StdinPipe() // which never ends
	require.NoError(t, err)
	p := newPlace(t).startAs(cmd)
	p.await(func() bool { return len(p.folders()) == 1 }, "its folder")
	require.NoError(t, p.Process.Kill())
	_ = p.Wait()
	p.await(func() bool { return len(p.folders()) == 0 }, "the end of its folder")
}

// A defect is the harness's failure, and no verdict.
func TestAPanicIsNoVerdict(t *testing.T) {
	var said strings.Builder
	require.Equal(t, cli.ExitFailed, cli.Main([]string{"list"}, broken{}, &said))
	require.Contains(t, said.String(), "doublegrant: a defect of doublegrant: ")
	require.Contains(t, said.String(), "the screen is broken")
}

type broken struct{ io.Writer }

func (broken) Write([]byte) (int, error) { panic("the screen is broken") }
