package results

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/interleave"
)

// If the disk is full before the first operation, the folder has no record, and no message names the folder.
func TestARunThatRecordedNothing(t *testing.T) {
	require.False(t, Outcome{}.Recorded())
	out := Outcome{Dir: t.TempDir()}
	require.False(t, out.Recorded())
	segment := filepath.Join(out.Dir, historyDir, "ops-000001.seg")
	require.NoError(t, os.Mkdir(filepath.Dir(segment), 0o755))
	require.NoError(t, os.WriteFile(segment, nil, 0o600))
	require.False(t, out.Recorded())
	require.NoError(t, os.WriteFile(segment, []byte("x"), 0o600))
	require.True(t, out.Recorded())
}

// The error for a recipe that granttest printed names the test that replays it.
func TestAWordOfAGoTestNamesTheTest(t *testing.T) {
	_, err := searchOf(interleave.Recipe{Program: "lock TestMyLock"}, ReplayOptions{})
	require.ErrorContains(t, err, "of the Go test TestMyLock of a lock: go test -run '^TestMyLock$' -granttest.replay=")
	_, err = searchOf(interleave.Recipe{Program: "script/take two"}, ReplayOptions{})
	require.NoError(t, err)
}
