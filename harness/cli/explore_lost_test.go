package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
)

func TestAMessageThatACrashLosesIsToldFromADuplicate(t *testing.T) {
	t.Chdir(t.TempDir())
	out, errs, code := run(t, "explore", "dedup/set-nx-ex", "--clients", "2", "--expiries", "0")
	require.Equal(t, cli.ExitInvalid, code, errs)
	require.Contains(t, out, "--crashes 0 leaves crashes out")
	out, errs, code = run(t, append([]string{"explore", "dedup/set-nx-ex"}, calm...)...)
	require.Zero(t, code, errs)
	require.NotContains(t, out, "leaves crashes out")
}

func TestEveryRegimeHasAName(t *testing.T) {
	t.Chdir(t.TempDir())
	_, errs, code := run(t, append([]string{"explore", "sequence/digits-compare", "--regime", "all"}, calm...)...)
	require.Zero(t, code, errs)
	require.Contains(t, errs, "[6/6] sequence/digits-compare, regime leading-zeros")
}
