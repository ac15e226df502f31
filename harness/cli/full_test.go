package cli_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// A full disk ends a run early: it says what can be said of what was recorded, and why that is not more.
func TestARunOnAFullDiskExitsByItsVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		variant, says string
		code          int
	}{
		{"sequence/incr", "UNKNOWN", cli.ExitUnknown},
		{"sequence/get-set", "INVALID", cli.ExitInvalid},
	} {
		disk := t.TempDir()
		if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1250k"); err != nil {
			testenv.LeftOut(t, "a run on a full disk", "run it as root: mounting a small disk: "+err.Error())
		}
		t.Cleanup(func() { require.NoError(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
		out, errs := ends(t, c.code, "run", c.variant, "--clients", "50", "--duration", "10m", "--results", disk)
		require.True(t, strings.HasPrefix(out, c.says+" "), out)
		require.Contains(t, errs, "no space left on the disk: free some")
		require.Contains(t, errs, "what was recorded is in "+disk)
	}
}
